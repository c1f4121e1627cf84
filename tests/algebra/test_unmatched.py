"""Outer and anti joins of streams and with tables, against their naive versions."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.box.unmatched import Unmatched
from aurora.algebra.expressions import Expression
from aurora.algebra.join import Join
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.pairs import equal_fields
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.lookup import Lookup
from tests.algebra.harness import Arrival, batch, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals, groups, nearly_rising, numbers, reals
from tests.spec import joins, squal

kinds = st.sampled_from(
    [
        Unmatched.of(outer, anti, "join")
        for outer, anti in (("left", None), ("right", None), ("both", None), (None, "left"), (None, "right"))
    ]
)
keys = st.one_of(st.integers(0, 2), st.none())


def equal(*pairs: str) -> Any:
    return lambda a, b: all(a[one] is not None and a[one] == b[other] for one, other in pairs)


PREDICATES: dict[str, Any] = {
    "left.k = right.k": equal("kk"),
    "left.k = right.k and left.g = right.g": equal("kk", "gg"),
    "left.g = right.g and left.n + right.n > 20": lambda a, b: equal("gg")(a, b) and a["n"] + b["n"] > 20,
    "left.k = right.k and left.g = right.k": equal("kk", "gk"),
    "left.k = right.k and left.k = right.g": equal("kk", "kg"),
    "left.n + right.n > 20": lambda a, b: a["n"] + b["n"] > 20,
    "true": lambda a, b: True,
}


def tuples(values: Any) -> Any:
    return arrivals(values, inputs=2, k=keys, g=groups)


orders = st.fixed_dictionaries(
    {"slack": st.sampled_from([0, 1, 3, 30]), "group_by": st.sampled_from([(), ("k",), ("g",), ("g", "k")])}
)
spans = st.fixed_dictionaries({"span": st.integers(0, 6), "group_by": st.sampled_from([(), ("k",)])})


def check_against_naive(
    rows: list[Arrival], kind: str, predicate: str, size: Any, left: Any, right: Any, unmatched: Unmatched
) -> None:
    schema = Schema.parse(f"T {kind}, k int, g int, n int")
    rows = [(port, {**row, "n": i}) for i, (port, row) in enumerate(rows)]
    box = Join.of(
        predicate, size, Order("T", **left), Order("T", **right), schema, schema, unmatched=unmatched
    )
    sides = joins.Sides(([*schema], [*schema]), box.equal, unmatched.sides, unmatched.alone)

    def naive() -> joins.OuterJoin:
        one, other = squal.Order("T", **left), squal.Order("T", **right)
        return joins.OuterJoin(PREDICATES[predicate], size, one, other, sides)

    check_agreement(box, naive, rows, schema, schema)


@pytest.mark.parametrize("predicate", PREDICATES)
@given(
    tuples(nearly_rising(st.one_of(st.integers(-4, 4), st.none()))),
    st.sampled_from([0, 1, 5]),
    st.one_of(orders, spans),
    st.one_of(orders, spans),
    kinds,
)
def test_join(
    predicate: str, rows: list[Arrival], size: int, left: Any, right: Any, unmatched: Unmatched
) -> None:
    check_against_naive(rows, "int", predicate, size, left, right, unmatched)


@given(
    tuples(st.lists(numbers(), max_size=20)),
    st.sampled_from([0, 1, 10, 2**40, 2**63 - 1]),
    orders,
    orders,
    kinds,
)
def test_extreme_values(rows: list[Arrival], size: int, left: Any, right: Any, unmatched: Unmatched) -> None:
    check_against_naive(rows, "bigint", "left.k = right.k", size, left, right, unmatched)


@given(tuples(nearly_rising(st.integers(-4, 4))), st.integers(0, 4), orders, spans, kinds)
def test_times(rows: list[Arrival], size: int, left: Any, right: Any, unmatched: Unmatched) -> None:
    check_against_naive(rows, "timestamp", "left.k = right.k", size, left, right, unmatched)


@given(
    tuples(nearly_rising(st.one_of(reals(), st.sampled_from([float("nan"), float("inf"), -0.0])))),
    st.sampled_from([0.0, 0.125, 2.5]),
    orders,
    orders,
    kinds,
)
def test_doubles(rows: list[Arrival], size: float, left: Any, right: Any, unmatched: Unmatched) -> None:
    check_against_naive(rows, "double", "left.k = right.k", size, left, right, unmatched)


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 30), st.sampled_from([0, 1, 2, 2**40, -(2**63)])),
        max_size=25,
    ),
    st.sampled_from([(), ("k",)]),
    st.sampled_from([(), ("k",)]),
    kinds,
)
def test_sides_of_different_widths(
    rows: list[tuple[int, int, int]], left_by: Any, right_by: Any, unmatched: Unmatched
) -> None:
    left, right = Schema.parse("a smallint, k int"), Schema.parse("b bigint, k bigint, a int")
    arrived = [
        (0, {"a": t, "k": k % 3}) if side == 0 else (1, {"b": t, "k": k, "a": t}) for side, t, k in rows
    ]
    given = {"on": "a", "slack": 1, "group_by": left_by}, {"on": "b", "slack": 2, "group_by": right_by}
    box = Join.of("left.k = right.k", 2, *(Order(**side) for side in given), left, right, unmatched=unmatched)
    sides = joins.Sides(([*left], [*right]), box.equal, unmatched.sides, unmatched.alone)
    check_agreement(
        box,
        lambda: joins.OuterJoin(equal("kk"), 2, *(squal.Order(**side) for side in given), sides),
        arrived,
        left,
        right,
    )


TABLE, STREAM = Schema.parse("k int, name string"), Schema.parse("T int, k int")
LOOKUPS: dict[str, Any] = {
    "left.k = right.k": equal("kk"),
    "left.k < right.k": lambda a, b: None not in (a["k"], b["k"]) and a["k"] < b["k"],
}


@pytest.mark.parametrize("predicate", LOOKUPS)
@given(
    arrivals(st.lists(numbers(32), max_size=20), k=keys),
    st.lists(st.fixed_dictionaries({"k": keys, "name": st.sampled_from(["a", "b", None])}), max_size=8),
    st.integers(0, 1),
    st.booleans(),
)
def test_table(predicate: str, rows: list[Arrival], table: list[Any], stream: int, alone: bool) -> None:
    table = [{"k": row["k"], "name": row["name"]} for row in table]
    unmatched = Unmatched((stream,), alone)
    box = replace(
        Lookup.of(predicate, STREAM, TABLE, stream == 1, unmatched=unmatched), rows=batch(table, TABLE)
    )
    names = ([*STREAM], [*TABLE]) if stream == 0 else ([*TABLE], [*STREAM])
    sides = joins.Sides(names, (), (stream,), alone)
    check_agreement(box, lambda: joins.Lookup(LOOKUPS[predicate], table, stream, sides), rows, STREAM)


@pytest.mark.parametrize("group_by", [(), ("k",)])
def test_state_does_not_grow(group_by: tuple[str, ...]) -> None:
    schema = Schema.parse("T int, k int")
    order = Order("T", 2, group_by=group_by)
    box = Join.of("left.k = right.k", 5, order, order, schema, schema, unmatched=Unmatched((0, 1)))
    rows = [(i % 2, {"T": i // 20 + i % 3 + i % 2 * 9, "k": i // 2 % 5}) for i in range(6000)]

    def kept(count: int) -> int:
        ran = run_kernel(box, rows[:count], (schema, schema), 100, ends=False)
        return rows_kept(ran.stored).total()

    assert kept(6000) <= kept(1000) + 20 < 700


def test_one_batch_may_bring_the_partner_and_pass_the_tuple() -> None:
    schema = Schema.parse("T int, k int")
    order = Order("T")
    box = Join.of("left.k = right.k", 1, order, order, schema, schema, unmatched=Unmatched((0,), alone=True))
    rows = [(0, {"T": 5, "k": k}) for k in range(8)]
    rows += [(1, {"T": 5, "k": 7}), (1, {"T": 90, "k": 50})]
    for cut in (1, 2, 9, 10):
        ran = run_kernel(box, rows, (schema, schema), cut)
        assert [row["k"] for _, row in ran.ports["1"]] == [0, 1, 2, 3, 4, 5, 6]


def test_casts_that_change_values_do_not_make_fields_equal() -> None:
    left, right = Schema.parse("a bigint, s string"), Schema.parse("a tinyint, s string")
    sides = {"left": left, "right": right}
    found = [
        equal_fields(Expression.parse(text, sides))
        for text in (
            "left.a = right.a",
            "CAST(left.a AS tinyint) = right.a",
            "left.a = CAST(right.a AS int)",
            "CAST(left.s AS int) = CAST(right.s AS int)",
        )
    ]
    assert found == [(("a", "a"),), (), (("a", "a"),), ()]
