"""Plans: which boxes share a stage, and that neither stages nor buckets nor cuts change what comes out."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Network, from_text
from aurora.algebra.state.state import State
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.buckets import labels
from aurora.engine.plan import Plan, plan_network
from aurora.engine.stage import departures, run_stage
from aurora.network.network import Port

FIELDS = "g int, h int, T int, v bigint"


def stages(text: str, **options: Any) -> list[list[str]]:
    plan = plan_network(from_text(text), **options)
    return [[box.name for box in stage.boxes] for stage in plan.stages]


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


def simulated(plan: Plan, rows: list[dict[str, int]], cut: int, buckets: int) -> dict[str, list[Any]]:
    """A run without Spark: all stages and buckets in memory."""
    schema = plan.schemas[Port("r")].arrow()
    states = {(stage.number, bucket): State() for stage in plan.stages for bucket in range(buckets)}
    outputs: dict[str, list[Any]] = {name: [] for name, _ in plan.outputs}
    starts = [*range(0, len(rows), cut), len(rows)]
    for start in starts:
        moment = Moment(0, start - 1, end=start == starts[-1])
        keys = np.arange(start, min(start + cut, len(rows)), dtype=np.int64)
        train = Train(pa.RecordBatch.from_pylist([rows[i] for i in keys], schema), keys * 0, keys[None])
        waiting: dict[tuple[int, int], dict[Any, list[Train]]] = {}
        given: dict[str, list[Train]] = {}
        for stage in plan.stages:
            for bucket in range(buckets if stage.number else 1):
                arrived = waiting.get((stage.number, bucket), {}) if stage.number else {Port("r"): [train]}
                here, _ = run_stage(
                    plan, stage.number, arrived, states[stage.number, bucket], moment, bucket == 0
                )
                for index, target, part in departures(plan, stage.number, here, buckets):
                    entry = plan.entries[index]
                    part = Train.from_bytes(part.to_bytes())
                    waiting.setdefault((entry.stage, target), {}).setdefault(entry, []).append(part)
                for name, port in plan.outputs:
                    if plan.made_in[port] == stage.number and port in here:
                        given.setdefault(name, []).append(here[port])
        for name, trains in given.items():
            outputs[name] += Train.concat(trains).arranged().rows.to_pylist()
    return outputs


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
@settings(deadline=None, max_examples=150)
def test_random_networks_do_not_depend_on_cuts_buckets_and_fusing(
    text: str, drawn: list[dict[str, int]], cut: int, buckets: int, fuse: bool
) -> None:
    rows = [
        {"g": row["g"], "h": row["h"], "T": i // 2 - row["late"], "v": row["v"]}
        for i, row in enumerate(drawn)
    ]
    network = from_text(text)
    whole = simulated(plan_network(network), rows, max(len(rows), 1), 1)
    assert simulated(plan_network(network, fuse=fuse), rows, cut, buckets) == whole
