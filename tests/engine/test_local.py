"""The runner without Spark: state in bytes, batches that fail and are run again, sources, a virtual clock."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import AuroraError, Memory, Network, Train, Turn, caused, from_text
from aurora.algebra.state.turn import Moment
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network

FIELDS = "g int, T int"
SCHEMA = Memory.of(FIELDS, []).schema.arrow()


def train(*rows: tuple[int, int], first: int = 0) -> Train:
    keys = np.arange(first, first + len(rows), dtype=np.int64)
    content = [{"g": g, "T": time} for g, time in rows]
    return Train(pa.RecordBatch.from_pylist(content, SCHEMA), keys * 0, keys[None])


def summing(**options: Any) -> Network:
    network = Network("sums")
    order = {"on": "T", "group_by": ["g"]}
    stream = network.input("r", FIELDS)
    network.output("o", stream.aggregate({"n": "count(*)"}, order=order, size=10, name="sums", **options))
    return network


def test_nothing_but_bytes_goes_from_batch_to_batch() -> None:
    run = LocalRun(plan_network(summing()), 3)
    assert run.feed([("r", train((1, 1), (2, 2)))], Moment(0, -1)) == {}
    assert run.state_bytes > 0
    later = run.restarted()
    later.feed([("r", train((1, 12), first=2))], Moment(0, 1))
    assert later.rows("o") == [{"g": 1, "T": 1, "n": 1}]
    later.feed([], Moment(0, 2, end=True))
    assert later.rows("o")[1:] == [{"g": 2, "T": 2, "n": 1}, {"g": 1, "T": 11, "n": 1}]
    assert later.ended


def test_a_run_goes_on_where_its_sources_were() -> None:
    rows = [{"g": i % 3, "T": i // 2} for i in range(40)]
    whole = LocalRun(plan_network(summing()), 2)
    whole.read({"r": Memory.of(FIELDS, rows)}, [5])
    run = LocalRun(plan_network(summing()), 2)
    with pytest.raises(RuntimeError, match="killed"):
        run.read({"r": Killed(Memory.of(FIELDS, rows), 20)}, [5])
    later = run.restarted()
    later.read({"r": Memory.of(FIELDS, rows)}, [7])
    assert run.rows("o") + later.rows("o") == whole.rows("o")


class Killed:
    """A source whose run is killed when it is asked for rows behind a place."""

    live = False

    def __init__(self, source: Memory, at: int) -> None:
        self.source, self.at = source, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def pieces(self, start: dict[str, Any], end: dict[str, Any], number: int) -> list[Any]:
        if end["row"] > self.at:
            raise RuntimeError("killed")
        return self.source.pieces(start, end, number)


def test_counts_and_what_was_left_out() -> None:
    run = LocalRun(plan_network(summing()), 2)
    run.feed([("r", train((1, 5), (1, 3))), ("r", train((2, 1), first=2))], Moment(0, -1))
    run.feed([("r", train((1, 4), first=3))], Moment(0, 2, end=True))
    counts = run.counts["sums"]
    assert (counts.taken, counts.given, run.discarded) == (4, 2, {"out of order": 2})


def failing(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    """Counts, and fails at a tuple of time 13."""
    rows = inputs["in"]
    known = turn.state.get("n")
    n = (0 if known is None else known["n"][0].as_py()) + len(rows)
    turn.state.put("n", pa.record_batch({"n": [n]}))
    if 13 in rows.rows["T"].to_pylist():
        raise ValueError("thirteen")
    if not turn.moment.end:
        return {}
    return {"o": caused(rows, pa.record_batch({"n": pa.array([n], pa.int64())}), np.array([len(rows)]))}


def counting(kernel: Any = failing, **options: Any) -> Network:
    network = Network("counting")
    stream = network.input("r", FIELDS)
    network.output(
        "o", network.user(kernel, inputs={"in": stream}, outputs={"o": "n bigint"}, name="n", **options)
    )
    return network


def test_a_batch_that_fails_changes_nothing() -> None:
    run = LocalRun(plan_network(counting()))
    run.feed([("r", train((1, 1), (2, 2)))], Moment(0, -1))
    with pytest.raises(AuroraError, match="box n: ValueError: thirteen"):
        run.feed([("r", train((1, 13), first=2))], Moment(0, 1))
    run.feed([("r", train((1, 12), first=2))], Moment(0, 1, end=True))
    assert run.rows("o") == [{"n": 3}]


@pytest.mark.parametrize("buckets", [1, 4])
def test_a_box_without_a_key_is_called_once_for_everything(buckets: int) -> None:
    """At the end of the input, too: a row for each bucket would depend on their number."""
    run = LocalRun(plan_network(counting()), buckets)
    run.read({"r": Memory.of(FIELDS, [{"g": i, "T": i} for i in range(5)])}, [2, 1])
    assert run.rows("o") == [{"n": 5}]


def test_several_sources_interleave_as_they_do_in_spark() -> None:
    network = Network("two")
    one, two = network.input("a", FIELDS), network.input("b", FIELDS)
    network.output("o", one.union(two, name="both"))
    rows = {name: [{"g": g, "T": time} for time in range(5)] for g, name in enumerate("ab")}
    sources = {name: Memory.of(FIELDS, each) for name, each in rows.items()}
    expected = [{"g": g, "T": time} for time in range(5) for g in (0, 1)]
    for step in ([100], [2], [1, 3]):
        run = LocalRun(plan_network(network))
        run.read(sources, step, pieces=3)
        assert run.rows("o") == expected and run.ended


def test_the_clock_is_set_by_hand() -> None:
    run = LocalRun(plan_network(summing(timeout="5ms")), 2)
    run.feed([("r", train((1, 1)))], Moment(100, -1))
    assert run.feed([], Moment(104, 0)) == {}
    found = run.feed([], Moment(106, 1))
    assert found["o"].rows.to_pylist() == [{"g": 1, "T": 1, "n": 1}]
    assert run.now == 106


class Doorbell:
    """A live source: one more row each time that it is asked, and then nothing for now."""

    live = True
    rows = 0

    def begin(self) -> dict[str, Any]:
        return {"row": 0}

    def advance(self, cursor: dict[str, Any], rows: int) -> dict[str, Any]:
        return {"row": min(cursor["row"] + rows, self.rows), "now": 10 * self.rows}

    def finished(self, cursor: dict[str, Any]) -> bool:
        return False

    def pieces(self, start: dict[str, Any], end: dict[str, Any], number: int) -> list[Any]:
        memory = Memory.of(FIELDS, [{"g": 7, "T": i} for i in range(self.rows)])
        return memory.pieces({"row": start["row"]}, {"row": end["row"]}, number)


def test_a_live_source_is_read_as_far_as_it_goes() -> None:
    network = Network("passing")
    network.output("o", network.input("r", FIELDS).filter("g = 7", name="all"))
    run, source = LocalRun(plan_network(network)), Doorbell()
    for rows in (2, 3):
        source.rows = rows
        run.read({"r": source})
        assert [row["T"] for row in run.rows("o")] == list(range(rows))
        assert run.now == 10 * rows and not run.ended


def sharing(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    turn.relations.put("accounts", inputs["in"].rows)
    turn.state.put("accounts", inputs["in"].rows)
    return {}


def test_state_of_boxes_and_relations_never_share_a_name() -> None:
    network = Network("names")
    stream = network.input("r", FIELDS)
    for name in ("relation", "relation.accounts", "accounts"):
        options: dict[str, Any] = {"key": {"in": ["g"]}, "relations": ["accounts"], "name": name}
        own = network.user(sharing, inputs={"in": stream}, outputs={"o": FIELDS}, **options)
        network.output(name, own)
    run = LocalRun(plan_network(network))
    for number in range(2):
        # Bytes are counted as they were stored by the batch before.
        run.feed([("r", train((1, 1), first=number))], Moment(0, number - 1))
    (stored,) = run.stored.values()
    assert len(stored.values) == 4
    sizes = [run.counts[name].state for name in ("relation", "relation.accounts", "accounts")]
    assert len(set(sizes)) == 1 and run.counts["relations of stage 1"].state == sizes[0] > 0


CHAINED = """
network: chained
inputs: {r: {schema: "t int, g int"}, q: {schema: "h int"}}
boxes:
  counts: {aggregate: {n: "count(*)"}, from: r, order: {on: t, group_by: [g], clock: stream}, size: 10, align: true}
  now:    {join: "left.n PRED right.h", left: counts, right: q, asof: true}
  later:  {aggregate: {c: "count(*)"}, from: now, order: {on: t, clock: stream}, size: 10, align: true}
