"""Timeouts under a virtual clock: what a window gives early, and what is then left out."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.aggregate import Aggregate
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from tests.algebra.harness import Arrival, choose_cuts, run_kernel, run_naive
from tests.algebra.strategies import arrivals, groups, nearly_rising
from tests.spec import squal
from tests.spec.windows import Aggregate as NaiveAggregate

SCHEMA = Schema.parse("T int, g int, v int")
nearly = arrivals(nearly_rising(st.one_of(st.integers(-6, 6), st.none())), g=groups, v=st.integers(0, 9))


def functions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"n": len(rows), "s": sum(row["v"] for row in rows), "f": rows[0]["v"], "l": rows[-1]["v"]}


def check_against_naive(
    rows: list[Arrival],
    steps: list[int],
    size: int,
    advance: int,
    timeout: int,
    order: dict[str, Any],
    **more: Any,
) -> None:
    clock = [sum(steps[: i + 1]) for i in range(len(rows) + 1)]
    on = order.pop("on", "T")
    texts = {"n": "count(*)", "s": "sum(v)", "f": "first(v)", "l": "last(v)"}
    for text in (texts, {**texts, "m": "median(v)"}):
        box = Aggregate.of(text, Order(on, **order), size, advance, SCHEMA, timeout=timeout, **more)
        for number, cut in enumerate(choose_cuts(rows)):
            naive = NaiveAggregate(functions, squal.Order(on, **order), size, advance, timeout, **more)
            want = run_naive(naive, rows, cut, clock)
            got = run_kernel(box, rows, (SCHEMA,), cut, clock)
            found = [(ts, {k: v for k, v in row.items() if k != "m"}) for ts, row in got.ports["1"]]
            assert found == want.ports.get("1", []), f"cut {cut}"
            assert +got.discarded == +want.discarded, (cut, number)


clocks = st.lists(st.sampled_from([0, 0, 1, 2, 30]), min_size=25, max_size=25)
widths = st.sampled_from([1, 2, 3, 4, 6])


@given(nearly, clocks, st.sampled_from([0, 1, 2, 30]), widths, widths, st.integers(1, 9), st.booleans())
def test_by_value(
    rows: list[Arrival], clock: list[int], slack: int, size: int, advance: int, timeout: int, align: bool
) -> None:
    check_against_naive(
        rows, clock, size, advance, timeout, {"slack": slack, "group_by": ("g",)}, align=align
    )


@given(nearly, clocks, st.integers(0, 8), widths, widths, st.integers(1, 9))
def test_span(
    rows: list[Arrival], clock: list[int], span: int, size: int, advance: int, timeout: int
) -> None:
    check_against_naive(rows, clock, size, advance, timeout, {"span": span})


@given(nearly, clocks, widths, widths, st.integers(1, 9), st.booleans())
def test_tuple_counts(
    rows: list[Arrival], clock: list[int], size: int, advance: int, timeout: int, grouped: bool
) -> None:
    check_against_naive(
        rows, clock, size, advance, timeout, {"on": "#", "group_by": ("g",) if grouped else ()}
    )


def test_a_window_that_waits_too_long() -> None:
    box = Aggregate.of({"n": "count(*)"}, Order("T", slack=1), 10, 10, SCHEMA, timeout=100)
    rows = [(0, {"T": t, "g": 0, "v": 0}) for t in (1, 3, 5, 12, 13)]
    ran = run_kernel(box, rows, (SCHEMA,), 1, [0, 50, 101, 102, 103, 104])
    # The window [1, 11) has waited since 0: at 101 it gives what it has, and what comes then is too late for it.
    assert [row for _, row in ran.ports["1"]] == [{"T": 1, "n": 2}, {"T": 11, "n": 2}]
    assert ran.discarded == {"timed out": 1}
