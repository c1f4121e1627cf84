"""Inputs are read as far as a network looks at them, and that changes nothing but what is read."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Memory, Network, Schema, Settings, from_text, run
from aurora.engine.plan.projection import project_inputs
from aurora.engine.sources.portion_schema import narrow_rows
from tests.engine.networks import all_boxes

EVENT = (
    "person struct<id: bigint, name: string, at: timestamp>, bid struct<auction: bigint, price: bigint, "
    "at: timestamp, more: struct<x: int, y: int>>, n int"
)


def inputs(boxes: str, outputs: str, schema: str = EVENT) -> str:
    """The schema with which the network would read."""
    text = f'inputs: {{e: {{schema: "{schema}"}}, f: {{schema: "{schema}"}}}}\nboxes: {boxes}\noutputs: {outputs}'
    network = from_text(text)
    smaller = project_inputs(network, list(network.outputs))
    return str(smaller.inputs["e"].schema)


@pytest.mark.parametrize(
    ("boxes", "outputs", "read"),
    [
        ("{}", "{o: e}", EVENT),
        ("{m: {map: {a: bid.auction}, from: e}}", "{o: m}", "bid struct<auction: bigint>"),
        (
            "{p: {filter: ['bid is not null'], from: e}, m: {map: {a: bid.more.y}, from: p}}",
            "{o: m}",
            "bid struct<more: struct<y: int>>",
        ),
        ("{p: {filter: [bid is null], from: e}, m: {map: {n: n}, from: p}}", "{o: m}", "bid struct<>, n int"),
        ("{p: {filter: [n > 1], from: e}}", "{o: p, q: p.rest}", EVENT),
        ("{m: {map: {one: '1'}, from: e}}", "{o: m}", "person struct<>"),
        (
            "{a: {aggregate: {m: max(bid.price)}, from: e, order: {on: n}, size: 3}}",
            "{o: a}",
            "bid struct<price: bigint>, n int",
        ),
        ("{a: {aggregate: {c: count(*)}, from: e, order: {on: '#'}, size: 3}}", "{o: a}", "person struct<>"),
        (
            "{s: {bsort: {}, from: e, order: {on: n}}, m: {map: {x: bid.more}, from: s}}",
            "{o: m}",
            "bid struct<more: struct<x: int, y: int>>, n int",
        ),
        # Streams of two inputs keep one schema.
        ("{u: {union: [e, f]}, m: {map: {n: n}, from: u}}", "{o: m}", EVENT),
        ("{p: {filter: [n > 1], from: e}, u: {union: [p, p.rest]}, m: {map: {n: n}, from: u}}", "{o: m}", "n int"),
        (
            "{j: {join: left.n = right.n, left: e, right: f, size: 1, left_order: {on: n}, right_order: {on: n}}, "
            "m: {map: {a: bid.auction, b: bid_right.price}, from: j}}",
            "{o: m}",
            "bid struct<auction: bigint>, n int",
        ),
        (
            "{j: {join: left.n = right.n, left: f, right: e, size: 1, left_order: {on: n}, right_order: {on: n}}, "
            "m: {map: {a: bid_right.auction}, from: j}}",
            "{o: m}",
            "bid struct<auction: bigint>, n int",
        ),
        (
            "{j: {join: left.n = right.n, left: e, right: f, asof: true, outer: left}, "
            "m: {map: {a: bid.auction, b: bid_right.price}, from: j}}",
            "{o: m}",
            "bid struct<auction: bigint>, n int",
        ),
        ("{j: {join: left.n = right.n, left: e, right: f, asof: true, anti: left}, m: {map: {a: bid.price}, from: j}}",
         "{o: m}", "bid struct<price: bigint>, n int"),
        ("{j: {join: left.n = right.n, left: f, right: e, asof: true, anti: left}}", "{o: j}", "n int"),
        (
            "{j: {join: 'true', left: f, right: e, asof: {left: n, right: n}}, "
            "m: {map: {a: bid_right.price}, from: j}}",
            "{o: m}",
            "bid struct<price: bigint>, n int",
        ),
        (
            "{j: {join: left.n = right.n, left: f, right: e, size: 1, left_order: {on: n}, right_order: {on: n}, "
            "anti: right}, m: {map: {a: bid.auction}, from: j}}",
            "{o: m}",
            "bid struct<auction: bigint>, n int",
        ),
        ("{w: {wait: n, from: e, for: f, order: {on: n}}, m: {map: {b: bid.price}, from: w}}", "{o: m}",
         "bid struct<price: bigint>, n int"),
        ("{w: {wait: n, from: f, for: e, order: {on: n}}, m: {map: {b: bid.price}, from: w}}", "{o: m}", "n int"),
    ],
)  # fmt: skip
def test_what_is_read(boxes: str, outputs: str, read: str) -> None:
    assert inputs(boxes, outputs) == read


def test_every_box_keeps_the_schema_of_its_outputs() -> None:
    network = all_boxes()
    for name in network.outputs:
        smaller = project_inputs(network, [name])
        assert smaller.schema(smaller.outputs[name].port) == network.schema(network.outputs[name].port)


def test_what_a_point_keeps_is_read() -> None:
    network = Network("kept")
    events, past = network.input("e", EVENT), network.input("past", EVENT, point="recent")
    network.stored("people", "csv:people.csv", ["id"], "id bigint, name string")
    for stream in (events, past):
        name = str(stream.port)
        network.output(name, stream.map({"a": "bid.auction"}, name=f"{name}a"))
    network.point("prices", events.map({"p": "bid.price"}, name="cheap"), keep="1h")
    network.output("times", events.map({"t": "bid.at"}, name="late"), keep=10)
    smaller = project_inputs(network, ["e", "past"])
    assert smaller.points == network.points and smaller.outputs == network.outputs
    assert smaller.inputs["people"] == network.inputs["people"]
    assert smaller.inputs["past"].point == "recent"
    assert str(smaller.inputs["past"].schema) == "bid struct<auction: bigint>"
    read = "bid struct<auction: bigint, price: bigint, at: timestamp>"
    assert str(smaller.inputs["e"].schema) == read
    assert str(project_inputs(network, []).inputs["past"].schema) == "person struct<>"
    network.point("whole", events, keep="all")
    assert str(project_inputs(network, []).inputs["e"].schema) == EVENT


def test_what_a_source_reads_too_much_is_dropped() -> None:
    schema = Schema.parse(EVENT)
    rows = pa.RecordBatch.from_pylist(
        [{"bid": {"auction": 1, "more": {"x": 2, "y": 3}}}, {"n": 4}], schema.arrow()
    )
    less = Schema.parse("bid struct<more: struct<y: int>>, n int")
    assert narrow_rows(rows, less).to_pylist() == [
        {"bid": {"more": {"y": 3}}, "n": None},
        {"bid": None, "n": 4},
    ]


LINES = [
    {"bid": {"auction": 1, "price": 10, "at": "2015-07-15 00:00:00.123", "more": {"x": 1, "y": 2}}},
    {"person": {"id": 1, "name": "a", "at": "2015-07-15 00:00:00"}},
    {"bid": {"auction": "one", "price": 11, "at": "2015-07-15 00:00:01.5"}},
    {"bid": {"auction": 3, "price": 12.5, "at": "2015-07-15 00:00:02"}},
    {"bid": {"auction": 4, "price": 13, "at": "yesterday"}, "n": 3},
    {"bid": 7},
]


def prices() -> Network:
    network = Network("prices")
    events = network.input("events", EVENT)
    bids = events.filter("bid IS NOT NULL", name="bids")
    network.output("prices", bids.map({"auction": "bid.auction", "at": "bid.at"}, name="flat"))
    return network


def test_rejects_depend_on_the_fields_that_are_used(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in LINES) + 'null\n{"bid": {"auction": 5}\n')
    done = run(
        prices(), {"events": f"json:{source}"}, {"prices": f"json:{tmp_path}/out.jsonl"}, Settings(batch=4)
    )
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [
        {"auction": 1, "at": "2015-07-15 00:00:00.123"},
        {"auction": 3, "at": "2015-07-15 00:00:02"},
    ]
    rejects = [line.split(",")[2:4] for line in (tmp_path / "rejects.csv").read_text().splitlines()[1:]]
    assert rejects == [
        ["3", "field bid.auction: found a string where a bigint is expected"],
        ["5", "field bid.at: 'yesterday' is not a timestamp"],
        ["6", "field bid: found a number where a struct is expected"],
        ["7", "not a JSON object"],
        ["8", "not valid JSON at character 23"],
    ]
    assert done.totals.rejected == 5


def test_memory_and_parquet_read_less_too(spark: SparkSession, tmp_path: Path) -> None:
    schema = Schema.parse(EVENT)
    rows: list[dict[str, Any]] = [{"bid": {"auction": i, "price": i}, "n": i} for i in range(9)] + [{"n": 9}]
    memory = Memory.of(schema, rows)
    pyarrow.parquet.write_table(
        pa.Table.from_batches([memory.rows]), tmp_path / "in.parquet", row_group_size=4
    )
    wanted = [{"auction": i, "at": None} for i in range(9)]
    for source in (memory, f"parquet:{tmp_path / 'in.parquet'}"):
        found: list[Any] = []
        run(prices(), {"events": source}, {"prices": lambda batch, all=found: all.extend(batch.to_pylist())})
        assert found == wanted


def test_csv_and_structs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CSV line is read whole, also where a network looks at its last column only; it holds no structs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("1,2,3\nx,5,6\n7,8,9\n")
    network = from_text(
        'inputs: {e: {schema: "a int, b int, c int"}}\nboxes: {m: {map: {c: c}, from: e}}\noutputs: {o: m}'
    )
    found: list[Any] = []
    done = run(network, {"e": f"csv:{tmp_path}/in.csv"}, {"o": lambda batch: found.extend(batch.to_pylist())})
    assert found == [{"c": 3}, {"c": 9}] and done.totals.rejected == 1
    assert done.totals.rejects == str(tmp_path / "rejects.csv")
    with pytest.raises(
        AuroraError, match="CSV cannot hold structs, and field person is one; use JSON or Parquet"
    ):
        run(prices(), {"events": f"csv:{tmp_path}/in.csv"}, {"prices": print})


def test_structs_are_written(spark: SparkSession, tmp_path: Path) -> None:
    network = Network("all")
    network.output("all", network.input("events", EVENT))
    event = {
        "bid": {"auction": 1, "price": None, "at": "2015-07-15 00:00:00.12", "more": {"x": 1, "y": None}}
    }
    (tmp_path / "in.jsonl").write_text(json.dumps(event) + "\n")
    sinks = {
        "jsonl": f"json:{tmp_path}/out.jsonl",
        "csv": f"csv:{tmp_path}/out.csv",
        "parquet": f"parquet:{tmp_path}/out",
    }
    for sink in sinks.values():
        run(network, {"events": f"json:{tmp_path}/in.jsonl"}, {"all": sink})
    full = {"person": None, "bid": event["bid"], "n": None}
    assert json.loads((tmp_path / "out.jsonl").read_text()) == full
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "person,bid,n",
        ',"' + json.dumps(event["bid"]).replace('"', '""') + '",',
    ]
    (written,) = pyarrow.parquet.read_table(tmp_path / "out").to_pylist()
    assert written["bid"]["auction"] == 1 and written["person"] is None
