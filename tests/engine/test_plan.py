"""Plans: which boxes share a stage, and that neither stages nor buckets nor cuts change what comes out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import (
    AuroraError,
    Memory,
    Network,
    Schema,
    Settings,
    Train,
    WindowFunction,
    caused,
    from_text,
    run,
)
from aurora.engine.plan.buckets import labels, split
from aurora.engine.plan.plan import plan_network
from aurora.engine.stage import check_sample
from aurora.linear_road.fused.queries import fused_linear_road
from aurora.network.network import Port
from tests.algebra.running import find_times, run_network
from tests.thoroughness import examples

FIELDS = "g int, h int, T int, v bigint"


def stages(text: str, **options: Any) -> list[list[str]]:
    return stages_of(from_text(text), **options)


def stages_of(network: Network, **options: Any) -> list[list[str]]:
    return [[box.name for box in stage.boxes] for stage in plan_network(network, **options).stages]


CHAIN = f"""
inputs: {{r: {{schema: "{FIELDS}"}}}}
boxes:
  pick: {{filter: ["v > 0"], from: r}}
  one: {{aggregate: {{v: "sum(v)"}}, from: pick, order: {{on: T, group_by: [g, h]}}, size: 10}}
  back: {{map: {{g: g, T: T, v: v}}, from: one}}
  two: {{aggregate: {{v: "max(v)"}}, from: back, order: {{on: T, group_by: [g]}}, size: 10}}
  all: {{aggregate: {{v: "max(v)"}}, from: two, order: {{on: T}}, size: 10}}
  tail: {{bsort: {{}}, from: all, order: {{on: v}}}}
outputs: {{out: tail}}
"""


def test_neighbours_with_a_common_key_share_a_stage() -> None:
    assert stages(CHAIN) == [["pick"], ["one", "back", "two"], ["all", "tail"]]


def test_outputs_in_one_place_are_in_order() -> None:
    network = from_text(CHAIN)
    for name, stream in {"picked": "pick", "early": "one", "last": "all"}.items():
        network.output(name, network.stream(stream))
    plan = plan_network(network)
    # Spread by g the trains of a batch interleave; where tuples are read and in one bucket they do not.
    found = {name: plan.in_order(name) for name in network.outputs}
    assert found == {"out": True, "picked": True, "early": False, "last": True}


def test_unfused_each_keyed_box_has_a_stage() -> None:
    assert stages(CHAIN, fuse=False) == [["pick"], ["one", "back"], ["two"], ["all"], ["tail"]]


def test_boxes_that_lead_to_no_wanted_output_are_left_out() -> None:
    network = from_text(CHAIN)
    network.output("early", network.stream("one"))
    assert [[box.name for box in stage.boxes] for stage in plan_network(network, ["early"]).stages] == [
        ["pick"],
        ["one"],
    ]


def test_a_renamed_key_is_followed_and_a_computed_one_is_not() -> None:
    text = f"""
inputs: {{r: {{schema: "{FIELDS}"}}}}
boxes:
  one: {{bsort: {{}}, from: r, order: {{on: T, group_by: [g]}}}}
  same: {{map: {{k: g, T: T}}, from: one}}
  other: {{map: {{k: "g + 1", T: T}}, from: one}}
  a: {{bsort: {{}}, from: same, order: {{on: T, group_by: [k]}}}}
  b: {{bsort: {{}}, from: other, order: {{on: T, group_by: [k]}}}}
