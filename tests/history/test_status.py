"""The fields of `status --json`, which are fixed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import BatchReport, Running, Settings, start
from aurora.algebra.tuples.schema import Schema
from aurora.engine.controls import Controls
from aurora.engine.spark_run import SparkRun
from aurora.engine.statistics import Statistics
from aurora.engine.totals import Totals
from aurora.history.home import Home, QueryNote
from aurora.history.last_status import last_status
from aurora.history.peek import describe_point
from aurora.history.status import describe_run
from tests.history.attached import border, source

TOP = {"boxes", "inputs", "outputs", "points", "queries", "controls", "batch", "state"}

MORE = {
    "seconds",
    "rejected",
    "rejects",
    "discarded",
    "arcs",
    "overhead",
    "cores",
    "capacity",
    "troubles",
    "waits",
    "changes",
}


def test_the_fields_are_those_of_the_contract() -> None:
    seen = Statistics(
        "paused",
        3,
        1.5,
        {"far": 7},
        {"over": 10},
        {"over": 7},
        2,
        controls=Controls(paused=True, taps=("over.1",)),
        nanoseconds={"over": 50_000},
        states={"over": 12},
        input_rates={"r": 3.3333},
        output_rates={"far": 2.0},
        latency={"far": (0.25, 1.5)},
    )
    found = describe_run(seen, ["over", "idle"], {"far": None, "near": None}, {"recent": {}}, {"near": {}})
    assert json.loads(json.dumps(found)) == found
    assert found.keys() == TOP | MORE
    assert (found["state"], found["batch"], found["rejected"]) == ("paused", 3, 2)
    assert found["inputs"] == {"r": {"rate": 3.3, "waiting": None}}
    assert found["boxes"] == {
        "over": {
            "taken": 10, "given": 7, "cost_us": 5.0, "selectivity": 0.7, "state_bytes": 12, "waiting": 0,
            "ports": {}, "rate": 0.0,
        },
        "idle": {
            "taken": 0, "given": 0, "cost_us": None, "selectivity": None, "state_bytes": 0, "waiting": 0,
            "ports": {}, "rate": 0.0,
        },
    }  # fmt: skip
    assert found["outputs"]["far"] == {
        "rows": 7, "rate": 2.0, "latency_p50": 0.25, "latency_p99": 1.5, "delivered": 1.0, "shed": 0, "utility": None,
    }  # fmt: skip
    assert found["outputs"]["near"].keys() == found["outputs"]["far"].keys()
    assert found["controls"].keys() == {
        "rows",
        "paused",
        "until",
        "held",
        "taps",
        "drops",
        "patient",
        "rewrites",
    }


def test_a_home_whose_run_was_killed_tells_what_its_checkpoint_says(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    assert home.last_status().keys() >= TOP and home.last_status()["batch"] == 0
    home.checkpoint.mkdir()
    home.write_status({"batch": 3})
    assert home.last_status()["batch"] == 3
    home.open()
    totals = Totals(
        7,
        rows=Counter(far=70),
        taken=Counter(over=100),
        given=Counter(over=70),
        rejected=2,
        rejects="bad.csv",
    )
    totals.store(home.checkpoint / "committed.json")
    home.release()
    found = home.last_status()
    assert found.keys() >= TOP and (found["state"], found["batch"]) == ("stopped", 8)
    assert (found["rejected"], found["rejects"]) == (2, "bad.csv")
    assert found["outputs"]["far"]["rows"] == 70 and found["boxes"]["over"]["selectivity"] == 0.7


def test_the_points_and_queries_of_a_run_that_was_killed(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.open()
    home.checkpoint.mkdir()
    Totals(0, rows=Counter(recent=2, means=1, far=3)).store(home.checkpoint / "committed.json")
    for name, view in (("recent", False), ("means", True)):
        describe_point(home.point(name), Schema.parse("Sid int"), {"keep": "all", "view": view})
    home.write_note(
        QueryNote("near", "", {"near": "csv:near.csv"}, {"rows": {"point": "recent", "first": 0}})
    )
    home.release()
    found = last_status(home)
    assert list(found["outputs"]) == ["means", "far"]
    assert {name: point["view"] for name, point in found["points"].items()} == {
        "means": True,
        "recent": False,
    }
    assert found["queries"]["near"]["state"] == "stopped"
    assert found["queries"]["near"]["points"] == {"rows": "recent"}
    told = {"batch": 3, "points": {"recent": {}}, "queries": {}}
    home.write_status({**told, "waits": [{"for": "the dam", "since": 7.0}]})
    assert last_status(home) == {**told, "state": "stopped", "waits": []}


def test_figures_of_a_status_are_those_of_the_same_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while a batch is counted that has been noted, and in a run that finds everything done."""
    found: list[dict[str, Any]] = []
    held: list[Running] = []
    committed = SparkRun._committed

    def look_and_count(run: SparkRun, report: BatchReport) -> None:
        if held:
            found.append(held[0].status())
        committed(run, report)

    monkeypatch.setattr(SparkRun, "_committed", look_and_count)
    settings = Settings(batch=10, home=str(tmp_path / "home"), partitions=1)
    for _ in range(2):
        with start(border(), source(60), {"crowds": f"csv:{tmp_path}/crowds.csv"}, settings) as running:
            held.append(running)
            assert running.wait().ended
        found.append(last_status(Home.of(tmp_path / "home")))
        assert (found[-1]["batch"], found[-1]["inputs"]["reports"]["rows"]) == (6, 60)
    for each in found:
        rows = each["inputs"].get("reports", {"rows": 0})["rows"]
        assert (each["boxes"]["over"]["taken"], 10 * each["batch"]) == (rows, rows)