outputs: {later: {from: later}}
"""


@pytest.mark.parametrize("sign", ["=", "<="])
@pytest.mark.parametrize("cut", [1, 3, 100])
@pytest.mark.parametrize("buckets", [1, 3])
def test_progress_travels_through_a_join_in_another_stage(sign: str, cut: int, buckets: int) -> None:
    """Windows behind it close with those in front of it, as they do where all of it is one stage."""
    readings = [(1, 1), (5, 2), (12, 1), (25, 1), (26, 2), (38, 2)]
    sources = {
        "r": Memory.of("t int, g int", [{"t": t, "g": g} for t, g in readings]),
        "q": Memory.of("h int", [{"h": h} for h in (1, 2, 1)]),
    }
    found = {}
    for more in ("asof: true", "asof: true, broadcast: true"):
        text = CHAINED.replace("PRED", sign).replace("asof: true", more)
        run = LocalRun(plan_network(from_text(text)), buckets)
        run.read(sources, [cut])
        assert run.rows("later") == [{"t": t, "c": c} for t, c in ((0, 2), (10, 1), (20, 2), (30, 1))]
        found[more] = [train.keys[0].tolist() for train in run.outputs["later"] if len(train)]
    apart, whole = found.values()
    assert apart == whole, "by the same arrivals"


@pytest.mark.parametrize("clock", ["stream", "group"])
@pytest.mark.parametrize(("size", "advance", "starts"), [(2, 5, [0]), (5, 5, [0, 2**63 - 3])])
def test_windows_at_the_ends_of_the_bigints(clock: str, size: int, advance: int, starts: list[int]) -> None:
    text = f"""
network: ends
inputs: {{r: {{schema: "t bigint"}}}}
boxes:
  c: {{aggregate: {{n: "count(*)"}}, from: r, order: {{on: t, clock: {clock}}}, size: {size}, advance: {advance},
       align: true}}
outputs: {{c: {{from: c}}}}
"""
    run = LocalRun(plan_network(from_text(text)))
    run.read({"r": Memory.of("t bigint", [{"t": -(2**63)}, {"t": 1}, {"t": 2**63 - 1}])})
    assert run.rows("c") == [{"t": start, "n": 1} for start in starts]
    assert run.discarded == {"between windows": 3 - len(starts)}