outputs: {{a: a, b: b}}
"""
    assert stages(text) == [[], ["one", "same", "other", "a"], ["b"]]


def echo(trains: Any, turn: Any) -> Any:
    return {"out": trains["in"]}


def test_boxes_that_share_a_relation_share_a_stage() -> None:
    network = Network("relations")
    stream = network.input("r", FIELDS)
    whole = stream.bsort({"on": "T"}, name="whole")
    options = {"outputs": {"out": FIELDS}, "key": {"in": ["g"]}, "relations": ["accounts"]}
    network.output("early", network.user(echo, inputs={"in": stream}, name="early", **options))
    network.output("late", network.user(echo, inputs={"in": whole}, name="late", **options))
    plan = plan_network(network)
    assert [[box.name for box in stage.boxes] for stage in plan.stages] == [[], ["whole"], ["early", "late"]]


def shifted(trains: Any, turn: Any) -> Any:
    """Gives each tuple the group of another."""
    train = trains["in"]
    g = pa.array(train.rows["g"].to_numpy() // 2, pa.int32())
    rows = pa.RecordBatch.from_arrays([g, *train.rows.columns[1:]], schema=train.rows.schema)
    return {"out": caused(train, rows, np.arange(len(train)))}


def recomputing(**options: Any) -> Network:
    network = Network("recomputed")
    stream = network.input("r", FIELDS)
    own = network.user(
        shifted, inputs={"in": stream}, outputs={"out": FIELDS}, key={"in": ["g"]}, name="own", **options
    )
    order = {"on": "T", "group_by": ["g"]}
    network.output("counts", own.aggregate({"n": "count(*)"}, order=order, size=1000, name="count"))
    return network


ROWS = [(0, {"g": i % 10, "h": 0, "T": i, "v": 0}) for i in range(40)]


def test_a_user_box_keeps_nothing_unless_it_says_so() -> None:
    network = recomputing()
    assert stages_of(network) == [[], ["own"], ["count"]]
    for buckets in (1, 4):
        found = run_network(network, ROWS, 7, buckets).rows("counts")
        assert sorted((row["g"], row["n"]) for row in found) == [(g, 8) for g in range(5)]


def test_a_declared_key_lets_the_next_box_share_the_stage() -> None:
    assert stages_of(recomputing(keeps=["g"])) == [[], ["own", "count"]]
    assert stages_of(recomputing(keeps={"out": ["g"]})) == [[], ["own", "count"]]


def test_a_key_that_is_declared_and_not_kept_is_found_without_spark() -> None:
    with pytest.raises(AuroraError, match="box own: output out does not keep g"):
        run_network(recomputing(keeps=["g"]), ROWS, 7, 4)


def test_a_key_that_is_declared_and_not_kept_is_found_on_spark(spark: Any) -> None:
    """In every batch some rows are looked at: the answer would depend on the number of buckets."""
    rows = Memory.of(FIELDS, [row for _, row in ROWS])
    with pytest.raises(AuroraError, match=r"^box own: output out does not keep g.*; correct keeps$"):
        run(recomputing(keeps=["g"]), {"r": rows}, settings=Settings(partitions=4))


def test_some_rows_of_a_large_batch_are_looked_at() -> None:
    plan = plan_network(recomputing(keeps=["g"]))
    made, rows = Port("own", "out"), Memory.of(FIELDS, [ROWS[0][1]] * 100_000).rows
    train = Train(rows, np.zeros(100_000, np.int64), np.arange(100_000)[None])
    (bucket,) = (number for number, _ in split(train, ("g",), 4))
    check_sample(plan, 1, {made: train}, bucket, 4)
    with pytest.raises(AuroraError, match="box own: output out does not keep g"):
        check_sample(plan, 1, {made: train}, 3 - bucket, 4)


def test_a_key_has_one_place_whatever_its_name() -> None:
    """Keys meet by position: what is kept of one input's key is kept of the other's."""
    network = Network("two keys")
    stream = network.input("r", FIELDS)
    other = stream.map({"k": "g", "l": "h", "T": "T"}, name="renamed")
    own = network.user(
        echo, inputs={"in": other, "too": stream}, outputs={"out": FIELDS}, keeps=["h"],
        key={"in": ["k", "l"], "too": ["g", "h"]}, name="own",
    )  # fmt: skip
    operator = network.boxes["own"].operator
    assert operator.keeps("out") == ({"l": "h"}, {"h": "h"})
    network.output("sorted", own.bsort({"on": "T", "group_by": ["h"]}, name="sort"))
    assert stages_of(network) == [["renamed"], ["own", "sort"]]


def test_a_stream_that_gets_another_name_beside_a_table_keeps_its_key() -> None:
    text = f"""
inputs: {{r: {{schema: "{FIELDS}"}}, t: {{schema: "g int, name string", static: true}}}}
boxes:
  one: {{bsort: {{}}, from: r, order: {{on: T, group_by: [g]}}}}
  named: {{join: "left.g = right.g", left: t, right: one}}
  two: {{bsort: {{}}, from: named, order: {{on: T, group_by: [g_right]}}}}
  three: {{bsort: {{}}, from: named, order: {{on: T, group_by: [g]}}}}
