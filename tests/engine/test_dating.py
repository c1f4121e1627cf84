"""What the latency of a row counts from: the arrival that caused it, whatever box made it and however input is cut."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from aurora import AuroraError, Network, Train, Turn, caused, from_text, to_text
from aurora.algebra.state.turn import Moment
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from tests.algebra.harness import Arrival, arrived
from tests.algebra.running import ENDED, find_times, run_network

READINGS = "g int, T int, v int"

BOXES = {
    "window": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, group_by: [g]}, size: 4}',
    "slack": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, slack: 2, group_by: [g]}, size: 4}',
    "clocked": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, group_by: [g], clock: stream}, size: 4, '
    "align: true}",
    "keyless": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, clock: stream}, size: 4, align: true}',
    "listed": '{aggregate: {all: "collect_list(v)"}, from: r, order: {on: T, group_by: [g], clock: stream}, size: 4}',
    "opened": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, group_by: [g]}, size: 4, advance: "v > 2"}',
    "chained": '{aggregate: {m: "max(n)"}, from: clocked, order: {on: T, clock: stream}, size: 8, align: true}',
    "sessions": '{aggregate: {n: "count(*)"}, from: r, order: {on: T, group_by: [g], clock: stream}, gap: 2}',
    "running": '{aggregate: {n: "count(*)"}, from: r, order: {on: "#", group_by: [g]}, size: all}',
    "sorted": "{bsort: {}, from: r, order: {on: T, slack: 3}}",
    "best": '{top: {k: 1, by: "v DESC"}, from: r, order: {on: T, group_by: [g], clock: stream}, size: 4, align: true}',
    "best_of_all": '{top: {k: 1, by: "v DESC"}, from: r, order: {on: T, clock: stream}, size: 4, align: true}',
    "pairs": "{join: left.g = right.g, left: r, right: q, size: 3, left_order: {on: T, slack: 2}, "
    "right_order: {on: T, slack: 2}, outer: both}",
    "lately": '{join: left.g = right.g, left: r, right: q, keep: {left: "T + 3", right: "T + 3"}, '
    "left_order: {on: T, clock: stream}, right_order: {on: T, clock: stream}}",
    "asof": "{join: left.g = right.g, left: r, right: q, asof: true, outer: left}",
    "near": '{resample: {v: "max(v)"}, left: q, right: r, size: 2, left_order: {on: T}, '
    "right_order: {on: T, group_by: [g]}}",
    "between": '{resample: {v: "max(v)"}, match: left.g = right.g, left: q, right: r, between: ["T", "T + 3"], '
    "left_order: {on: T, clock: stream}, right_order: {on: T, clock: stream}}",
    "waiting": "{wait: T, from: q, for: r, order: {on: T}}",
    "counted": "{user: tests.engine.test_dating:count_to_three, inputs: {in: r}, key: {in: [g]}, "
    'outputs: {out: "g int, n bigint"}}',
}


def count_to_three(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    """A row at every third tuple of a call's keys, and one at the end of the input."""
    train = inputs["in"]
    known = turn.state.get("n")
    before = 0 if known is None else known["n"][0].as_py()
    turn.state.put("n", pa.record_batch({"n": [before + len(train)]}))
    cause = np.flatnonzero((before + 1 + np.arange(len(train))) % 3 == 0)
    groups = train.rows["g"].take(pa.array(cause))
    if turn.moment.end:
        cause, groups = np.append(cause, len(train)), pa.concat_arrays([groups, pa.nulls(1, groups.type)])
    n = pa.array(np.full(len(cause), 3), pa.int64())
    return {"out": caused(train, pa.record_batch({"g": groups, "n": n}), cause)}


def network(latency_from: str = "cause") -> Network:
    boxes = "\n".join(f"  {name}: {text}" for name, text in BOXES.items())
    outputs = ", ".join(f"{name}: {name}" for name in BOXES)
    inputs = f'{{r: {{schema: "{READINGS}"}}, q: {{schema: "g int, T int"}}}}'
    return from_text(
        f"network: all\nlatency_from: {latency_from}\ninputs: {inputs}\nboxes:\n{boxes}\noutputs: {{{outputs}}}"
    )


