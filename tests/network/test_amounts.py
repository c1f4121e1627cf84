"""Sizes, advances, slacks and timeouts as people write them."""

import pyarrow as pa
import pytest

from aurora.network.amounts import distance, duration, is_span, slack

TIME = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("5s", 5000),
        ("250ms", 250),
        ("1.5h", 5_400_000),
        ("2 min", 120_000),
        ("10m", 600_000),
        ("1 day", 86_400_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert is_span(text)
    assert duration(text, "box b") == milliseconds


@pytest.mark.parametrize("text", ["5", "s", "-5s", "5 parsecs", "", 5, None])
def test_what_is_no_duration(text: object) -> None:
    assert not is_span(text)


def test_distances_are_in_the_unit_of_the_field() -> None:
    assert distance("10s", TIME, "box b") == 10_000_000
    assert distance("48h", pa.date32(), "box b") == 2
    assert distance(2, pa.date32(), "box b") == 2
    assert distance(0.5, pa.float64(), "box b") == 0.5


def test_slack_counts_tuples_or_measures_distance() -> None:
    assert slack(2, pa.int32(), "box b") == (2, None)
    assert slack({"value": 10}, pa.int32(), "box b") == (0, 10)
    assert slack({"value": 0.5}, pa.float64(), "box b") == (0, 0.5)
    assert slack("10s", TIME, "box b") == (0, 10_000_000)
    assert slack({"value": "10s"}, TIME, "box b") == (0, 10_000_000)
