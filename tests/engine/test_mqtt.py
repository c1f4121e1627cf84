"""Topics of a real Mosquitto: what is acknowledged is kept, what is not comes again, and what is wrong is told."""

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import Schema
from aurora.engine import outages
from aurora.engine.durable import read_json
from aurora.engine.mqtt.address import SOURCE_OPTIONS, read_mqtt
from aurora.engine.mqtt.client import Connection, Message
from aurora.engine.mqtt.receiver import MqttReceiver
from aurora.engine.mqtt.sink import MqttSink
from aurora.engine.mqtt.source import MqttTopic
from aurora.engine.mqtt.spool import MessageSpool, MessageWriter
from aurora.engine.sinks.address import open_sink
from aurora.engine.sinks.sink import Interrupted
from aurora.engine.sources.address import check_source, open_source, open_whole, source_path
from aurora.engine.sources.source import Portion
from aurora.engine.waits import waits
from aurora.errors import AuroraError
from tests.engine.mosquitto_broker import CANARY, VARIABLE, Mosquitto, mosquitto_in, until
from tests.engine.still_clock import stop_the_clock

SCHEMA = Schema.parse("id bigint NOT NULL, name string")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto_in(tmp_path_factory.mktemp("mosquitto")) as started:
        yield started


def opened(address: str, folder: Path, schema: Schema = SCHEMA) -> tuple[MqttTopic, MqttReceiver]:
    check_source("rows", address)
    source, receiver = open_source("rows", address, schema, False, folder)
    assert isinstance(source, MqttTopic) and isinstance(receiver, MqttReceiver)
    return source, receiver


def lines(*ids: int) -> list[bytes]:
    return [b'{"id": %d}' % number for number in ids]


def read(source: MqttTopic, number: int = 1) -> list[Portion]:
    end = source.advance(source.begin(), 1 << 20)
    return [piece.read(source.schema) for piece in source.pieces(source.begin(), end, number)]


def numbered(found: list[Portion], field: str = "id") -> list[tuple[int, Any]]:
    return [
        (number, value)
        for part in found
        for number, value in zip(part.numbers.tolist(), part.rows.column(field).to_pylist(), strict=True)
    ]


def kept(source: MqttTopic, rows: int) -> None:
    until(lambda: source.waiting(source.begin()) >= rows)


def test_messages_are_rows_and_bad_ones_are_told_with_their_topics(broker: Mosquitto, tmp_path: Path) -> None:
    source, receiver = opened(broker.address("home/+/heat", "topic=name"), tmp_path)
    receiver.connect()
    broker.send("home/a/heat", [*lines(1), b"{poison", b'{\n "id": 2}'])
    broker.send("home/b/heat", [b"", *lines(3), b'{"id": null}', b'{"id": "x"}', b"\xff\xfe"])
    broker.send("garden/b/heat", lines(4))
    kept(source, 8)
    receiver.stop()
    for number in (1, 3, 8):
        found = read(source, number)
        assert numbered(found) == [(0, 1), (2, 2), (4, 3)]
        assert numbered(found, "name") == [(0, "home/a/heat"), (2, "home/a/heat"), (4, "home/b/heat")]
        rejects = [(bad.file, bad.line, bad.reason) for part in found for bad in part.rejects]
        assert rejects[:3] == [
            ("home/a/heat", 2, "not a JSON object"),
            ("home/b/heat", 4, "the value is empty"),
            ("home/b/heat", 6, "field id is missing"),
        ]
        assert [line for _, line, _ in rejects[3:]] == [7, 8]
    (whole,) = read(source)
    assert whole.arrived is not None and (np.diff(whole.arrived) >= 0).all() and len(whole.arrived) == 3
    assert source.live and not source.finished({"row": 8}) and source.advance({"row": 8}, 5) == {"row": 8}


