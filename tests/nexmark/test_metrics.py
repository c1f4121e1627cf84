"""Output Matching against areas that can be counted by hand, and against a naive sum over every millisecond."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.nexmark.metrics import Results, Steps, latencies, numeric_distance, row_distance, set_distance


def test_the_figure_of_the_draft() -> None:
    """A price that rises by 10 at 0, 10, 20; the implementation follows 2, 3 and 4 late, the first time uncounted."""
    ideal = Results.of([0, 10, 20], [7, 7, 7], [10, 20, 30])
    curve = numeric_distance(ideal, ideal.at(np.array([2, 13, 24])), end=30)
    assert curve.matching == pytest.approx((3 * 10 + 4 * 10) / 30)
    assert curve.scale == pytest.approx((10 + 20 + 30) / 3)
    assert curve.ideal is not None and curve.ideal.height.tolist() == [10, 20, 30]
    assert curve.measured is not None and curve.measured.time.tolist() == [2, 13, 24]


def test_nothing_is_perfect_but_the_ideal_system() -> None:
    ideal = Results.of([0, 10, 20], [1, 2, 1], [5, 6, 7])
    assert numeric_distance(ideal, ideal, 30).matching == 0
    assert set_distance(ideal, ideal, 30).matching == 0
    assert row_distance(ideal.time, ideal.time, 30).matching == 0


def test_lag_and_loss_show() -> None:
    """The more a system lags, and the more of its tuples it drops, the further it is from the ideal."""
    chance = np.random.default_rng(1)
    time = np.sort(chance.integers(0, 10_000, 500))
    ideal = Results(time, chance.integers(0, 5, 500), 1000 + chance.normal(0, 100, 500))
    lagging = [numeric_distance(ideal, ideal.at(time + late), 11_000).matching for late in (0, 50, 200, 1000)]
    assert lagging == sorted(lagging) and lagging[0] == 0 < lagging[1]
    lossy = []
    for share in (0.0, 0.3, 0.9):
        kept = chance.random(500) >= share
        lossy.append(
            numeric_distance(ideal, Results(time[kept], ideal.key[kept], ideal.value[kept]), 11_000).matching
        )
    assert lossy == sorted(lossy) and lossy[0] == 0 < lossy[1]


def naive(ideal: list[Any], measured: list[Any], end: int, distance: Any) -> float:
    """Rows are (time, key, value); the state of both systems at every millisecond."""
    begin = min((row[0] for row in [*ideal, *measured]), default=0)
    if end <= begin:
        return 0.0
    total = 0.0
    for now in range(begin, end):
        total += distance([row for row in ideal if row[0] <= now], [row for row in measured if row[0] <= now])
    return total / (end - begin)


ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=12)
DELAYS = st.lists(st.integers(0, 9), min_size=12, max_size=12)


def results(rows: list[Any]) -> Results:
    return Results.of(*([row[i] for row in rows] for i in range(3)))  # type: ignore[arg-type]


@given(ROWS, DELAYS)
def test_numbers(rows: list[Any], delays: list[int]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    late = sorted(
        ((t + delay, k, v) for (t, k, v), delay in zip(rows, delays, strict=False)), key=lambda row: row[0]
    )
    keys = {row[1] for row in rows}

    def distance(one: list[Any], other: list[Any]) -> float:
        known, seen = ({row[1]: row[2] for row in side} for side in (one, other))
        counted = [key for key in keys if key in seen or key == lost]
        return sum(abs(known.get(key, 0) - seen.get(key, 0)) for key in counted) / len(keys)

    lost = rows[-1][1]
    late = [row for row in late if row[1] != lost]
    found = numeric_distance(results(rows), results(late), 50).matching
    assert found == pytest.approx(naive(rows, late, 50, distance))


@given(ROWS, DELAYS)
def test_rows(rows: list[Any], delays: list[int]) -> None:
    late = [(t + delay, k, v) for (t, k, v), delay in zip(rows, delays, strict=False)]

    def distance(one: list[Any], other: list[Any]) -> float:
        return (len(one) - len(other)) / len(one) if one else 0.0

    found = row_distance(results(rows).time, results(late).time, 50).matching
    assert found == pytest.approx(naive(rows, late, 50, distance))


@given(st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=1), st.integers(0, 9)), min_size=1, max_size=8))
def test_sets(windows: list[tuple[set[int], int]]) -> None:
    """Windows close every 5 ms; a set comes at once, and after all that came before it."""
    rows, late, now = [], [], 0
    for number, (items, delay) in enumerate(windows):
        now = max(now, number * 5 + delay)
        rows += [(number * 5, number, item) for item in items]
        late += [(now, number, item) for item in items]

    def distance(one: list[Any], other: list[Any]) -> float:
        sets = [{row[2] for row in side if row[1] == max(r[1] for r in side)} for side in (one, other)]
        both = sets[0] | sets[1]
        return 1 - len(sets[0] & sets[1]) / len(both) if sets[1] else 0.0

    assert set_distance(results(rows), results([]), 60).matching == 1
    found = set_distance(results(rows), results(late), 60).matching
    assert found == pytest.approx(naive(rows, late, 60, distance))


def test_latencies_are_in_seconds() -> None:
    found = latencies(np.arange(1, 101) * 10)
    assert found == {"p50": 0.51, "p95": 0.96, "p99": 1.0, "max": 1.0}
    assert latencies(np.empty(0, np.int64)) == {}


def test_steps_end_where_they_are_told_to() -> None:
    steps = Steps(np.array([0, 10]), np.array([1.0, 3.0]))
    assert steps.mean(20) == 2 and steps.mean(5) == 1 and steps.mean(0) == 0
    assert steps.at(np.array([-1, 0, 9, 10, 99])).tolist() == [0, 1, 1, 3, 3]
