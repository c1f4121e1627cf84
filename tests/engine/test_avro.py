"""Records of Avro, written and read again, and as other programs write them."""

import datetime as dt
import io
import json
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine.avro.read import read_records
from aurora.engine.avro.registry import Registry, frame, known_schema
from aurora.engine.avro.schema import parse_schema, schema_of
from aurora.engine.avro.write import write_records
from aurora.engine.kafka.address import SOURCE_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.avro_values import parse_avro
from aurora.errors import AuroraError
from tests.thoroughness import examples

RECORD = {
    "type": "record",
    "name": "trip",
    "fields": [
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "id", "type": "long"},
        {
            "name": "inner",
            "type": {"type": "record", "name": "at", "fields": [{"name": "x", "type": "double"}]},
        },
        {"name": "km", "type": ["null", "double"]},
        {"name": "counts", "type": {"type": "map", "values": ["null", "int"]}},
        {"name": "kind", "type": {"type": "enum", "name": "k", "symbols": ["car", "van"]}},
        {"name": "place", "type": ["null", "at"]},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "name", "type": ["string", "null"]},
        {"name": "paid", "type": "boolean"},
        {"name": "share", "type": "float"},
        {"name": "any", "type": ["null", "int", "double"]},
    ],
}
KIND = parse_schema(json.dumps(RECORD), "here")
WANTED = ["id", "km", "kind", "fare", "name", "paid", "share", "any"]
TRIPS = st.fixed_dictionaries(
    {
        "tags": st.lists(st.text(max_size=5), max_size=3),
        "id": st.integers(-(2**63), 2**63 - 1),
        "inner": st.fixed_dictionaries({"x": st.floats(allow_nan=False)}),
        "km": st.none() | st.floats(allow_nan=False),
        "counts": st.dictionaries(st.text(max_size=3), st.none() | st.integers(-5, 5), max_size=3),
        "kind": st.sampled_from(["car", "van"]),
        "place": st.none() | st.fixed_dictionaries({"x": st.floats(allow_nan=False)}),
        "fare": st.decimals(-(10**9), 10**9, places=2),
        "name": st.none() | st.text(max_size=20),
        "paid": st.booleans(),
        "share": st.floats(width=32, allow_nan=False),
        "any": st.none() | st.integers(-(2**31), 2**31 - 1) | st.floats(allow_nan=False),
    }
)


def encode(rows: list[dict[str, Any]], schema: Any = RECORD) -> list[bytes]:
    found = []
    for row in rows:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), row)
        found.append(buffer.getvalue())
    return found


@settings(max_examples=examples(20, 60), deadline=None)
@given(rows=st.lists(TRIPS, max_size=8))
def test_what_others_write_is_read(rows: list[dict[str, Any]]) -> None:
    columns, bad = read_records(encode(rows), KIND, WANTED)
    assert bad == {}
    for name in WANTED:
        expected = [row[name] for row in rows]
        assert columns[name].to_pylist() == expected, name


@settings(max_examples=examples(20, 60), deadline=None)
@given(
    rows=st.lists(TRIPS, min_size=3, max_size=6),
    cut=st.integers(1, 40),
    junk=st.binary(min_size=1, max_size=60),
)
def test_a_bad_record_costs_itself_alone(rows: list[dict[str, Any]], cut: int, junk: bytes) -> None:
    values = encode(rows)
    short = values[0][: max(len(values[0]) - cut, 0)]
    columns, bad = read_records(
        [short, values[1] + b"\x00", junk, *values[3:], *encode(rows[:1])], KIND, WANTED
    )
    assert {0, 1} <= bad.keys() <= {0, 1, 2}
    assert columns["id"].to_pylist()[3:] == [row["id"] for row in [*rows[3:], rows[0]]]
    assert columns["name"].to_pylist()[3:] == [row["name"] for row in [*rows[3:], rows[0]]]


SCHEMA = Schema.parse(
    "a tinyint, b bigint NOT NULL, c double, d float, e string, f boolean, g date, h timestamp, i int"
)
ROWS = st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-128, 127),
        "b": st.integers(-(2**63), 2**63 - 1),
        "c": st.none() | st.floats(allow_nan=False),
        "d": st.none() | st.floats(width=32, allow_nan=False),
        "e": st.none() | st.text(max_size=30),
        "f": st.none() | st.booleans(),
        "g": st.none() | st.dates(),
        "h": st.none() | st.datetimes(timezones=st.just(dt.UTC)),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
    }
)


@settings(max_examples=examples(20, 60), deadline=None)
@given(rows=st.lists(ROWS, max_size=10), offset=st.integers(0, 3))
def test_what_is_written_others_read(rows: list[dict[str, Any]], offset: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA.arrow()).slice(offset)
    data, ends = write_records(batch, SCHEMA, b"#")
    told = fastavro.parse_schema(schema_of(SCHEMA, "my-topic", "sink s"))
    starts = [0, *ends.tolist()]
    found = []
    for low, high in zip(starts, ends.tolist(), strict=False):
        assert data[low : low + 1] == b"#"
        buffer = io.BytesIO(data[low + 1 : high])
        found.append(fastavro.schemaless_reader(buffer, told, None))
        assert not buffer.read()
    assert found == batch.to_pylist()


