"""BSort against its naive version."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.bsort import BSort
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError
from tests.algebra.harness import Arrival, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal

SLACKS = st.sampled_from([0, 1, 2, 3, 5, 30, 100])


def check_against_naive(rows: list[Arrival], kind: str, **order: Any) -> None:
    schema = Schema.parse(f"T {kind}, g int, n int")
    box = BSort.of(Order("T", **order), schema)
    rows = [(port, {**row, "n": i}) for i, (port, row) in enumerate(rows)]
    check_agreement(box, lambda: squal.BSort(squal.Order("T", **order)), rows, schema)


@given(arrivals(nearly_rising(st.one_of(st.integers(-5, 5), st.none())), g=groups), SLACKS)
def test_nearly_sorted(rows: list[Arrival], slack: int) -> None:
    check_against_naive([(p, r) for p, r in rows], "int", slack=slack, group_by=("g",))


@given(arrivals(st.lists(numbers(), max_size=40), g=groups), SLACKS, st.booleans())
def test_any_order(rows: list[Arrival], slack: int, grouped: bool) -> None:
    check_against_naive(rows, "bigint", slack=slack, group_by=("g",) if grouped else ())


@given(arrivals(st.lists(numbers(), max_size=40), g=groups), st.sampled_from([0, 1, 7, 2**40, 2**63 - 1]))
def test_span(rows: list[Arrival], span: int) -> None:
    check_against_naive(rows, "bigint", span=span, group_by=("g",))


@pytest.mark.parametrize("kind", ["timestamp", "date", "smallint"])
@given(arrivals(nearly_rising(st.one_of(st.integers(-5, 5), st.none())), g=groups), st.integers(0, 3))
def test_times(kind: str, rows: list[Arrival], slack: int) -> None:
    check_against_naive(rows, kind, slack=slack, group_by=("g",))
    check_against_naive(rows, kind, span=slack, group_by=("g",))


@given(
    arrivals(
        st.lists(st.one_of(reals(), st.none(), st.sampled_from([float("nan"), float("inf"), -0.0]))), g=groups
    ),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_doubles(rows: list[Arrival], slack: int, span: float) -> None:
    check_against_naive(rows, "double", slack=slack, group_by=("g",))
    check_against_naive(rows, "double", span=span)


def test_fields_may_have_the_names_of_hidden_ones() -> None:
    schema = Schema.parse("T int, `#ts` int, `#group` int, `#0` int, `#` int")
    rows = [(0, dict(zip(schema.names, (9 - i, i, -i, 7, 8), strict=True))) for i in range(9)]
    check_agreement(BSort.of(Order("T", 2), schema), lambda: squal.BSort(squal.Order("T", 2)), rows, schema)


def test_state_is_the_buffer() -> None:
    schema = Schema.parse("T int, g int")
    box = BSort.of(Order("T", slack=3, group_by=("g",)), schema)
    rows = [(0, {"T": i // 2 + i % 3, "g": i % 5}) for i in range(2000)]
    ran = run_kernel(box, rows, (schema,), 100, ends=False)
    assert rows_kept(ran.stored)["held"] == 15
    assert rows_kept(ran.stored).total() <= 40


def test_arrival_order_needs_no_sort() -> None:
    with pytest.raises(AuroraError, match="already come in the order"):
        BSort.of(Order("#"), Schema.parse("T int"))
