"""The traces of the paper's figures; what their text lost is derived from the rules."""

from typing import Any

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.bsort import BSort
from aurora.algebra.filter import Filter
from aurora.algebra.join import Join
from aurora.algebra.ordering.order import Order
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import WindowFunction
from tests.algebra.harness import CUTS, run_kernel

REPORTS = Schema.parse("Sid int, Time int, Pos int")

# Figures 13, 15 and 17: position reports of five soldiers.
SOLDIERS = [
    (1, 1, 34), (1, 2, 38), (2, 1, 24), (3, 1, 35), (3, 2, 38), (3, 3, 18), (4, 1, 21), (5, 1, 20),
    (2, 2, 31), (4, 2, 36), (4, 3, 30), (5, 2, 31), (1, 3, 28), (2, 3, 41), (5, 3, 31),
]  # fmt: skip


def flow(box: Any, rows: list[tuple[Any, ...]], port: str = "1", ends: bool = True) -> list[tuple[Any, ...]]:
    """What the box makes of one stream, the same for all cuts."""
    schema = box.schema if isinstance(box, BSort) else box.input
    arrivals = [(0, dict(zip(schema.names, row, strict=True))) for row in rows]
    return _same_for_all_cuts(box, arrivals, (schema,), port, ends)


def _same_for_all_cuts(box: Any, arrivals: Any, schemas: Any, port: str, ends: bool) -> list[tuple[Any, ...]]:
    found = []
    for cut in CUTS:
        ran = run_kernel(box, arrivals, schemas, cut, ends=ends)
        found.append([tuple(row.values()) for _, row in ran.ports[port]])
    assert all(each == found[0] for each in found)
    return found[0]


def clock(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)


def test_figure_8_bsort() -> None:
    box = BSort.of(Order("A", slack=2), Schema.parse("A int"))
    values = [(v,) for v in (1, 3, 1, 2, 4, 4, 8, 3, 4, 4)]
    assert [v for (v,) in flow(box, values, ends=False)] == [1, 1, 2, 3, 4, 3, 4, 4]
    assert [v for (v,) in flow(box, values)] == [1, 1, 2, 3, 4, 3, 4, 4, 4, 8]


QUOTES = [
    ("MSF", "1:00", 20), ("INT", "1:00", 16), ("IBM", "1:00", 24), ("IBM", "1:15", 20), ("IBM", "1:30", 23),
    ("MSF", "1:30", 24), ("INT", "1:30", 12), ("IBM", "1:45", 13), ("IBM", "2:00", 17), ("INT", "2:00", 16),
    ("MSF", "2:00", 22),
]  # fmt: skip


def average_price(slack: int, quotes: list[tuple[str, str, int]]) -> list[tuple[Any, ...]]:
    schema = Schema.parse("Sid string, Time int, Price int")
    order = Order("Time", slack=slack, group_by=("Sid",))
    box = Aggregate.of({"AvgPrice": "avg(Price)"}, order, 60, 60, schema)
    return flow(box, [(sid, clock(time), price) for sid, time, price in quotes], ends=False)


def test_figure_9_hourly_averages_and_the_late_quote() -> None:
    hour = clock("1:00")
    expected = [("IBM", hour, 20.0), ("INT", hour, 14.0), ("MSF", hour, 22.0)]
    assert average_price(0, QUOTES) == expected
    late = [*QUOTES[:7], *QUOTES[8:], QUOTES[7]]
    # With slack 1 the 1:45 quote still counts; the IBM window then waits for one quote more to close.
    assert average_price(1, [*late, ("IBM", "2:15", 10)]) == [("IBM", hour, 20.0)]
    without = average_price(0, late)
    assert without[0] == ("IBM", hour, 67 / 3)


def test_figure_10_join() -> None:
    x = [(sid, time, pos) for time, row in (
        ("2:00", [(1, 3), (2, 1), (3, 1)]), ("2:05", [(1, 4), (2, 2), (3, 1)]),
        ("2:10", [(1, 4), (2, 3), (3, 1)]), ("2:15", [(1, 2), (2, 4), (3, 1)]),
    ) for sid, pos in row]  # fmt: skip
    y = [(sid, time, pos) for time, row in (
        ("1:55", [(10, 3), (11, 4), (12, 5), (13, 6)]), ("2:05", [(10, 3), (11, 4), (12, 5), (13, 7)]),
        ("2:15", [(10, 4), (11, 4), (12, 5), (13, 5)]), ("2:25", [(10, 4), (11, 6), (12, 5), (13, 1)]),
    ) for sid, pos in row]  # fmt: skip
    order = Order("Time")
    box = Join.of("left.Pos = right.Pos", 10, order, order, REPORTS, REPORTS)

    def run(arrivals: list[tuple[int, tuple[int, str, int]]]) -> list[tuple[Any, ...]]:
        rows = [(side, {"Sid": sid, "Time": clock(time), "Pos": pos}) for side, (sid, time, pos) in arrivals]
        return _same_for_all_cuts(box, rows, (REPORTS, REPORTS), "1", False)

    shown = [
        (1, "2:00", 3, 10, "1:55", 3), (1, "2:00", 3, 10, "2:05", 3), (1, "2:05", 4, 11, "1:55", 4),
        (1, "2:05", 4, 11, "2:05", 4), (1, "2:05", 4, 10, "2:15", 4), (1, "2:05", 4, 11, "2:15", 4),
        (1, "2:10", 4, 11, "2:05", 4), (1, "2:10", 4, 10, "2:15", 4), (1, "2:10", 4, 11, "2:15", 4),
        (2, "2:10", 3, 10, "2:05", 3), (2, "2:15", 4, 11, "2:05", 4), (2, "2:15", 4, 10, "2:15", 4),
        (2, "2:15", 4, 11, "2:15", 4), (2, "2:15", 4, 10, "2:25", 4), (3, "2:15", 1, 13, "2:25", 1),
    ]  # fmt: skip
    expected = sorted((a, clock(b), c, d, clock(e), f) for a, b, c, d, e, f in shown)
    one_by_one = [(0, row) for row in x] + [(1, row) for row in y]
    by_time = sorted(one_by_one, key=lambda arrival: clock(arrival[1][1]))
    right_first = [(1, row) for row in y] + [(0, row) for row in x]
    # The result does not depend on how the two streams interleave.
    for arrivals in (one_by_one, by_time, right_first):
        assert sorted(run(arrivals)) == expected


