"""A user's box: state, several outputs, relations, and faults in a kernel."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import LAST, Train
from aurora.algebra.user import UserBox, caused
from aurora.errors import AuroraError
from tests.algebra.harness import Arrival, batch, check_agreement, rows_kept, run_kernel
from tests.algebra.strategies import arrivals
from tests.spec import squal

SCHEMA = Schema.parse("T int, k int")
RESULT = Schema.parse("k int, total int")


def running_total(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    """The total of T for each k so far: odd ones at one port, even ones at the other."""
    train = inputs["reports"]
    stored = turn.relations.get("totals")
    table = np.zeros(5, np.int64) if stored is None else stored.column("total").to_numpy().copy()
    keys, values = train.rows["k"].to_numpy(), train.rows["T"].to_numpy()
    totals = np.empty(len(train), np.int64)
    for key in np.unique(keys):
        own = keys == key
        totals[own] = table[key] + np.cumsum(values[own])
        table[key] += values[own].sum()
    turn.relations.put("totals", pa.record_batch({"total": table}))
    odd = totals % 2 == 1
    ports = {"odd": np.flatnonzero(odd), "even": np.flatnonzero(~odd)}
    return {
        port: caused(train, pa.record_batch({"k": keys[index], "total": totals[index]}), index)
        for port, index in ports.items()
    }


BOX = UserBox.of(
    running_total, {"reports": SCHEMA}, {"odd": RESULT, "even": RESULT}, {"reports": ("k",)}, ("totals",)
)


def naive(port: int, row: dict[str, Any], state: dict[Any, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    total = state[row["k"]] = state.get(row["k"], 0) + row["T"]
    yield "odd" if total % 2 else "even", {"k": row["k"], "total": total}


def test_the_end_is_a_cause_too() -> None:
    train = Train(batch([{"T": 1, "k": 1}] * 2, SCHEMA), np.array([10, 20]), np.array([[3, 4], [0, 0]]))
    rows = pa.record_batch({"n": [1, 2, 3, 4]})
    found = caused(train, rows, np.array([2, 1, 2, 0])).arrange()
    assert found.rows["n"].to_pylist() == [4, 2, 1, 3]
    assert found.arrived.tolist() == [10, 20, 20, 20] and found.keys[0].tolist() == [3, 4, LAST, LAST]
    empty = caused(Train.empty(SCHEMA.arrow()), rows, np.zeros(4, np.int64))
    assert empty.rows["n"].to_pylist() == [1, 2, 3, 4] and set(empty.keys[0].tolist()) == {LAST}


@given(arrivals(st.lists(st.integers(-9, 9), max_size=30), k=st.integers(0, 4)))
def test_state_in_a_relation(rows: list[Arrival]) -> None:
    ran = check_agreement(BOX, lambda: squal.Stateful(naive), rows, SCHEMA)
    assert set(ran.relations.values) <= {"totals"} and not rows_kept(ran.stored)


def repeat_both(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    parts = []
    for train in inputs.values():
        twice = np.repeat(np.arange(len(train)), 2)
        parts.append(caused(train, train.rows.take(pa.array(twice)), twice))
    return {"1": Train.concat(parts)}


@given(arrivals(st.lists(st.integers(-9, 9), max_size=30), inputs=2, k=st.integers(0, 4)))
def test_two_inputs_keep_the_order_of_arrival(rows: list[Arrival]) -> None:
    box = UserBox.of(repeat_both, {"a": SCHEMA, "b": SCHEMA}, {"1": SCHEMA}, {})
    check_agreement(
        box, lambda: squal.Stateful(lambda port, row, state: iter([("1", row)] * 2)), rows, SCHEMA, SCHEMA
    )


def test_a_relation_must_be_declared() -> None:
    box = UserBox.of(running_total, {"reports": SCHEMA}, {"odd": RESULT, "even": RESULT}, {"reports": ("k",)})
    with pytest.raises(AuroraError, match="uses relation totals; declared are: none"):
        run_kernel(box, [(0, {"T": 1, "k": 1})], (SCHEMA,), 1)


def test_other_fields_than_declared() -> None:
    box = UserBox.of(repeat_both, {"a": SCHEMA}, {"1": RESULT}, {})
    with pytest.raises(AuroraError, match="has the fields T, k; declared are k, total"):
        run_kernel(box, [(0, {"T": 1, "k": 1})], (SCHEMA,), 1)


def test_parts_of_a_state_have_their_own_names() -> None:
    whole = State()
    rows = batch([{"T": 1, "k": 2}], SCHEMA)
    whole.within("a.").within("b.").put("held", rows)
    assert whole.get("a.b.held") is rows
    assert list(whole.changes().values) == ["a.b.held"]
    whole.put("a.b.held", rows.slice(0, 0))
    assert whole.changes().values == {"a.b.held": None}
    assert whole.changes().values == {}


def test_a_stateless_box_keeps_nothing() -> None:
    box = UserBox.of(running_total, {"reports": SCHEMA}, {"odd": RESULT, "even": RESULT}, {}, stateless=True)
    assert box.partition is None
    with pytest.raises(AuroraError, match="uses relation totals"):
        run_kernel(box, [(0, {"T": 1, "k": 1})], (SCHEMA,), 1)


def test_a_stateless_box_has_no_key() -> None:
    with pytest.raises(AuroraError, match="a stateless box has neither key nor relations"):
        UserBox.of(repeat_both, {"a": SCHEMA}, {"1": SCHEMA}, {"a": ("k",)}, stateless=True)


def test_some_input_needs_a_key() -> None:
    with pytest.raises(AuroraError, match="at least one input needs a key"):
        UserBox.of(repeat_both, {"a": SCHEMA}, {"1": SCHEMA}, {"a": None})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "returned NoneType; return a mapping with a train for each of its outputs: y"),
        ({"zz": None}, "returned the output zz, which is not declared; it has y"),
        ({"y": 3}, "returned int for output y; make a train with caused"),
    ],
)
def test_what_is_wrong_with_a_kernel_is_told(given: Any, told: str) -> None:
    box = UserBox.of(lambda inputs, turn: given, {"x": SCHEMA}, {"y": SCHEMA}, {})
    with pytest.raises(AuroraError, match=told):
        box.call((Train.empty(SCHEMA.arrow()),), Turn())


def test_rows_of_the_end_come_by_their_fields_where_there_are_buckets() -> None:
    def last(inputs: Any, turn: Turn) -> Any:
        rows = batch([{"T": 3, "k": 1}, {"T": 1, "k": 2}], SCHEMA)
        return {"y": caused(inputs["x"], rows, np.array([0, 0]))}

    empty = (Train.empty(SCHEMA.arrow()),)
    for key, wanted in (({"x": ("k",)}, [1, 3]), ({}, [3, 1])):
        box = UserBox.of(last, {"x": SCHEMA}, {"y": SCHEMA}, key)
        assert box.call(empty, Turn())["y"].rows["T"].to_pylist() == wanted