def test_values_that_do_not_fit_are_rejected_with_their_offsets() -> None:
    told = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}],
    }
    values: list[bytes | None] = [
        *encode([{"n": n, "s": "x"} for n in (1, 300, 3)], told),
        None,
        b"\x02\x02\xff",
    ]
    address = KafkaAddress("h:1", "t", "avro", avro=json.dumps(told))
    schema = Schema.parse("n tinyint, s string")
    found = parse_avro(values, np.arange(10, 15), address, schema, "t/0", {3: ""})
    assert found.rows.to_pylist() == [{"n": 1, "s": "x"}, {"n": 3, "s": "x"}]
    assert found.numbers.tolist() == [0, 2]
    assert [(bad.line, bad.reason) for bad in found.rejects] == [
        (11, "field n: '300' is not a tinyint"),
        (14, "field s: not UTF-8 text"),
    ]


class FakeRegistry(BaseHTTPRequestHandler):
    schemas: tuple[dict[str, Any], ...] = ()

    def do_GET(self) -> None:
        number = int(self.path.rpartition("/")[2])
        if number < len(self.schemas):
            self.answer(200, {"schema": json.dumps(self.schemas[number])})
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(200, {"id": len(json.loads(told["schema"])["fields"])})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def registry() -> Any:
    old = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}]}
    new = {**old, "fields": [{"name": "s", "type": "string"}, *old["fields"]]}
    FakeRegistry.schemas = (old, new)
    server = HTTPServer(("127.0.0.1", 0), FakeRegistry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    known_schema.cache_clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_records_of_several_schemas_stay_in_order(registry: str) -> None:
    old, new = FakeRegistry.schemas
    values: list[bytes | None] = [
        frame(1) + encode([{"s": "a", "n": 1}], new)[0],
        frame(0) + encode([{"n": 2}], old)[0],
        b"\x07bare",
        frame(1) + encode([{"s": "c", "n": 3}], new)[0],
    ]
    address = KafkaAddress("h:1", "t", "avro", registry=registry)
    found = parse_avro(values, np.arange(4), address, Schema.parse("n int, s string"), "t/0", {})
    assert found.rows.to_pylist() == [{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": "c"}]
    assert found.numbers.tolist() == [0, 1, 3] and [bad.line for bad in found.rejects] == [2]
    assert "no schema number stands before the record" in found.rejects[0].reason


def test_a_schema_is_registered_and_one_that_is_missing_is_told(registry: str) -> None:
    assert Registry(registry).register("t-value", schema_of(SCHEMA, "t", "sink s")) == len(SCHEMA.names)
    with pytest.raises(AuroraError, match=r"schemas/ids/9: 404 .*Schema not found"):
        Registry(registry).schema(9)
    with pytest.raises(AuroraError, match="does not answer"):
        Registry("http://127.0.0.1:9").schema(1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("format=avro", "format=avro needs schema=FILE.avsc, or registry=http://HOST:PORT"),
        ("format=avro&schema=a&registry=http://b", "format=avro needs schema=FILE.avsc, or registry="),
        ("schema=a", "schema is for Avro; add format=avro, or leave it out"),
        ("format=avro&registry=http://me:secret@b:1", "password into AURORA_REGISTRY_AUTH=USER:PASSWORD"),
    ],
)
def test_options_that_do_not_go_together(options: str, told: str) -> None:
    with pytest.raises(AuroraError) as fault:
        read_kafka("source s", f"kafka:h:1/t?{options}", SOURCE_OPTIONS)
    assert told in str(fault.value) and "secret" not in str(fault.value)


def test_what_is_not_written_is_refused_with_what_works() -> None:
    with pytest.raises(
        AuroraError, match=r"field m is decimal\(9,2\), which is not written as Avro; cast it"
    ):
        schema_of(Schema.parse("m decimal(9, 2)"), "t", "sink s")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "x is not an Avro schema"),
        ('"int"', "x: a record is expected, found int"),
        (
            '{"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]}',
            "holds itself",
        ),
    ],
)
def test_bad_schemas(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        parse_schema(text, "x")


def test_wanted_fields_that_are_not_read_are_told() -> None:
    with pytest.raises(AuroraError, match="field tags is of type array in Avro, which is not read"):
        read_records([], KIND, ["tags"])


def test_wide_decimals() -> None:
    told = {
        "type": "record",
        "name": "r",
        "fields": [
            {
                "name": "m",
                "type": {"type": "fixed", "name": "f", "size": 16, "logicalType": "decimal", "precision": 38},
            }
        ],
    }
    values = [Decimal(10**37), Decimal(-(10**37)), Decimal(0), Decimal(-1)]
    columns, bad = read_records(
        encode([{"m": m} for m in values], told), parse_schema(json.dumps(told), "x"), ["m"]
    )
    assert bad == {} and columns["m"].to_pylist() == values
