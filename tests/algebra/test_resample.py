"""Resample and Wait against their naive versions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.ordering.order import Order
from aurora.algebra.resample import Resample
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.wait import Wait
from tests.algebra.harness import Arrival, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal
from tests.spec.window_functions import FUNCTIONS

TEXTS = {"n": "count(*)", "s": "sum(v)", "f": "first(v)", "l": "last(v)", "m": "median(v)"}


def functions(rows: list[dict[str, Any]]) -> dict[str, Any]:
    values = [row["v"] for row in rows]
    named = {"s": "sum", "f": "first", "l": "last", "m": "median"}
    return {"n": len(rows), **{name: FUNCTIONS[function](values) for name, function in named.items()}}


def check_against_naive(rows: list[Arrival], kind: str, size: Any, left: Any, right: Any) -> None:
    schema = Schema.parse(f"T {kind}, g int, v int")
    box = Resample.of(TEXTS, size, Order("T", **left), Order("T", **right), schema, schema)

    def naive() -> squal.Resample:
        return squal.Resample(functions, size, squal.Order("T", **left), squal.Order("T", **right))

    check_agreement(box, naive, rows, schema, schema)


def tuples(values: Any) -> Any:
    return arrivals(values, inputs=2, g=groups, v=st.one_of(st.integers(-9, 9), st.none()))


by = st.sampled_from([(), ("g",)])
orders = st.one_of(
    st.fixed_dictionaries({"slack": st.sampled_from([0, 1, 3, 30]), "group_by": by}),
    st.fixed_dictionaries({"span": st.integers(0, 6), "group_by": by}),
)
nearly = tuples(nearly_rising(st.one_of(st.integers(-4, 4), st.none())))


@given(nearly, st.sampled_from([0, 1, 3, 10]), orders, orders)
def test_resample(rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, "int", size, left, right)


@given(tuples(st.lists(numbers(), max_size=25)), st.sampled_from([0, 3, 2**40, 2**63 - 1]), orders, orders)
def test_extreme_values(rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, "bigint", size, left, right)


@pytest.mark.parametrize("kind", ["timestamp", "date"])
@given(nearly, st.integers(0, 4), orders, orders)
def test_times(kind: str, rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, kind, size, left, right)


@given(
    tuples(nearly_rising(st.one_of(reals(), st.sampled_from([float("nan"), float("inf"), -0.0])))),
    st.sampled_from([0.0, 0.125, 2.5]),
    orders,
    orders,
)
def test_doubles(rows: list[Arrival], size: float, left: Any, right: Any) -> None:
    check_against_naive(rows, "double", size, left, right)


def check_wait(rows: list[Arrival], kind: str, order: Any) -> None:
    schema = Schema.parse(f"T {kind}, g int, n int")
    rows = [(port, {**row, "n": i}) for i, (port, row) in enumerate(rows)]
    box = Wait.of("T", Order("T", **order), schema, schema)
    check_agreement(box, lambda: squal.Wait("T", squal.Order("T", **order)), rows, schema, schema)


def waiting(values: Any) -> Any:
    return arrivals(values, inputs=2, g=groups)


@given(waiting(nearly_rising(st.one_of(st.integers(-4, 4), st.none()))), orders)
def test_wait(rows: list[Arrival], order: Any) -> None:
    check_wait(rows, "int", order)


@given(waiting(st.lists(numbers(), max_size=25)), orders)
def test_wait_at_extremes(rows: list[Arrival], order: Any) -> None:
    check_wait(rows, "bigint", order)


@given(
    waiting(nearly_rising(st.one_of(reals(), st.sampled_from([float("nan"), float("inf"), -0.0])))), orders
)
def test_wait_on_doubles(rows: list[Arrival], order: Any) -> None:
    check_wait(rows, "double", order)


def test_reports_and_held_tuples_do_not_pile_up() -> None:
    schema = Schema.parse("T int, g int, v int")
    order = Order("T", 2, group_by=("g",))
    rows = [(int(i % 40 != 0), {"T": i // 20 + i % 3, "g": i % 5, "v": i}) for i in range(6000)]
    resample = Resample.of({"n": "count(*)"}, 5, Order("T", 2), order, schema, schema)
    wait = Wait.of("T", order, schema, schema)

    def kept(box: Any, name: str, count: int) -> int:
        ran = run_kernel(box, rows[:count], (schema, schema), 100, ends=False)
        return rows_kept(ran.stored)[name]

    one_group = Resample.of({"n": "count(*)"}, 5, Order("T", 2), Order("T", 2), schema, schema)
    assert kept(one_group, "beats", 6000) <= kept(one_group, "beats", 1000) + 5 < 40
    assert kept(resample, "reports", 6000) <= kept(resample, "reports", 1000) + 40 < 400
    assert kept(wait, "held", 6000) <= 20