outputs: {{two: two, three: three}}
"""
    assert stages(text) == [[], ["one", "named", "two"], ["three"]]


def test_the_stages_of_linear_road() -> None:
    """Cars and segments each declare what they keep; without that the accounts would need a stage of their own."""
    road = ["segments", "told", "tolls", "warned", "alerts", "accounts"]
    past = ["past.expenditure", "past.journeys"]
    assert stages_of(fused_linear_road()) == [
        ["kinds", "road.reports", "road.requests", *past],
        ["road.cars"],
        [f"road.{name}" for name in road],
    ]


def test_timeouts_are_known() -> None:
    text = f"""
inputs: {{r: {{schema: "{FIELDS}"}}}}
boxes: {{a: {{aggregate: {{n: "count(*)"}}, from: r, order: {{on: T}}, size: 3TIMEOUT}}}}
outputs: {{o: a}}
"""
    assert not plan_network(from_text(text.replace("TIMEOUT", ""))).has_timeouts
    assert plan_network(from_text(text.replace("TIMEOUT", ", timeout: 5s"))).has_timeouts


def averaging(size: int) -> WindowFunction:
    return WindowFunction(Schema.parse("a int"), dict, lambda state, rows: state, lambda state: {"a": size})


@dataclass(frozen=True)
class Kernel:
    size: int

    def __call__(self, trains: Any, turn: Any) -> Any:
        return {"out": trains["in"]}


FIRST = Kernel(1)


def test_the_fingerprint_covers_all_that_boxes_were_given() -> None:
    def mark(kernel: Any = FIRST, function: Any = "max(v)", size: int = 5, **options: Any) -> str:
        network = Network("marked")
        stream = network.input("r", FIELDS)
        table = network.table("t", "g int, name string")
        kept = network.user(kernel, inputs={"in": stream}, outputs={"out": FIELDS}, name="own", **options)
        functions = {"m": function} if isinstance(function, str) else function
        found = kept.aggregate(functions, order={"on": "T", "group_by": ["g"]}, size=size, name="sums")
        network.output("o", found.join(table, "left.g = right.g", name="named"))
        rows = pa.record_batch({"g": [1], "name": ["one"]}, Schema.parse("g int, name string").arrow())
        return plan_network(network).with_tables({"t": rows}).fingerprint()

    key: dict[str, Any] = {"key": {"in": ["g"]}}
    marks = [
        mark(), mark(Kernel(2)), mark(echo), mark(function="min(v)"), mark(size=6), mark(**key),
        mark(**key, keeps=["g"]), mark(function=averaging(1)), mark(function=averaging(2)), mark(stateless=True),
    ]  # fmt: skip
    assert len(set(marks)) == len(marks)
    assert mark() == mark() and mark(function=averaging(2)) == marks[-2]


def test_the_fingerprint_covers_the_rows_of_tables() -> None:
    network = Network("tables")
    table = network.table("t", "g int, name string")
    network.output("o", network.input("r", FIELDS).join(table, "left.g = right.g", name="named"))
    schema = Schema.parse("g int, name string").arrow()
    plan = plan_network(network)
    one, other = (pa.record_batch({"g": [1, None], "name": ["one", n]}, schema) for n in ("two", None))
    marks = {plan.with_tables({"t": rows}).fingerprint() for rows in (one, other)}
    assert len(marks) == 2 and plan.fingerprint() not in marks
    assert plan.with_tables({"t": pa.concat_batches([one])}).fingerprint() in marks


def test_a_relation_that_two_keys_share_is_a_fault() -> None:
    network = Network("relations")
    stream = network.input("r", FIELDS)
    options = {"inputs": {"in": stream}, "outputs": {"out": FIELDS}, "relations": ["accounts"]}
    network.output("one", network.user(echo, key={"in": ["g"]}, name="one", **options))
    network.output("two", network.user(echo, key={"in": ["g", "h"]}, name="two", **options))
    with pytest.raises(AuroraError, match="relation accounts: its boxes have different keys: one, two"):
        plan_network(network)


@pytest.mark.parametrize("buckets", [1, 2, 8, 30])
def test_labels_send_each_bucket_to_a_partition_of_its_own(spark: Any, buckets: int) -> None:
    from pyspark.sql import functions as f

    frame = spark.createDataFrame([(label,) for label in labels(buckets)], "bucket int")
    partitions = frame.select(f.pmod(f.hash("bucket"), f.lit(buckets)).alias("p")).collect()
    assert [row.p for row in partitions] == list(range(buckets))


KEYS = ["[g]", "[h]", "[g, h]", "[]"]


@st.composite
def texts(draw: Any) -> str:
    """Networks of boxes that all give the same fields, so that any can stand behind any other."""
    boxes: list[str] = []
    streams = ["r"]
    for number in range(draw(st.integers(1, 6))):
        name = f"b{number}"
        source, other = (draw(st.sampled_from([*streams, *streams[-2:]])) for _ in range(2))
        order = f"order: {{on: T, slack: {draw(st.integers(0, 2))}, group_by: {draw(st.sampled_from(KEYS))}}}"
        size, advance = draw(st.integers(1, 5)), draw(st.integers(1, 5))
        kind = draw(
            st.sampled_from(["filter", "map", "union", "bsort", "aggregate", "join", "resample", "wait"])
        )
        again = f"  {name}: {{map: {{g: g, h: h, T: T, v: v}}, from: {name}x}}"
        if kind == "filter":
            boxes.append(f'  {name}: {{filter: ["v > 2"], from: {source}}}')
            streams.append(f"{name}.rest")
        elif kind == "map":
            boxes.append(f'  {name}: {{map: {{g: h, h: g, T: "T + 1", v: "v * 2"}}, from: {source}}}')
        elif kind == "union":
            boxes.append(f"  {name}: {{union: [{source}, {other}]}}")
        elif kind == "bsort":
            boxes.append(f"  {name}: {{bsort: {{}}, from: {source}, {order}}}")
        elif kind == "wait":
            boxes.append(f"  {name}: {{wait: T, from: {source}, for: {other}, {order}}}")
        elif kind == "aggregate":
            grouped = draw(st.sampled_from(["[g]", "[]"]))
            functions = 'g: "last(g)", ' if grouped == "[]" else ""
            text = f'  {name}x: {{aggregate: {{{functions}h: "max(h)", v: "sum(v)"}}, from: {source}, '
            boxes += [
                f"{text}order: {{on: T, group_by: {grouped}}}, size: {size}, advance: {advance}}}",
                again,
            ]
        elif kind == "join":
            orders = f"left_{order}, right_{order}"
            boxes += [f'  {name}x: {{join: "left.g = right.g and left.h = right.h", left: {source}, right: {other}, '
                      f"size: {size}, {orders}}}", again]  # fmt: skip
        else:
            orders = "left_order: {on: T}, right_order: {on: T, slack: 1, group_by: [g]}"
            boxes += [f'  {name}x: {{resample: {{h: "max(h)", v: "sum(v)"}}, left: {source}, right: {other}, '
                      f"size: {size}, {orders}}}", again]  # fmt: skip
        streams.append(name)
    outputs = ", ".join(f"o{i}: {stream}" for i, stream in enumerate(streams[1:]))
    return f'inputs: {{r: {{schema: "{FIELDS}"}}}}\nboxes:\n' + "\n".join(boxes) + f"\noutputs: {{{outputs}}}"


ROW = st.fixed_dictionaries(
    {"g": st.integers(0, 3), "h": st.integers(0, 2), "v": st.integers(0, 5), "late": st.integers(0, 3)}
)


@given(texts(), st.lists(ROW, max_size=25), st.integers(1, 9), st.integers(2, 5), st.booleans())
@settings(deadline=None, max_examples=examples(15, 60))
def test_random_networks_do_not_depend_on_cuts_buckets_and_fusing(
    text: str, drawn: list[dict[str, int]], cut: int, buckets: int, fuse: bool
) -> None:
    rows = [
        {"g": row["g"], "h": row["h"], "T": i // 2 - row["late"], "v": row["v"]}
        for i, row in enumerate(drawn)
    ]
    network = from_text(text)
    arrivals = [(0, row) for row in rows]
    whole = run_network(network, arrivals, max(len(rows), 1))
    found = run_network(network, arrivals, cut, buckets, fuse)
    assert {name: found.rows(name) for name in network.outputs} == {
        name: whole.rows(name) for name in network.outputs
    }
    for train in (train for trains in found.outputs.values() for train in trains):
        assert train.arrived.tolist() == find_times(train), (
            "each row has the time of the arrival that caused it"
        )