def test_what_comes_while_nobody_is_there_is_kept_by_the_broker(broker: Mosquitto, tmp_path: Path) -> None:
    address = broker.address("away", "format=csv")
    source, receiver = opened(address, tmp_path)
    receiver.connect()
    broker.send("away", [b'1,"a\nb"'])
    kept(source, 1)
    receiver.stop()
    broker.send("away", [b"2,c", b'3,"open'])
    source, receiver = opened(address, tmp_path)
    receiver.connect()
    kept(source, 3)
    receiver.stop()
    (found,) = read(source)
    assert (
        numbered([found], "name") == [(0, "a\nb"), (1, "c")]
        and found.rejects[0].reason == "quote is not closed"
    )


def test_what_was_not_kept_comes_again(
    broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill: what was received is not on the disk, so it was not acknowledged."""
    source, receiver = opened(broker.address("again"), tmp_path)
    receiver.connect()
    broker.send("again", lines(1))
    kept(source, 1)
    with monkeypatch.context() as patch:
        patch.setattr(MessageWriter, "append", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        broker.send("again", lines(2, 3))
        until(lambda: receiver.fault is not None)
    assert receiver.fault is not None and "cannot be kept in" in receiver.fault
    with pytest.raises(
        AuroraError, match=r"No space left; everything before that has been read; the same command"
    ):
        source.advance({"row": 1}, 10)
    source, receiver = opened(broker.address("again"), tmp_path)
    receiver.connect()
    kept(source, 3)
    receiver.stop()
    assert numbered(read(source)) == [(0, 1), (1, 2), (2, 3)]


def test_a_broker_that_is_away_and_one_that_has_forgotten(
    broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = stop_the_clock(monkeypatch)
    source, receiver = opened(broker.address("restart"), tmp_path)
    acknowledged: list[Message] = []
    acknowledge = receiver._connection.acknowledge

    def acknowledge_and_note(message: Message) -> None:
        acknowledge(message)
        acknowledged.append(message)

    monkeypatch.setattr(receiver._connection, "acknowledge", acknowledge_and_note)
    receiver.connect()
    broker.send("restart", lines(1))
    kept(source, 1)
    until(lambda: bool(acknowledged))
    # When this has an answer, the broker has taken what came to it before; what it has not, it would send again.
    broker.send("elsewhere", lines(1))
    broker.stop()
    until(lambda: any("does not answer" in each.what for each in waits.lasting(0.0)))
    clock.move(6)
    assert "does not answer" in caplog.text
    broker.start()
    until(lambda: "answers again" in caplog.text)
    broker.send("restart", lines(2))
    kept(source, 2)
    receiver.stop()
    assert numbered(read(source)) == [(0, 1), (1, 2)]
    assert len([each for each in caplog.records if each.levelno == logging.WARNING]) == 2
    # Another client of that name ends the session.
    name = read_json(tmp_path / "rows.mqtt" / "session")["id"]
    client = broker.client(name)
    client.connect("127.0.0.1", broker.port, clean_start=True)
    until(lambda: client.loop(0.01) == 0 and client.is_connected())
    client.disconnect()
    source, receiver = opened(broker.address("restart"), tmp_path)
    receiver.connect()
    assert "has forgotten this run: what came while it was away is lost" in caplog.text
    broker.send("restart", lines(3))
    kept(source, 3)
    receiver.stop()


@pytest.mark.parametrize(("options", "sizes"), [("", [100, 100, 50]), ("?qos=0", [250])])
def test_what_is_written_is_acknowledged_before_much_more_is(options: str, sizes: list[int]) -> None:
    """Whatever the broker sends at once: what is written and not acknowledged comes twice after a kill."""
    coming = [(b"t", b"%d" % number, number) for number in range(250)]
    written: list[int] = []
    acknowledged: list[Message] = []
    messages: list[Message] = []

    def append(found: list[Message]) -> None:
        assert len(acknowledged) == sum(written)
        written.append(len(found))

    address = read_mqtt("source rows", f"mqtt:h:1/t{options}", SOURCE_OPTIONS)
    receiver = MqttReceiver("rows", address, SimpleNamespace(append=append), "id", False)  # type: ignore[arg-type]
    receiver._connection = SimpleNamespace(  # type: ignore[assignment]
        messages=messages, turn=lambda wait: messages.extend(coming[:1]) or coming.__delitem__(slice(1)),
        acknowledge=acknowledged.append,
    )  # fmt: skip
    while coming:
        assert receiver._take()
    assert written == sizes and len(acknowledged) == 250


def test_an_idle_source_ends(broker: Mosquitto, tmp_path: Path) -> None:
    source, receiver = opened(broker.address("idle", "idle=50ms", "version=3.1.1"), tmp_path)
    receiver.connect()
    until(lambda: source.finished(source.begin()))
    receiver.stop()
    source, receiver = opened(broker.address("idle", "idle=50ms", "version=3.1.1"), tmp_path)
    receiver.connect()
    assert source.finished(source.begin()) and not receiver.is_alive()


def test_who_is_not_let_in(broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def refused(address: str, match: str) -> None:
        with pytest.raises(AuroraError, match=match) as fault:
            opened(address, tmp_path)[1].connect()
        told.append(str(fault.value))

    refused(f"mqtt:{broker.server}/t", r"refuses: Not authorized; check user=NAME&password=\$VARIABLE$")
    refused(f"mqtt:{broker.server}/t?version=3.1.1", "refuses: Not authorized")
    with pytest.raises(AuroraError, match="does not take messages for closed/x: Not authorized"):
        sink = open_sink("far", broker.address("closed/x"), SCHEMA)
        deliver(sink, rows_of((1, "a")), sink.open(None))
    sink.finish()
    monkeypatch.setenv(VARIABLE, f"{CANARY}1")
    refused(broker.address("t"), "Not authorized")
    monkeypatch.delenv(VARIABLE)
    refused(
        broker.address("t"),
        rf"password is in the variable {VARIABLE}, which is not set; export {VARIABLE} first",
    )
    monkeypatch.setattr(outages, "PATIENCE", 0.0)
    refused(
        "mqtt:127.0.0.1:1/t", r"MQTT broker 127.0.0.1:1 does not answer: .*; start it, or check the address"
    )
    assert CANARY not in " ".join(told) and not any("\n" in each for each in told)


def rows_of(*rows: tuple[int | None, str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": number, "name": name} for number, name in rows], SCHEMA.arrow())


def deliver(sink: Any, rows: pa.RecordBatch, note: Any) -> Any:
    return sink.deliver(0, rows, np.zeros(rows.num_rows, np.int64), note)


@pytest.mark.parametrize("options", [("qos=1",), ("qos=0", "version=3.1.1"), ("qos=2", "format=csv")])
def test_rows_are_messages_of_their_topics(broker: Mosquitto, options: tuple[str, ...]) -> None:
    sink = open_sink("far", broker.address("out/{name}/{id}", *options), SCHEMA)
    assert isinstance(sink, MqttSink)
    with broker.listening("out/#") as found:
        rows = rows_of((1, "a"), (2, "b/#"), (3, None), *((number, "c") for number in range(4, 3000)))
        note = deliver(sink, rows, sink.open(None))
        until(lambda: len(found) == 2997)
    first = b"1,a" if "format=csv" in options else b'{"id": 1, "name": "a"}'
    assert found[0] == ("out/a/1", first) and found[-1][0] == "out/c/2999"
    assert [topic for topic, _ in found[1:]] == [f"out/c/{number}" for number in range(4, 3000)]
    assert [(bad.file, bad.line) for bad in sink.refused()] == [
        ("out/{name}/{id}", 2),
        ("out/{name}/{id}", 3),
    ]
    assert note["rows"] == 2999
    sink.finish()
    with pytest.raises(AuroraError, match=r"the checkpoint is that of a run into mqtt:.*; give that again"):
        open_sink("far", broker.address("other"), SCHEMA).open(note)


def test_a_sink_waits_for_its_broker(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waits, "quiet", 0.5)
    sink = open_sink("far", broker.address("back", "retain=yes"), SCHEMA)
    assert isinstance(sink, MqttSink)
    note = deliver(sink, rows_of((1, "a")), sink.open(None))
    broker.stop()
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(deliver(sink, rows_of((2, "b")), note)))
    waiting.start()
    until(lambda: "does not take rows" in caplog.text)
    broker.start()
    waiting.join()
    assert found[0]["rows"] == 2 and "takes rows again; the run continues" in caplog.text
    with broker.listening("back") as heard:
        until(lambda: heard == [("back", b'{"id": 2, "name": "b"}')])
    broker.stop()
    try:
        sink.interrupt()
        with pytest.raises(Interrupted):
            deliver(sink, rows_of((3, "c")), note)
    finally:
        broker.start()


def test_a_spool_goes_on_behind_what_is_whole(tmp_path: Path) -> None:
    now = [0]
    writer = MessageWriter(tmp_path, segment=10, clock=lambda: now[0])
    assert writer.open()
    for number in range(4):
        now[0] = number
        writer.append([(b"a", b"x" * 6, 1), (b"b", b"%d" % number, None)])
    spool = MessageSpool(str(tmp_path))
    assert spool.count() == 8
    found = spool.read(1, 7)
    assert found.payloads == [b"0", b"x" * 6, b"1", b"x" * 6, b"2", b"x" * 6]
    assert found.topics == [b"b", b"a"] * 3 and found.arrived.tolist() == [0, 1, 1, 2, 2, 3]
    # A kill may leave payloads without an entry, half an entry, and half a topic.
    last = max(path for path in tmp_path.iterdir() if path.name.isdigit())
    for path, torn in ((last, b"torn"), (Path(f"{last}.index"), b"half"), (tmp_path / "topics", b'"to')):
        with path.open("ab") as file:
            file.write(torn)
    assert spool.count() == 8
    again = MessageWriter(tmp_path, segment=10)
    assert again.open()
    again.append([(b"c", b"y", 2)])
    assert spool.read(6, 9).payloads == [b"x" * 6, b"3", b"y"] and spool.read(6, 9).topics == [
        b"a",
        b"b",
        b"c",
    ]
    # Entries whose payloads a power cut has taken do not count.
    again.append([(b"c", b"y" * 9, 2)])
    newest = max(path for path in tmp_path.iterdir() if path.name.isdigit())
    with newest.open("r+b") as file:
        file.truncate(6)
    assert spool.count() == 10 and MessageWriter(tmp_path).open() and spool.count() == 9
    spool.forget(5)
    with pytest.raises(AuroraError, match="messages that a repeated batch needs are no longer stored"):
        spool.read(0, 1)
    again.end()
    assert not again.open() and spool.ended()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mqtt:localhost/t", "needs a host, a port and a topic, for example mqtt:localhost:1883/home/heat"),
        ("mqtt:localhost:1883", "needs a host, a port and a topic"),
        (
            "mqtt:h:1/t?fromat=csv",
            r"there is no option fromat \(did you mean format\?\); the options of mqtt are",
        ),
        ("mqtt:h:1/t?delimiter=;", "delimiter is for CSV; add format=csv, or leave it out"),
        ("mqtt:h:1/t?format=xml", "format is json or csv, found 'xml'"),
        ("mqtt:h:1/t?qos=2", "with qos=2 a message can be lost"),
        ("mqtt:h:1/t?qos=7", "qos is 0, 1 or 2, found '7'"),
        ("mqtt:h:1/t?tls=perhaps", "tls is yes or no, found 'perhaps'"),
        ("mqtt:h:1/home+/x", r"is not a topic: \+ is one whole level"),
        ("mqtt:h:1/home/#/x", "is not a topic"),
        (
            f"mqtt:h:1/t?user=me&password={CANARY}",
            r"others can see a password in an address: put it into a var",
        ),
        (f"mqtt:me:{CANARY}@h:1/t", "an address must not contain a password"),
        (f"mqtt://me:{CANARY}@h:1/t", "an address must not contain a password|needs a host"),
    ],
)
def test_what_is_wrong_with_an_address_is_told(address: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told) as fault:
        check_source("rows", address)
    assert CANARY not in str(fault.value) and "\n" not in str(fault.value)


def test_a_password_that_is_sent_unencrypted_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, CANARY)
    for host, more in (
        ("far.example", ""),
        ("far.example", ""),
        ("far.example", "&tls=yes"),
        ("127.0.0.1", ""),
    ):
        address = f"mqtt:{host}:1/t?user=me&password=${VARIABLE}{more}"
        Connection("source s", read_mqtt("source s", address, SOURCE_OPTIONS))
    told = "MQTT broker far.example:1: user and password are sent unencrypted; add tls=yes, if the broker has a port "
    assert caplog.messages == [f"{told}for it"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mqtt:h:1/a/+", r"a/\+ holds \+ or #, which are for reading"),
        (
            "mqtt:h:1/a/{nam}",
            r"\{nam\} in the topic is not a plain field of the output \(did you mean name\?\)",
        ),
        ("mqtt:h:1/a?session=1d", "there is no option session"),
    ],
)
def test_what_is_wrong_with_a_sink_is_told(address: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        open_sink("far", address, SCHEMA)


def test_fields_that_do_not_fit(tmp_path: Path) -> None:
    for address, schema, told in (
        (
            "mqtt:h:1/t?topic=who",
            SCHEMA,
            "topic=who is not a string field of the input; its fields are id, na",
        ),
        ("mqtt:h:1/t?topic=id", SCHEMA, "topic=id is not a string field of the input"),
        ("mqtt:h:1/t?topic=name", SCHEMA.select(["name"]), "no field of the input is one of the messages"),
        ("mqtt:h:1/t?format=csv", Schema.parse("a struct<b: int>"), "CSV cannot hold structs"),
    ):
        with pytest.raises(AuroraError, match=told):
            open_source("rows", address, schema, False, tmp_path)
    assert source_path("rows", "mqtt:h:1/t") is None
    with pytest.raises(AuroraError, match="a table cannot come from a topic"):
        open_whole("rows", "mqtt:h:1/t", SCHEMA, tmp_path)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(AuroraError, match=r"^mqtt: needs .*; pip install 'aurora-spark\[mqtt\]'$"):
        check_source("rows", "mqtt:h:1/t")


def test_messages_of_csv_with_commas_before_fractions(tmp_path: Path) -> None:
    writer = MessageWriter(tmp_path)
    assert writer.open()
    writer.append([(b"heat", b"1;1,5", 1), (b"heat", b"2;1.5", 2)])
    address = read_mqtt("source rows", "mqtt:h:1/heat?format=csv&delimiter=;&decimal=,", SOURCE_OPTIONS)
    (portion,) = read(MqttTopic(str(tmp_path), address, Schema.parse("id bigint, heat double")))
    assert portion.rows.to_pylist() == [{"id": 1, "heat": 1.5}]
    assert [bad.reason for bad in portion.rejects] == ["field heat: '1.5' is not a double"]


def test_a_bit_of_a_message_that_has_changed_is_seen(tmp_path: Path) -> None:
    writer = MessageWriter(tmp_path)
    assert writer.open()
    writer.append([(b"home/a", b'{"id": 1}', 1), (b"home/b", b'{"id": 2}', 2)])
    writer.append([(b"home/a", b"", 3)])
    spool = MessageSpool(str(tmp_path))
    before = spool.read(0, 3)
    assert before.topics == [b"home/a", b"home/b", b"home/a"] and before.payloads[2] == b""
    for name in ("topics", f"{0:020}", f"{0:020}.index"):
        path = tmp_path / name
        whole = path.read_bytes()
        for place in range(len(whole)):
            data = bytearray(whole)
            data[place] ^= 1 << place % 8
            path.write_bytes(data)
            try:
                found = spool.read(0, 3)
            except AuroraError as fault:
                assert " is damaged: " in str(fault) and str(fault).endswith("start over with --fresh")
            else:
                assert (found.payloads, found.topics) == (before.payloads, before.topics), (name, place)
        path.write_bytes(whole)
    # Of an earlier version.
    entries = np.frombuffer((tmp_path / f"{0:020}.index").read_bytes(), np.int64).reshape(-1, 3).copy()
    entries[:, 2] &= 0xFFFFFFFF
    (tmp_path / f"{0:020}.index").write_bytes(entries.tobytes())
    (tmp_path / "topics").write_bytes(b'"home/a"\n"home/b"\n')
    assert spool.read(0, 3).topics == before.topics
