"""Records of Avro, written and read again, and as other programs write them."""

import base64
import contextlib
import datetime as dt
import io
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine import outages
from aurora.engine.avro.read import read_records
from aurora.engine.avro.registry import Registry, _authorization, frame, known_schema
from aurora.engine.avro.schema import Kind, parse_schema, schema_of
from aurora.engine.avro.write import write_records
from aurora.engine.kafka.address import SOURCE_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.avro_values import parse_avro
from aurora.engine.outages import Unreachable
from aurora.errors import AuroraError
from tests.engine.still_clock import stop_the_clock
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
            told = self.schemas[number]
            self.answer(200, told if "schema" in told else {"schema": json.dumps(told)})
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


def test_a_schema_is_registered_and_a_registry_that_is_away_is_waited_for(
    registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Registry(registry).register("t-value", schema_of(SCHEMA, "t", "sink s")) == len(SCHEMA.names)
    monkeypatch.setattr(outages, "PATIENCE", 0.0)
    with pytest.raises(
        AuroraError, match=r"registry http://127.0.0.1:9 does not answer: .*refused; start it, or"
    ):
        Registry("http://127.0.0.1:9").schema(1)


def test_a_wait_for_a_registry_is_told(
    registry: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = stop_the_clock(monkeypatch)
    monkeypatch.setattr(outages, "PAUSE", 0.0)
    ask, away = Registry._ask_once, iter(range(2))

    def ask_slowly(self: Registry, path: str, given: dict[str, Any] | None) -> dict[str, Any] | None:
        clock.move(3)
        if next(away, None) is not None:
            raise Unreachable("503 starting")
        return ask(self, path, given)

    monkeypatch.setattr(Registry, "_ask_once", ask_slowly)
    assert Registry(registry).schema(0).names == ("n",)
    assert caplog.messages == [
        f"schemas: registry {registry} does not answer (503 starting); the run waits for it, up to 30 s",
        f"schemas: registry {registry} answers; the run starts",
    ]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (None, "the registry has no schema 2"),
        ({"schema": "{}", "schemaType": "JSON"}, "schema 2 of the registry is not one of Avro"),
        ({"schema": "{"}, "schema 2 of the registry is not an Avro schema: "),
        ({"schema": '"int"'}, "schema 2 of the registry: a record is expected, found int"),
        (
            {
                "type": "record",
                "name": "r",
                "fields": [{"name": "n", "type": {"type": "array", "items": "int"}}],
            },
            "field n is of type array in Avro, which is not read; leave it out of the schema",
        ),
    ],
)
def test_a_record_whose_schema_cannot_be_read_is_rejected(
    registry: str, told: dict[str, Any] | None, reason: str
) -> None:
    """Whoever may write to the topic can name any number: that stops no run."""
    old = FakeRegistry.schemas[0]
    if told is not None:
        FakeRegistry.schemas = (*FakeRegistry.schemas, told)
    good = frame(0) + encode([{"n": 2}], old)[0]
    address = KafkaAddress("h:1", "t", "avro", registry=registry)
    values: list[bytes | None] = [frame(2) + b"\x02\x02\x00", good, frame(2)]
    found = parse_avro(values, np.arange(3), address, Schema.parse("n int"), "t/0", {})
    assert found.rows.to_pylist() == [{"n": 2}] and found.numbers.tolist() == [1]
    assert [bad.line for bad in found.rejects] == [0, 2]
    assert all(bad.reason.startswith(reason) for bad in found.rejects)
    # It may come: then it is known.
    FakeRegistry.schemas = (*FakeRegistry.schemas[:2], old)
    known_schema.cache_clear()
    found = parse_avro([frame(2) + b"\x02"], np.arange(1), address, Schema.parse("n int"), "t/0", {})
    assert found.rows.to_pylist() == [{"n": 1}]


class Hostile(BaseHTTPRequestHandler):
    """Answers as it is told to, and keeps what it was asked with."""

    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"")
    heard: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.heard.append(self.headers["Authorization"])
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hostile() -> Iterator[str]:
    Hostile.heard.clear()
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "headers", "body", "told"),
    [
        (
            302,
            {"Location": "http://evil/\x1b[2J"},
            b"",
            r"leads to http://evil/ \[2J, which is not followed; give that",
        ),
        (404, {}, b"<h1>no such page</h1>", "404 <h1>no such page</h1>$"),
        (400, {}, b"\x1b]0;pwned\x07 bad\nline", r"400 \]0;pwned bad line$"),
        (
            401,
            {},
            b"who?",
            "401 who\\?; set AURORA_REGISTRY_AUTH=http://HOST:PORT=USER:PASSWORD, with the registry",
        ),
        (200, {}, b" " * 3_000_000, "the answer is longer than 1,048,576 bytes; check the address"),
        (200, {}, b"[" * 200_000, "the answer is not that of a registry; check the address"),
        (200, {}, b"[1]", "the answer is not that of a registry; check the address"),
    ],
)
def test_a_hostile_registry_is_told_in_one_line(
    hostile: str, status: int, headers: dict[str, str], body: bytes, told: str
) -> None:
    Hostile.answer = (status, headers, body)
    with pytest.raises(AuroraError, match=told) as fault:
        Registry(hostile).schema(1)
    assert str(fault.value).isprintable() and len(str(fault.value)) < 500


