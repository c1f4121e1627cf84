"""Aggregate against its naive version: windows of every kind, then the functions."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Network
from aurora.algebra.aggregate import Aggregate
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.functions.rests import add_with_rest
from tests.algebra.harness import Arrival, check_agreement, rows_kept, run_kernel
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal
from tests.spec.window_functions import wrapped
from tests.spec.windows import Aggregate as NaiveAggregate

SLACKS = st.sampled_from([0, 1, 2, 3, 5, 30, 100])
STEPS = st.sampled_from([1, 2, 3, 4, 6, 10])
BITS = {"smallint": 16, "int": 32, "date": 32, "bigint": 64, "timestamp": 64}

FUNCTIONS = {"n": "count(*)", "s": "sum(v)", "f": "first(v)", "l": "last(v)", "m": "max(v)"}


def functions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    values = [row["v"] for row in rows]
    some = [value for value in values if value is not None]
    total = wrapped(sum(some)) if some else None
    return {"n": len(rows), "s": total, "f": values[0], "l": values[-1], "m": max(some, default=None)}


def check_against_naive(
    rows: list[Arrival], kind: str, size: Any, advance: Any, order: dict[str, Any], **more: Any
) -> None:
    schema = Schema.parse(f"T {kind}, g int, v int")
    on = order.pop("on", "T")
    text, step = advance if isinstance(advance, tuple) else (advance, advance)
    box = Aggregate.of(FUNCTIONS, Order(on, **order), size, text, schema, **more)
    bits = 64 if on == "#" else BITS.get(kind, 64)

    def naive() -> NaiveAggregate:
        return NaiveAggregate(functions, squal.Order(on, **order), size, step, bits=bits, **more)

    check_agreement(box, naive, rows, schema)


def tuples(values: Any, **fields: Any) -> Any:
    return arrivals(values, g=groups, v=st.one_of(st.integers(-9, 9), st.none()), **fields)


nearly = tuples(nearly_rising(st.one_of(st.integers(-6, 6), st.none())))


@given(nearly, SLACKS, STEPS, STEPS, st.booleans(), st.booleans())
def test_windows(
    rows: list[Arrival], slack: int, size: int, advance: int, grouped: bool, align: bool
) -> None:
    order = {"slack": slack, "group_by": ("g",) if grouped else ()}
    check_against_naive(rows, "int", size, advance, order, align=align)


@given(nearly, st.integers(0, 8), STEPS, STEPS, st.booleans())
def test_span(rows: list[Arrival], span: int, size: int, advance: int, align: bool) -> None:
    check_against_naive(rows, "int", size, advance, {"span": span, "group_by": ("g",)}, align=align)


@given(
    tuples(st.lists(numbers(), max_size=20)),
    st.sampled_from([0, 1, 2, 30]),
    st.sampled_from([1, 3, 2**31, 2**40]),
    st.sampled_from([1, 2, 5, 2**31 + 1, 2**62]),
    st.booleans(),
)
def test_extreme_values(rows: list[Arrival], slack: int, size: int, advance: int, align: bool) -> None:
    # A window for each advance that it spans: keep those from being billions.
    size = min(size, 4 * advance)
    check_against_naive(rows, "bigint", size, advance, {"slack": slack, "group_by": ("g",)}, align=align)
    check_against_naive(rows, "bigint", size, advance, {"span": slack * 7}, align=align)


@given(tuples(st.lists(numbers(32), max_size=20)), st.integers(0, 3), STEPS, STEPS, st.booleans())
def test_extreme_ints(rows: list[Arrival], slack: int, size: int, advance: int, align: bool) -> None:
    check_against_naive(rows, "int", size, advance, {"slack": slack}, align=align)


@pytest.mark.parametrize("kind", ["timestamp", "date", "smallint"])
@given(nearly, st.integers(0, 3), STEPS, STEPS, st.booleans())
def test_times(kind: str, rows: list[Arrival], slack: int, size: int, advance: int, align: bool) -> None:
    check_against_naive(rows, kind, size, advance, {"slack": slack, "group_by": ("g",)}, align=align)


@pytest.mark.parametrize("kind", ["double", "float"])
@given(
    tuples(nearly_rising(st.one_of(reals(), st.none(), st.sampled_from([float("nan"), float("inf")])))),
    st.sampled_from([0, 1, 2, 30]),
    st.sampled_from([0.25, 0.5, 1.5, 3.0]),
    st.sampled_from([0.125, 0.5, 0.75, 1.5, 4.0]),
    st.booleans(),
)
def test_doubles(
    kind: str, rows: list[Arrival], slack: int, size: float, advance: float, align: bool
) -> None:
    check_against_naive(rows, kind, size, advance, {"slack": slack, "group_by": ("g",)}, align=align)
    check_against_naive(rows, kind, size, advance, {"span": slack / 4}, align=align)


@given(
    tuples(st.lists(st.integers(-40, 90).map(lambda n: n * 0.1), max_size=20)),
    st.integers(0, 2),
    st.sampled_from([0.1, 0.3, 0.7]),
    st.sampled_from([0.1, 0.2, 0.7]),
    st.booleans(),
)
def test_doubles_that_round(
    rows: list[Arrival], slack: int, size: float, advance: float, align: bool
) -> None:
    check_against_naive(rows, "double", size, advance, {"slack": slack}, align=align)


@given(nearly, STEPS, STEPS, st.booleans())
def test_tuple_counts(rows: list[Arrival], size: int, advance: int, grouped: bool) -> None:
    check_against_naive(rows, "int", size, advance, {"on": "#", "group_by": ("g",) if grouped else ()})


def opens(row: dict[str, Any]) -> bool:
    return row["v"] is not None and row["v"] > 4


@given(nearly, SLACKS, STEPS, st.booleans())
def test_advance_as_predicate(rows: list[Arrival], slack: int, size: int, grouped: bool) -> None:
    by = ("g",) if grouped else ()
    check_against_naive(rows, "int", size, ("v > 4", opens), {"slack": slack, "group_by": by})
    check_against_naive(rows, "int", size, ("v > 4", opens), {"span": slack, "group_by": by})
    check_against_naive(rows, "int", size, ("v > 4", opens), {"on": "#", "group_by": by})


@given(tuples(st.lists(numbers(), max_size=20)), st.integers(0, 2), st.sampled_from([1, 5, 2**40]))
def test_predicate_at_extremes(rows: list[Arrival], slack: int, size: int) -> None:
    check_against_naive(rows, "bigint", size, ("v > 4", opens), {"slack": slack})


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 500)), max_size=300), st.integers(0, 2))
def test_many_groups(pairs: list[tuple[int, int]], slack: int) -> None:
    rows = [(0, {"T": i // 3 + value, "g": g, "v": i}) for i, (value, g) in enumerate(pairs)]
    check_against_naive(rows, "int", 20, 10, {"slack": slack, "group_by": ("g",)})


@given(
    arrivals(
        nearly_rising(st.integers(-3, 3)),
        name=st.one_of(st.sampled_from(["", "a", "é"]), st.none()),
        share=st.one_of(st.sampled_from([0.5, -0.0, 0.0, float("nan")]), st.none()),
    ),
    st.integers(0, 2),
)
def test_groups_of_several_fields(rows: list[Arrival], slack: int) -> None:
    schema = Schema.parse("T int, name string, share double")
    by = ("share", "name")
    box = Aggregate.of({"n": "count(*)"}, Order("T", slack, group_by=by), 3, 2, schema)
    count: Callable[[list[Any]], dict[str, Any]] = lambda rows: {"n": len(rows)}  # noqa: E731
    check_agreement(
        box, lambda: NaiveAggregate(count, squal.Order("T", slack, group_by=by), 3, 2), rows, schema
    )


@pytest.mark.parametrize(
    "more", [{}, {"align": True}, {"advance": "v > 4"}, {"timeout": 5}, {"span": 4}, {"on": "#"}]
)
def test_state_does_not_grow(more: dict[str, Any]) -> None:
    schema = Schema.parse("T int, g int, v int")
    more = dict(more)
    order = Order(more.pop("on", "T"), 2 if "span" not in more else 0, more.pop("span", None), ("g",))
    box = Aggregate.of({"n": "count(*)", "m": "median(v)"}, order, 6, more.pop("advance", 2), schema, **more)
    rows = [(0, {"T": i // 4 + i % 3, "g": i % 5, "v": i % 7}) for i in range(3000)]
    clock = [i // 50 for i in range(3001)]

    def kept(count: int) -> int:
        ran = run_kernel(box, rows[:count], (schema,), 100, clock, ends=False)
        return rows_kept(ran.stored).total()

    assert kept(3000) <= kept(500) + 20 < 300


@pytest.mark.parametrize("group_by", [[], ["g"]])
def test_sums_of_doubles_do_not_show_how_the_input_was_cut(group_by: list[str]) -> None:
    """Not even in the last digit, although values of very different size come in any order."""
    chance = random.Random(3)
    rows = [
        (0, {"g": number % 2, "T": number // 10, "v": chance.uniform(-1, 1) * 10 ** chance.randint(-12, 12)})
        for number in range(300)
    ]
    network = Network("sums")
    box = network.input("in0", "g int, T int, v double").aggregate(
        {"sum": "sum(v)", "mean": "avg(v)", "apart": "stddev(v)"},
        order={"on": "T", "clock": "stream", "group_by": group_by},
        size=20,
        advance=5,
        align=True,
    )
    network.output("out", box)
    whole = run_network(network, rows, len(rows)).rows("out")
    assert len(whole) > 5
    for cut in (1, 7, 40):
        assert run_network(network, rows, cut).rows("out") == whole


def test_a_sum_of_doubles_is_the_exact_one_rounded() -> None:
    chance = random.Random(4)
    for length in (1, 2, 3, 50, 1000):
        runs = [
            [chance.uniform(-1, 1) * 2.0 ** chance.randint(-80, 80) for _ in range(length)] for _ in range(20)
        ]
        values = np.array(runs).ravel()
        high, _ = add_with_rest(values, np.arange(0, len(values), length))
        assert high.tolist() == [math.fsum(run) for run in runs]


def test_sums_that_are_not_finite() -> None:
    values = np.array([1.0, np.inf, 1.0, np.nan, 1e308, 1e308, 5e-324, 5e-324, -0.0, -0.0])
    high, low = add_with_rest(values, np.arange(0, 10, 2))
    np.testing.assert_array_equal(high, [np.inf, np.nan, np.inf, 1e-323, 0.0])
    assert not low.any()
