"""Joins as of: that by arrival against its naive version, and what that by time keeps."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Network
from aurora.algebra.box.unmatched import Unmatched
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.progress import Progress, find_rises
from aurora.algebra.ordering.values import least
from aurora.algebra.state.state import State, Stored
from aurora.algebra.state.turn import Moment, Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.variants.asof import AsOf
from aurora.algebra.variants.asof_time import AsOfTime
from tests.algebra.harness import Arrival, batch, check_agreement, plain, rows_kept, run_kernel
from tests.algebra.running import run_network
from tests.algebra.strategies import arrivals, groups, reals
from tests.spec import joins

kinds = st.sampled_from([Unmatched(), Unmatched((0,)), Unmatched((0,), alone=True)])
LEFT, RIGHT = Schema.parse("T int, k int, g int, n int"), Schema.parse("k bigint, g int, n int, w string")


def equal(a: Any, b: Any) -> bool:
    return a is not None and a == b


# The text, the pairs that it wants equal, and what it means.
PREDICATES: dict[str, tuple[Any, Any]] = {
    "left.k = right.k": ((("k", "k"),), lambda a, b: equal(a["k"], b["k"])),
    "left.g = right.g AND left.k = right.k": (
        (("g", "g"), ("k", "k")),
        lambda a, b: equal(a["k"], b["k"]) and equal(a["g"], b["g"]),
    ),
    "left.k = right.k AND left.T > right.n": (
        (("k", "k"),),
        lambda a, b: equal(a["k"], b["k"]) and a["T"] > b["n"],
    ),
    "left.k = right.g AND left.k = right.k": (
        (("k", "g"), ("k", "k")),
        lambda a, b: equal(a["k"], b["g"]) and equal(a["k"], b["k"]),
    ),
    "left.g < right.g": ((), lambda a, b: None not in (a["g"], b["g"]) and a["g"] < b["g"]),
    "true": ((), lambda a, b: True),
}
keys = st.one_of(st.integers(0, 2), st.none())
rows = arrivals(st.lists(st.integers(-5, 30), max_size=30), inputs=2, k=keys, g=groups)


def sides_of(found: list[Arrival]) -> list[Arrival]:
    """The arrivals with the fields of their sides."""
    both = [(port, {**row, "n": i, "w": "ab"[i % 2]}) for i, (port, row) in enumerate(found)]
    return [(port, {name: row[name] for name in (LEFT, RIGHT)[port]}) for port, row in both]


@pytest.mark.parametrize("predicate", PREDICATES)
@given(rows, kinds)
def test_asof(predicate: str, rows: list[Arrival], unmatched: Unmatched) -> None:
    pairs, holds = PREDICATES[predicate]
    box = AsOf.of(predicate, LEFT, RIGHT, unmatched)
    assert set(box.equal) == set(pairs)
    sides = joins.Sides(([*LEFT], [*RIGHT]), box.equal, unmatched.sides, unmatched.alone)
    check_agreement(box, lambda: joins.AsOf(holds, sides), sides_of(rows), LEFT, RIGHT)


@given(
    arrivals(st.lists(st.integers(0, 5), max_size=20), inputs=2, d=st.one_of(reals(), st.just(float("nan"))))
)
def test_doubles_as_keys(rows: list[Arrival]) -> None:
    schema = Schema.parse("T int, d double")
    sides = joins.Sides((["T", "d"], ["T", "d"]), (("d", "d"),), (0,))
    box = AsOf.of("left.d = right.d", schema, schema, Unmatched((0,)))
    # NaN equals NaN, as in Spark.
    check_agreement(box, lambda: joins.AsOf(lambda a, b: True, sides), rows, schema, schema)


def test_a_tuple_of_the_same_arrival_is_met_only_if_something_smaller_brought_it_forth() -> None:
    left, right = Schema.parse("k int"), Schema.parse("k int, v int")
    box = AsOf.of("left.k = right.k", left, right, Unmatched((0,)))
    asks = Train(batch([{"k": 1}] * 3, left), np.zeros(3, int), np.array([[4, 6, 8], [9, 9, 9]]))
    changes = [{"k": 1, "v": v} for v in (6, 7, 8)]
    given = Train(batch(changes, right), np.zeros(3, int), np.array([[6, 7, 8], [0, 0, 0]]))
    found = box.call((asks, given), Turn())["1"]
    assert [row["v"] for row in plain(found.rows)] == [None, None, 7]
    assert (found.keys == asks.keys).all()


def test_state_is_a_row_a_key() -> None:
    box = AsOf.of("left.k = right.k", LEFT, RIGHT)
    rows = sides_of([(int(i % 3 > 0), {"T": i, "k": i % 10, "g": i}) for i in range(3000)])
    ran = run_kernel(box, rows, (LEFT, RIGHT), 100, ends=False)
    assert rows_kept(ran.stored) == {"latest": 10}


@pytest.mark.parametrize("touched", [True, False], ids=["of keys that come", "of keys that do not"])
def test_by_time_right_tuples_are_kept_that_may_still_be_met(touched: bool) -> None:
    """Of each key the latest one before both clocks, and all behind; of the left what waits, and nothing at the end."""
    schema = Schema.parse("T int, k int")
    order = Order("T", clock="stream")
    box = AsOfTime.of("left.k = right.k", order, order, schema, schema)
    stored, before = Stored(), [least(np.dtype(np.int64))] * 2

    def turn(
        number: int, lefts: list[tuple[int, int]], rights: list[tuple[int, int]], end: bool = False
    ) -> Any:
        sides = []
        for side, those in enumerate((lefts, rights)):
            rows = batch([{"T": t, "k": k} for t, k in those], schema)
            keys = 10_000 * number + 2 * np.arange(len(those)) + 2 * side * len(lefts) + 1
            sides.append(Train(rows, np.zeros(len(those), int), keys[None]))
        found = [find_rises(train, "T") for train in sides]
        clocks = tuple(
            Progress.of(low, each.positions, each.values) for low, each in zip(before, found, strict=True)
        )
        state = State(stored)
        come_out = box.call((sides[0], sides[1]), Turn(state, Moment(end=end), clocks=clocks))["1"]
        stored.write(state.changes())
        before[:] = [clock.after for clock in clocks]
        return [row["T_right"] for row in plain(come_out.rows)], rows_kept(stored)

    for number in range(10):
        turn(number, [], [(t, t % 5) for t in range(100 * number, 100 * number + 100)])
    assert rows_kept(stored)["right"] == 1000, "the left has not begun"
    assert turn(10, [(905, 9)], []) == ([], {"right": 1000}), "its key has none"
    for number in range(11, 20):
        turn(number, [(905, 0)], [(1000, k) for k in range(5)] if touched else [(1000, 7 + number)])
    kept = rows_kept(stored)
    # Each key's latest up to 905, and those from there to 1000 (which came nine times, and counts once).
    assert kept["right"] == (5 + 94 + 5 if touched else 5 + 94 + 9)
    found, kept = turn(20, [(1000, 1), (2000, 2)], [])
    assert found == [] and kept["left"] == 2
    found, kept = turn(21, [], [], end=True)
    assert found == ([1000, 1000] if touched else [996, 997])
    assert not {"left", "right"} & kept.keys()


def test_a_stream_as_of_itself_gives_the_tuple_before() -> None:
    network = Network("before")
    stream = network.input("in0", "k int, n int")
    before = stream.join(stream, "left.k = right.k", asof=True, outer="left", name="before")
    network.output("before", before)
    rows = [(0, {"k": i % 2, "n": i}) for i in range(6)]
    for cut in (1, 2, 10):
        run = run_network(network, rows, cut, buckets=2)
        found = [row for train in run.outputs["before"] for row in plain(train.rows)]
        assert [(row["n"], row["n_right"]) for row in found] == [
            (0, None), (1, None), (2, 0), (3, 1), (4, 2), (5, 3),
        ]  # fmt: skip


def test_progress_travels_with_the_left_side() -> None:
    """Windows behind a join as of close at the same arrivals as without it."""
    network = Network("progress")
    asked = network.input("in0", "g int, T int")
    told = network.input("in1", "g int, T int")
    by_group = {"on": "T", "group_by": ["g"], "clock": "stream"}
    counts = asked.aggregate({"n": "count(*)"}, order=by_group, size=2, align=True, name="counts")
    latest = counts.join(told, "left.g = right.g", asof=True, outer="left", name="latest")
    for name, stream in (("plain", counts), ("behind", latest)):
        order = {"on": "T", "clock": "stream"}
        network.output(name, stream.aggregate({"m": "sum(n)"}, order=order, size=2, align=True, name=name))
    rows = [(i % 2, {"g": i % 3, "T": i // 4}) for i in range(60)]
    for cut in (1, 7, 60):
        for buckets in (1, 3):
            run = run_network(network, rows, cut, buckets)
            plain_, behind = (
                [(train.keys[0].tolist(), plain(train.rows)) for train in run.outputs[name] if len(train)]
                for name in ("plain", "behind")
            )
            assert plain_ == behind
            assert len([row for _, found in behind for row in found]) == 8