def test_figure_11_resample() -> None:
    beats = Schema.parse("Time int")
    order = Order("Time", group_by=("Sid",))
    box = Resample.of({"Pos": "avg(Pos)"}, 10, Order("Time"), order, beats, REPORTS)
    reports = [
        (1, "2:00", 10),
        (2, "2:00", 20),
        (2, "2:15", 30),
        (1, "2:10", 14),
        (1, "2:20", 18),
        (2, "2:30", 40),
    ]
    arrivals: list[tuple[int, dict[str, Any]]] = [(0, {"Time": clock("2:00")}), (0, {"Time": clock("2:15")})]
    arrivals += [(1, {"Sid": sid, "Time": clock(time), "Pos": pos}) for sid, time, pos in reports]
    found = _same_for_all_cuts(box, arrivals, (beats, REPORTS), "1", True)
    # Soldier 2 comes first: its second report is the first to lie beyond 2:10.
    assert found == [
        (2, clock("2:00"), 20.0),
        (1, clock("2:00"), 12.0),
        (2, clock("2:15"), 30.0),
        (1, clock("2:15"), 16.0),
    ]


def over_the_border() -> list[tuple[Any, ...]]:
    return flow(Filter.of(["Pos >= 30"], REPORTS), SOLDIERS)


CROSSED = [
    (1, 1, 34), (1, 2, 38), (3, 1, 35), (3, 2, 38), (2, 2, 31), (4, 2, 36), (4, 3, 30), (5, 2, 31),
    (2, 3, 41), (5, 3, 31),
]  # fmt: skip


def test_figure_13_query_1() -> None:
    assert over_the_border() == CROSSED
    count = Aggregate.of({"Cnt": "count(*)"}, Order("Time", slack=1), 1, 1, REPORTS)
    # With slack 1 the second tuple beyond it closes a window: the fourth that of Time 1, the ninth that of Time 2.
    assert flow(count, CROSSED[:3], ends=False) == []
    assert flow(count, CROSSED[:8], ends=False) == [(1, 2)]
    assert flow(count, CROSSED[:9], ends=False) == [(1, 2), (2, 5)]
    counted = flow(count, CROSSED)
    assert counted == [(1, 2), (2, 5), (3, 3)]
    assert flow(Filter.of(["Cnt >= 3"], Schema.parse("Time int, Cnt bigint")), counted) == [(2, 5), (3, 3)]


def all_at_one_time() -> WindowFunction:
    def final(times: list[int]) -> dict[str, Any]:
        return {"Time": times[0], "Over": len(set(times)) == 1}

    return WindowFunction(
        Schema.parse("Time int, Over boolean"),
        list,
        lambda state, rows: state + rows["Time"].to_pylist(),
        final,
    )


def test_figure_15_query_1_without_the_wait() -> None:
    ordered = flow(BSort.of(Order("Time", slack=1), REPORTS), CROSSED)
    assert [time for _, time, _ in ordered] == [1, 1, 2, 2, 2, 2, 2, 3, 3, 3]
    windows = flow(Aggregate.of(all_at_one_time(), Order("#"), 3, 1, REPORTS), ordered)
    over = [number in (3, 4, 5, 8) for number in range(1, 9)]
    times = [time for _, time, _ in ordered][:8]
    assert windows == list(zip(range(1, 9), times, over, strict=True))
    schema = Schema.parse("`#` bigint, Time int, Over boolean")
    assert flow(Filter.of(["Over"], schema), windows) == [
        (3, 2, True),
        (4, 2, True),
        (5, 2, True),
        (8, 3, True),
    ]


def far_from_the_last() -> WindowFunction:
    def final(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {**rows[-1], "Diff": abs(rows[-1]["COM"] - rows[0]["COM"]) >= 7}

    return WindowFunction(
        Schema.parse("Time int, COM double, Diff boolean"), list, lambda s, rows: s + rows.to_pylist(), final
    )


def test_figure_17_query_2() -> None:
    def masses_with(slack: int) -> list[tuple[Any, ...]]:
        order = Order("Time", slack=slack)
        return flow(Aggregate.of({"COM": "avg(Pos)"}, order, 1, 1, REPORTS, timeout=5000), SOLDIERS)

    # The figure's numbers need slack 3: three earlier tuples are larger than the reports of soldiers 4 and 5 for
    # Time 1, so that with the slack of 2 in its caption the rule leaves these out.
    assert masses_with(2) == [(1, 31.0), (2, 34.8), (3, 29.6)]
    masses = masses_with(3)
    assert masses == [(1, 26.8), (2, 34.8), (3, 29.6)]
    schema = Schema.parse("Time int, COM double")
    pairs = flow(Aggregate.of(far_from_the_last(), Order("#"), 2, 1, schema), masses)
    assert [row[1:] for row in pairs] == [(2, 34.8, True), (3, 29.6, False)]
    alarms = Filter.of(["Diff"], Schema.parse("`#` bigint, Time int, COM double, Diff boolean"))
    assert [row[1:] for row in flow(alarms, pairs)] == [(2, 34.8, True)]
