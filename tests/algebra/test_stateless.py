"""Filter, Map and Union against their naive versions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.filter import Filter
from aurora.algebra.map import Map
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.union import Union
from aurora.errors import AuroraError
from tests.algebra.harness import Arrival, check_agreement
from tests.algebra.strategies import arrivals, numbers
from tests.spec import squal

SCHEMA = Schema.parse("T int, v int")
some = arrivals(st.lists(numbers(32), max_size=30), v=st.one_of(st.integers(-3, 9), st.none()))


def above(limit: int) -> Any:
    return lambda row: row["v"] is not None and row["v"] > limit


@given(some)
def test_filter(rows: list[Arrival]) -> None:
    box = Filter.of(["v > 5", "v > 0 or T < -10"], SCHEMA)
    naive = squal.Filter(above(5), lambda row: above(0)(row) or row["T"] < -10)
    check_agreement(box, lambda: naive, rows, SCHEMA)


@given(some)
def test_map(rows: list[Arrival]) -> None:
    box = Map.of({"w": "v * 2", "T": "CAST(T AS bigint) + 1"}, SCHEMA)
    naive = squal.Map(w=lambda row: None if row["v"] is None else row["v"] * 2, T=lambda row: row["T"] + 1)
    check_agreement(box, lambda: naive, rows, SCHEMA)


@given(arrivals(st.lists(numbers(32), max_size=30), inputs=3, v=st.integers(0, 9)))
def test_union(rows: list[Arrival]) -> None:
    check_agreement(Union.of([SCHEMA] * 3), squal.Union, rows, SCHEMA, SCHEMA, SCHEMA)


def test_faults_name_the_box_and_what_it_got() -> None:
    with pytest.raises(AuroraError, match="over: 'v \\+ 1' is int, a predicate must be boolean"):
        Filter.of(["v + 1"], SCHEMA, "over")
    with pytest.raises(AuroraError, match="both: input 2 has \\(a int\\), input 1 has"):
        Union.of([SCHEMA, Schema.parse("a int")], "both")