ARRIVALS: list[Arrival] = [
    (1, {"g": i % 3, "T": i // 3}) if i % 4 == 3 else (0, {"g": i % 3, "T": i // 3 - i % 2, "v": i % 5})
    for i in range(60)
]


@cache
def ran(cut: int, buckets: int) -> LocalRun:
    return run_network(network(), ARRIVALS, cut, buckets, fuse=buckets == 1)


@pytest.mark.parametrize("name", BOXES)
def test_a_row_is_as_old_as_the_arrival_that_caused_it(name: str) -> None:
    for cut, buckets in ((100, 1), (3, 1), (7, 3)):
        trains = ran(cut, buckets).outputs[name]
        assert sum(map(len, trains))
        for train in trains:
            assert train.arrived.tolist() == find_times(train), (cut, buckets)


def test_the_rows_of_the_end_are_as_old_as_its_batch() -> None:
    last = ran(7, 3).outputs["window"][-1]
    assert set(last.arrived.tolist()) == {ENDED}


@pytest.mark.parametrize(("latency_from", "arrival"), [("cause", 3), ("oldest", 2)])
def test_the_papers_count_is_from_the_oldest_tuple(latency_from: str, arrival: int) -> None:
    net = Network("windows", latency_from=latency_from)
    order = {"on": "T", "clock": "stream"}
    stream = net.input("r", "g int, T int").filter("g = 1", name="ones")
    net.output("o", stream.aggregate({"n": "count(*)"}, order=order, size=10, align=True, name="sums"))
    arrivals: list[Arrival] = [(0, {"g": 1, "T": time}) for time in (1, 5, 7, 12)]
    for cut in (1, 3, 10):
        train = run_network(net, arrivals, cut, 2, ends=False).outputs["o"][-1]
        assert train.rows.to_pylist() == [{"T": 0, "n": 3}]
        assert train.arrived.tolist() == [int(arrived(arrival))]


@pytest.mark.parametrize(("latency_from", "expected"), [("cause", 5000), ("oldest", 1000)])
def test_a_window_that_times_out_counts_from_the_batch_that_saw_it(latency_from: str, expected: int) -> None:
    net = Network("quiet", latency_from=latency_from)
    stream = net.input("r", "g int, T int")
    order = {"on": "T", "group_by": ["g"]}
    net.output("o", stream.aggregate({"n": "count(*)"}, order=order, size=10, timeout="5ms", name="sums"))
    run = LocalRun(plan_network(net))
    rows = pa.RecordBatch.from_pylist([{"g": 1, "T": 1}], plan_network(net).inputs[0][1].arrow())
    run.feed([("r", Train(rows, np.array([1000]), np.array([[1]])))], Moment(100, 0, wall=4000))
    (found,) = run.feed([], Moment(106, 2, wall=5000)).values()
    assert found.arrived.tolist() == [expected]


@pytest.mark.parametrize("kind", ["sums", "best"])
def test_what_a_clock_closes_beside_a_timeout_counts_from_the_first_arrival(kind: str) -> None:
    """The window of group 1 times out in the batch whose first arrival closes that of group 2."""
    net = Network("both")
    stream = net.input("r", "g int, T int")
    windows = {"order": {"on": "T", "group_by": ["g"], "clock": "stream"}, "size": 10, "timeout": "5ms"}
    if kind == "sums":
        found = stream.aggregate({"n": "count(*)"}, name="box", **windows)
    else:
        found = stream.top({"k": 1, "by": "T DESC"}, name="box", **windows)
    net.output("o", found)
    run = LocalRun(plan_network(net))
    schema = plan_network(net).inputs[0][1].arrow()
    batches = ((100, 4000, 1, 1, 3900), (104, 4500, 2, 2, 4400), (106, 5000, 2, 12, 4900))
    for number, (now, wall, g, time, came) in enumerate(batches):
        rows = pa.RecordBatch.from_pylist([{"g": g, "T": time}], schema)
        train = Train(rows, np.array([came]), np.array([[2 * number + 1]]))
        last = run.feed([("r", train)], Moment(now, 2 * number, wall=wall))
    assert last["o"].rows["g"].to_pylist() == [1, 2]
    assert last["o"].arrived.tolist() == [5000, 4900]


def test_what_latency_counts_from_is_in_the_text() -> None:
    net = network("oldest")
    assert from_text(to_text(net)) == net and "latency_from: oldest" in to_text(net)
    assert net != network() and "latency_from" not in to_text(network())
    assert plan_network(net).latency_from == "oldest"
    with pytest.raises(AuroraError, match=r"latency_from is cause .* or oldest .*, found 'first'"):
        network("first")
    with pytest.raises(AuroraError, match="network n: latency_from is cause"):
        Network("n", latency_from="newest")