def test_the_secret_goes_to_its_registry_alone(
    registry: str, hostile: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Hostile.answer = (302, {"Location": f"{registry}/schemas/ids/0"}, b"")
    monkeypatch.setenv("AURORA_REGISTRY_AUTH", f"{registry}/=me:canary=1")
    assert Registry(registry).schema(0).names == ("n",)
    with pytest.raises(AuroraError):
        Registry(hostile).schema(1)
    assert Hostile.heard == [None]
    monkeypatch.setenv("AURORA_REGISTRY_AUTH", f"{hostile}=me:canary=1")
    with pytest.raises(AuroraError):
        Registry(hostile).schema(1)
    assert Hostile.heard[1:] == [f"Basic {base64.b64encode(b'me:canary=1').decode()}"]
    monkeypatch.setenv("AURORA_REGISTRY_AUTH", "me:canary")
    with pytest.raises(
        AuroraError, match="does not say which registry it is for; set AURORA_REGISTRY_AUTH="
    ) as fault:
        Registry(registry).schema(1)
    assert "canary" not in str(fault.value) and caplog.messages == []
    monkeypatch.setenv("AURORA_REGISTRY_AUTH", "http://far.example=me:canary")
    for address in ("http://far.example:80", "http://far.example:80", "https://far.example"):
        assert bool(_authorization(address)) is address.startswith("http:")
    assert caplog.messages == [
        "registry http://far.example:80: user and password are sent unencrypted; use https, if the registry has it"
    ]


def _array(items: object) -> Kind:
    fields = [{"name": "skipped", "type": {"type": "array", "items": items}}, {"name": "n", "type": "int"}]
    return parse_schema(json.dumps({"type": "record", "name": "r", "fields": fields}), "here")


NOTHING = {"type": "record", "name": "nothing", "fields": [{"name": "a", "type": "null"}]}
PAIR = {
    "type": "record",
    "name": "p",
    "fields": [{"name": "a", "type": "double"}, {"name": "b", "type": "boolean"}],
}


def _number(number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", number)
    return out.getvalue()


@pytest.mark.parametrize("items", ["null", NOTHING, {"type": "fixed", "name": "f", "size": 0}])
def test_any_number_of_items_without_bytes_takes_no_time(items: object) -> None:
    record = _number(2**40) + _number(0) + _number(7)
    columns, bad = read_records([record, b"\x00\x02"], _array(items), ["n"])
    assert columns["n"].to_pylist() == [7, 1] and bad == {}


@pytest.mark.parametrize("items", ["int", "string", "boolean", PAIR, {"type": "map", "values": "null"}])
@pytest.mark.parametrize("number", [2**40, 2**62, 40])
def test_more_items_than_a_record_has_bytes_are_told(items: object, number: int) -> None:
    record = _number(number) + b"\x00" * 20
    columns, bad = read_records([record, b"\x00\x02"], _array(items), ["n"])
    assert columns["n"].to_pylist()[1] == 1 and bad == {0: "the record ends too soon"}


def test_items_of_one_width_are_skipped_at_once() -> None:
    value = {"skipped": [{"a": 1.5, "b": True}] * 50_000, "n": 3}
    schema = {"type": "record", "name": "r", "fields": [
        {"name": "skipped", "type": {"type": "array", "items": PAIR}}, {"name": "n", "type": "int"},
    ]}  # fmt: skip
    columns, bad = read_records(encode([value], schema), _array(PAIR), ["n"])
    assert columns["n"].to_pylist() == [3] and bad == {}


def _doubled(times: int) -> str:
    """Records that hold the one before twice: few letters, and many parts."""
    kind: Any = "int"
    for number in range(times):
        kind = {"type": "record", "name": f"r{number}", "fields": [
            {"name": "a", "type": kind}, {"name": "b", "type": f"r{number - 1}" if number else "int"},
        ]}  # fmt: skip
    return json.dumps(kind)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (_doubled(25), "is not an Avro schema: it has more than 10,000 parts"),
        (
            '{"type":"array","items":' * 60_000 + '"int"' + "}" * 60_000,
            "too many parts are inside one another",
        ),
        (
            '{"type":"array","items":' * 200 + '"int"' + "}" * 200,
            "more than 100 of its parts are inside one another",
        ),
        ('{"type": 5}', "is not an Avro schema"),
        ('{"type": "fixed", "name": "f", "size": 1e999}', "is not an Avro schema"),
        (
            '{"type": "fixed", "name": "f", "size": -1}',
            "a fixed value has 0 to 1,073,741,824 bytes, found -1",
        ),
        (
            '{"type": "bytes", "logicalType": "decimal", "scale": 400}',
            "a decimal has a scale of 0 to 38, found 400",
        ),
    ],
)
def test_a_hostile_schema_is_told(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        parse_schema(text, "here")
    assert parse_schema(_doubled(3), "here").parts == 15


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("format=avro", "format=avro needs schema=FILE.avsc, or registry=http://HOST:PORT"),
        ("format=avro&schema=a&registry=http://b", "format=avro needs schema=FILE.avsc, or registry="),
        ("schema=a", "schema is for Avro; add format=avro, or leave it out"),
        (
            "format=avro&registry=http://me:secret@b:1",
            "into the environment: AURORA_REGISTRY_AUTH=http://HOST:PORT=USER:PASSWORD",
        ),
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
