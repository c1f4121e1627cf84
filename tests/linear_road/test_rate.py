"""The search for the largest L, with trials that are made up."""

import dataclasses
import json
from pathlib import Path

import pytest

from aurora import AuroraError
from aurora.linear_road.rate import plot_rating, rate
from aurora.linear_road.records import OUTPUT_NAMES
from aurora.linear_road.run import RunReport
from aurora.linear_road.validate import TypeVerdict, Verdict


def searched(tmp_path: Path, limit: int, **options: object) -> tuple[list[int], dict]:
    """A system that keeps up with `limit` expressways: the L that were tried, and rating.json."""
    tried = []

    def trial(data, out, number, tell, given):
        tried.append(number)
        times = {"answers": 10, "p50": 0.5, "p99": 1.0, "max": number / limit * 5}
        report = RunReport(
            "realtime",
            number,
            100,
            1000.0 * number,
            300.0,
            20.0,
            0,
            number <= 4 * limit,
            2,
            0.5,
            {"tolls": times},
        )
        if not report.ended:
            report = dataclasses.replace(report, notes=["given up at second 7, 31 s behind"])
            # As a run does that gives up.
            given["stop"].set()
        late = TypeVerdict(expected=10, given=10, late=0 if number <= limit else 3)
        outputs = dict.fromkeys(OUTPUT_NAMES.values(), late)
        verdict = Verdict("2004", "native", number, {}, 0, 0, [], outputs, [])
        return report, verdict if report.ended else None

    rating = rate(tmp_path, data=tmp_path, trial=trial, **options)
    plot_rating(rating, tmp_path / "rating.png")
    assert (tmp_path / "rating.png").stat().st_size > 10_000
    return tried, json.loads((tmp_path / "rating.json").read_text())


@pytest.mark.parametrize("limit", [7, 39, 40, 63, 100, 200])
def test_the_largest_that_passes_is_found_to_the_step(tmp_path: Path, limit: int) -> None:
    tried, found = searched(tmp_path, limit, start=20, step=5)
    assert found["l_rating"] <= limit < found["l_rating"] + 5
    assert len(tried) == len(set(tried)) <= 10
    assert found["tuples_per_s"] == 1000 * found["l_rating"]
    assert [trial["expressways"] for trial in found["trials"]] == sorted(tried)
    assert "real time" in found["protocol"] and found["cores"] >= 1
    assert found["trials"][0]["responses"]["toll notification"]["max"] > 0


def test_no_larger_l_than_asked_for(tmp_path: Path) -> None:
    tried, found = searched(tmp_path, 1000, start=20, up_to=60)
    assert tried == [20, 40, 60] and found["l_rating"] == 60


def test_a_trial_that_is_given_up_has_failed(tmp_path: Path) -> None:
    _, found = searched(tmp_path, 1, start=20, step=1)
    assert found["trials"][-1]["faults"] == {"given up": 1}
    assert found["l_rating"] == 1


def test_a_search_that_cannot_begin(tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match="the search needs --from and --step of 1 or more"):
        searched(tmp_path, 10, start=0)
