"""Join, and join with a static table, against their naive versions."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.join import Join
from aurora.algebra.ordering.order import Order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.lookup import Lookup
from tests.algebra.harness import Arrival, batch, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import squal

keys = st.one_of(st.integers(0, 2), st.none())
Pair = dict[str, Any]


def equal(field: str) -> Any:
    return lambda left, right: left[field] is not None and left[field] == right[field]


PREDICATES: dict[str, Any] = {
    "left.k = right.k": equal("k"),
    "left.k = right.k and left.g = right.g": lambda a, b: equal("k")(a, b) and equal("g")(a, b),
    "left.g = right.g and left.n < right.n": lambda a, b: equal("g")(a, b) and a["n"] < b["n"],
    "left.n + right.n > 20": lambda a, b: a["n"] + b["n"] > 20,
    "true": lambda a, b: True,
}


def check_against_naive(
    rows: list[Arrival], kind: str, predicate: str, size: Any, left: Any, right: Any
) -> None:
    schema = Schema.parse(f"T {kind}, k int, g int, n int")
    rows = [(port, {**row, "n": i}) for i, (port, row) in enumerate(rows)]
    box = Join.of(predicate, size, Order("T", **left), Order("T", **right), schema, schema)

    def naive() -> squal.Join:
        return squal.Join(PREDICATES[predicate], size, squal.Order("T", **left), squal.Order("T", **right))

    check_agreement(box, naive, rows, schema, schema)


def tuples(values: Any) -> Any:
    return arrivals(values, inputs=2, k=keys, g=groups)


orders = st.fixed_dictionaries(
    {"slack": st.sampled_from([0, 1, 3, 30]), "group_by": st.sampled_from([(), ("k",), ("g",), ("k", "g")])}
)
spans = st.fixed_dictionaries({"span": st.integers(0, 6), "group_by": st.sampled_from([(), ("k",)])})


@pytest.mark.parametrize("predicate", PREDICATES)
@given(
    tuples(nearly_rising(st.one_of(st.integers(-4, 4), st.none()))),
    st.sampled_from([0, 1, 5]),
    st.one_of(orders, spans),
    st.one_of(orders, spans),
)
def test_join(predicate: str, rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, "int", predicate, size, left, right)


@given(
    tuples(st.lists(numbers(), max_size=20)), st.sampled_from([0, 1, 10, 2**40, 2**63 - 1]), orders, orders
)
def test_extreme_values(rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, "bigint", "left.k = right.k", size, left, right)


@pytest.mark.parametrize("kind", ["timestamp", "date"])
@given(tuples(nearly_rising(st.integers(-4, 4))), st.integers(0, 4), orders, spans)
def test_times(kind: str, rows: list[Arrival], size: int, left: Any, right: Any) -> None:
    check_against_naive(rows, kind, "left.k = right.k", size, left, right)


@given(
    tuples(nearly_rising(st.one_of(reals(), st.sampled_from([float("nan"), float("inf"), -0.0])))),
    st.sampled_from([0.0, 0.125, 2.5]),
    orders,
    orders,
)
def test_doubles(rows: list[Arrival], size: float, left: Any, right: Any) -> None:
    check_against_naive(rows, "double", "left.k = right.k", size, left, right)


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 30), st.sampled_from([0, 1, 2, 2**40, -(2**63)])),
        max_size=25,
    ),
    st.sampled_from([(), ("k",)]),
    st.sampled_from([(), ("k",)]),
)
def test_sides_of_different_widths(rows: list[tuple[int, int, int]], left_by: Any, right_by: Any) -> None:
    left, right = Schema.parse("a smallint, k int"), Schema.parse("b bigint, k bigint, a int")
    arrived = [
        (0, {"a": t, "k": k % 3}) if side == 0 else (1, {"b": t, "k": k, "a": t}) for side, t, k in rows
    ]
    sides = {"on": "a", "slack": 1, "group_by": left_by}, {"on": "b", "slack": 2, "group_by": right_by}
    box = Join.of("left.k = right.k", 2, *(Order(**side) for side in sides), left, right)
    check_agreement(
        box, lambda: squal.Join(equal("k"), 2, *(squal.Order(**side) for side in sides)), arrived, left, right
    )


def test_state_does_not_grow() -> None:
    schema = Schema.parse("T int, k int")
    order = Order("T", 2, group_by=("k",))
    box = Join.of("left.k = right.k", 5, order, order, schema, schema)
    rows = [(i % 2, {"T": i // 20 + i % 3, "k": i % 10 // 2}) for i in range(6000)]

    def kept(count: int) -> int:
        ran = run_kernel(box, rows[:count], (schema, schema), 100, ends=False)
        return rows_kept(ran.stored).total()

    assert kept(6000) <= kept(1000) + 20 < 300


TABLE = Schema.parse("k int, name string")
STREAM = Schema.parse("T int, k int")
LOOKUPS: dict[str, Any] = {
    "left.k = right.k": equal("k"),
    "left.k < right.k": lambda a, b: None not in (a["k"], b["k"]) and a["k"] < b["k"],
}


@pytest.mark.parametrize("predicate", LOOKUPS)
@given(
    arrivals(st.lists(numbers(32), max_size=20), k=keys),
    st.lists(st.fixed_dictionaries({"k": keys, "name": st.sampled_from(["a", "b", None])}), max_size=8),
    st.booleans(),
)
def test_table(predicate: str, rows: list[Arrival], table: list[Pair], table_is_left: bool) -> None:
    table = [{"k": row["k"], "name": row["name"]} for row in table]
    box = replace(Lookup.of(predicate, STREAM, TABLE, table_is_left), rows=batch(table, TABLE))
    check_agreement(box, lambda: squal.Lookup(LOOKUPS[predicate], table, table_is_left), rows, STREAM)


def test_what_a_turn_passes_still_meets_the_tuples_of_that_turn() -> None:
    """Runs are merged, and swept of what the other side has passed, at the beginning of a turn."""
    schema = Schema.parse("T int, k int")
    order = Order("T")
    box = Join.of("left.k = right.k", 1, order, order, schema, schema)
    rows = [(0, {"T": 5, "k": k}) for k in range(8)]
    rows += [(1, {"T": 5, "k": 7}), (1, {"T": 90, "k": 50})]
    for cut in (1, 2, 9, 10):
        ran = run_kernel(box, rows, (schema, schema), cut)
        assert [row["k"] for _, row in ran.ports["1"]] == [7]
