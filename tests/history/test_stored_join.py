"""Joins with stored sets, pulled by key, against the naive join with a table, for many cuts and buckets."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import from_text
from aurora.algebra.box.unmatched import PAIRS_ONLY, Unmatched
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.variants.lookup import Lookup
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.history.keyed_rows import StoredSet
from aurora.history.stored import store_by_key
from tests.algebra.harness import Arrival, batch, check_agreement, plain, trains
from tests.algebra.strategies import arrivals, numbers
from tests.spec import joins

Row = dict[str, Any]


def stored(rows: list[Row], schema: Schema, key: tuple[str, ...], folder: Path) -> StoredSet:
    """In small batches and runs, so that a few rows are spread over many."""
    pyarrow.parquet.write_table(
        pa.Table.from_batches([batch(rows, schema)]), folder / "set.parquet", row_group_size=5
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aurora.history.stored.GROUP", 3)
        patch.setattr("aurora.history.stored.RUN", 6)
        return store_by_key("set", f"parquet:{folder}/set.parquet", schema, key, folder / "stored")


def equal(*pairs: tuple[str, str]) -> Any:
    return lambda a, b: all(a[one] is not None and a[one] == b[other] for one, other in pairs)


# The fields that are equal, left and right, the text of the rest, and what it means.
BOTH = {"left.k = right.k AND left.s = right.s": (equal(("k", "k"), ("s", "s")), ("k", "s"))}
ONE = {
    "left.k = right.k": (equal(("k", "k")), ("k",)),
    "left.s = right.s AND left.k < right.k": (
        lambda a, b: equal(("s", "s"))(a, b) and None not in (a["k"], b["k"]) and a["k"] < b["k"],
        ("s",),
    ),
    "left.k = right.k AND left.s = right.s": (equal(("k", "k"), ("s", "s")), ("s",)),
}
PREDICATES = [(text, *meant) for known in (BOTH, ONE) for text, meant in known.items()]
STREAM, SET = Schema.parse("T int, k bigint, s string"), Schema.parse("k int, s string, n int")

keys = st.one_of(st.integers(0, 3), st.none())
words = st.one_of(st.sampled_from(["", "a", "é"]), st.none())
kinds = st.sampled_from([None, False, True])


@pytest.mark.parametrize(("predicate", "meaning", "key"), PREDICATES)
@given(
    arrivals(st.lists(numbers(32), max_size=12), k=keys, s=words),
    st.lists(st.fixed_dictionaries({"k": keys, "s": words}), max_size=20),
    st.integers(0, 1),
    kinds,
)
def test_pulled_rows(
    predicate: str,
    meaning: Any,
    key: tuple[str, ...],
    rows: list[Arrival],
    held: list[Row],
    stream: int,
    alone: bool | None,
) -> None:
    held = [{"k": row["k"], "s": row["s"], "n": number} for number, row in enumerate(held)]
    unmatched = PAIRS_ONLY if alone is None else Unmatched((stream,), alone)
    box = Lookup.of(predicate, STREAM, SET, stream == 1, unmatched=unmatched)
    assert box.traits.asks >= set(key)
    names = ([*STREAM], [*SET]) if stream == 0 else ([*SET], [*STREAM])
    sides = joins.Sides(names, (), unmatched.sides, unmatched.alone)
    with tempfile.TemporaryDirectory() as folder:
        pulling = replace(box, rows=stored(held, SET, key, Path(folder)))
        check_agreement(pulling, lambda: joins.Lookup(meaning, held, stream, sides), rows, STREAM)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-2, 2),
    "bigint": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
    "double": st.sampled_from([0.0, -0.0, 1.5, -1e300, float("inf")]),
    "float": st.sampled_from([0.0, -0.0, 1.5]),
    "string": st.sampled_from(["", "a", "ä" * 40]),
    "date": st.integers(-3, 3),
    "timestamp": st.integers(-3, 3),
}


@pytest.mark.parametrize("kind", VALUES)
@given(st.data())
def test_every_type_can_be_a_key(kind: str, data: st.DataObject) -> None:
    values = st.one_of(VALUES[kind], st.none())
    rows = data.draw(arrivals(st.lists(numbers(32), max_size=8), k=values))
    held = [
        {"k": value, "n": number} for number, value in enumerate(data.draw(st.lists(values, max_size=12)))
    ]
    stream, table = Schema.parse(f"T int, k {kind}"), Schema.parse(f"k {kind}, n int")
    sides = joins.Sides(([*stream], [*table]), (), (), False)
    with tempfile.TemporaryDirectory() as folder:
        box = replace(
            Lookup.of("left.k = right.k", stream, table), rows=stored(held, table, ("k",), Path(folder))
        )
        check_agreement(box, lambda: joins.Lookup(equal(("k", "k")), held, 0, sides), rows, stream)


TEXT = """
inputs:
  r: {schema: "T int, k bigint, s string"}
  set: {schema: "k int, s string, n int", static: true}
boxes:
  sums: {aggregate: {s: "last(s)", T: "max(T)"}, from: r, order: {on: "#", group_by: [k]}, size: 2, partial: true}
  found: {join: "left.k = right.k", left: sums, right: set, outer: left}
  again: {join: "left.k = right.k AND left.s = right.s", left: set, right: found}
  counted: {aggregate: {c: "count(*)", n: "max(n)"}, from: again, order: {on: "#", group_by: [k]}, size: 3}
outputs: {found: found, again: again, counted: counted}
"""


@given(
    arrivals(st.lists(st.integers(0, 9), max_size=15), k=keys, s=words),
    st.lists(st.fixed_dictionaries({"k": keys, "s": words}), max_size=12),
    st.integers(1, 15),
    st.integers(1, 3),
)
def test_a_network_gives_the_same_rows_as_with_a_table(
    rows: list[Arrival], held: list[Row], cut: int, buckets: int
) -> None:
    held = [{**row, "n": number} for number, row in enumerate(held)]
    plan = plan_network(from_text(TEXT))
    with tempfile.TemporaryDirectory() as folder:
        pulled = stored(held, SET, ("k",), Path(folder))
        runs = [
            fed(LocalRun(plan.with_tables({"set": table}), buckets), rows, cut)
            for table, buckets, cut in ((batch(held, SET), 1, 10**6), (pulled, buckets, cut))
        ]
    for output in ("found", "again", "counted"):
        one, other = ([row for train in run.outputs[output] for row in plain(train.rows)] for run in runs)
        assert one == other


def fed(run: LocalRun, rows: list[Arrival], cut: int) -> LocalRun:
    for start in [*range(0, len(rows), cut), len(rows)]:
        (train,) = trains(rows, (STREAM,), start, start + cut)
        run.feed([("r", train)], Moment(0, 2 * start, start == len(rows)))
    return run
