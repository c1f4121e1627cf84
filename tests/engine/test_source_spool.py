"""Sockets and pipes: what came is kept until it is done with, and a connection that breaks is no end."""

import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Network, Schema, Settings, run
from aurora.engine.binding import Bound
from aurora.engine.sources.address import check_source, open_source, read_table
from aurora.engine.sources.live import arrivals
from aurora.engine.sources.live import spool as module
from aurora.engine.sources.live.receivers import PipeReceiver, TcpReceiver
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.source import Cursor, Portion, Source, forget_before
from aurora.engine.sources.text.lines import Style
from aurora.engine.totals import Totals
from tests.engine.test_sources import drained, rows_of
from tests.engine.without_spark import base, note_spark

SCHEMA = Schema.parse("g int, v int")
RESET = struct.pack("ii", 1, 0)


def reset(connection: socket.socket) -> None:
    """Ends a connection as a crash of its sender would."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


class Sender:
    """Serves one connection after the other; each is given to one of the functions, when it is let go."""

    def __init__(self, *parts: Callable[[socket.socket], None]) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self._parts = parts
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        for part in self._parts:
            connection, _ = self.server.accept()
            with connection:
                part(connection)
        self.server.close()


def sends(text: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(text)


def breaks_after(text: bytes, spool: SpoolWriter) -> Callable[[socket.socket], None]:
    """Resets only once all is received: a reset drops what is still on its way."""

    def part(connection: socket.socket) -> None:
        size = SpooledLines(str(spool.folder), "", Style("lines"), SCHEMA)._text.size()
        connection.sendall(text)
        while SpooledLines(str(spool.folder), "", Style("lines"), SCHEMA)._text.size() < size + len(text):
            pass
        reset(connection)

    return part


def lines(spool: SpoolWriter, kind: str = "lines") -> SpooledLines:
    return SpooledLines(str(spool.folder), "tcp:test", Style(kind), SCHEMA)


def everything(source: Source, rows: int) -> tuple[list[Portion], str | None]:
    """All portions, up to the fault if there is one."""
    portions: list[Portion] = []
    cursor = source.begin()
    try:
        while not source.finished(cursor):
            reached = source.advance(cursor, rows)
            assert reached != cursor
            portions += [piece.read(SCHEMA) for piece in source.pieces(cursor, reached, 2)]
            cursor = reached
    except AuroraError as fault:
        return portions, str(fault)
    return portions, None


def rejects_of(portions: list[Portion]) -> list[tuple[int, str, str]]:
    return [(bad.line, bad.reason, bad.text) for portion in portions for bad in portion.rejects]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_connection_that_breaks_is_a_fault_and_its_half_line_a_reject(tmp_path: Path, rows: int) -> None:
    spool = SpoolWriter(tmp_path / "spool")
    sender = Sender(breaks_after(b"1,10\n2,20\n3,3", spool))
    receiver = TcpReceiver("127.0.0.1", sender.port, spool)
    receiver.connect()
    receiver.join()
    assert receiver.fault is not None and "the connection broke" in receiver.fault
    portions, fault = everything(lines(spool), rows)
    assert [row["v"] for row in rows_of(portions)] == [10, 20]
    assert rejects_of(portions) == [(3, "connection broke in the middle of a line", "3,3")]
    assert fault == receiver.fault and "\n" not in fault


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_connection_is_tried_again(tmp_path: Path, rows: int) -> None:
    spool = SpoolWriter(tmp_path / "spool")
    sender = Sender(breaks_after(b'g,v\n1,10\n2,"2', spool), sends(b"g,v\n4,40\n5,50"))
    receiver = TcpReceiver("127.0.0.1", sender.port, spool, reconnect=30)
    receiver.connect()
    receiver.join()
    portions, fault = everything(lines(spool), rows)
    assert fault is None and receiver.fault is None
    assert [row["v"] for row in rows_of(portions)] == [10, 40, 50]
    assert [(line, text) for line, _, text in rejects_of(portions)] == [(3, '2,"2')]


def test_a_restart_connects_anew_and_keeps_what_came(tmp_path: Path) -> None:
    spool = SpoolWriter(tmp_path / "spool")
    sender = Sender(breaks_after(b"1,10\n2,2", spool), sends(b"3,30\n"))
    receiver = TcpReceiver("127.0.0.1", sender.port, spool)
    receiver.connect()
    receiver.join()
    again = TcpReceiver("127.0.0.1", sender.port, SpoolWriter(tmp_path / "spool"))
    again.connect()
    again.join()
    portions, fault = everything(lines(spool), 100)
    assert fault is None
    assert [row["v"] for row in rows_of(portions)] == [10, 30]
    assert [line for line, _, _ in rejects_of(portions)] == [2]
    # The stream has ended: a third run asks for nothing.
    third = TcpReceiver("127.0.0.1", sender.port, SpoolWriter(tmp_path / "spool"))
    third.connect()
    assert third.ident is None


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    receiver = TcpReceiver("127.0.0.1", port, SpoolWriter(tmp_path / "spool"), patience=0)
    with pytest.raises(AuroraError, match=rf"cannot connect to tcp:127.0.0.1:{port}: Connection refused"):
        receiver.connect()


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="this system sets no times for it")
def test_a_sender_whose_machine_disappears_is_noticed_within_a_minute(tmp_path: Path) -> None:
    waits = threading.Event()
    sender = Sender(lambda connection: waits.wait())
    receiver = TcpReceiver("127.0.0.1", sender.port, SpoolWriter(tmp_path / "spool"))
    receiver.connect()
    connection = receiver._socket
    assert connection is not None and connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    told = [
        connection.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    ]
    assert told[0] + told[1] * told[2] == 60
    waits.set()
    receiver.join()


JSON = b'{"g":1,"v":10}\n{"g":2,"v":20}\n{"g":3,"v":30}\n{"g":4,"v":40}'


@pytest.mark.parametrize("text", [b"1,10\n2,20\n3,30\n4,40", JSON])
def test_the_spool_is_cut_behind_what_is_done(tmp_path: Path, text: bytes) -> None:
    spool = SpoolWriter(tmp_path / "spool", segment=7)
    assert spool.open()
    for at in range(0, len(text), 3):
        spool.append(text[at : at + 3])
    spool.end()
    source = lines(spool)
    assert [row["v"] for row in rows_of(drained(source, SCHEMA, 1))] == [10, 20, 30, 40]
    middle = source.advance(source.begin(), 2)
    before = {path.name for path in spool.folder.iterdir()}
    forget_before(source, middle)
    left = {path.name for path in spool.folder.iterdir()}
    assert left < before
    end = source.advance(middle, 10)
    assert [row["v"] for row in rows_of([piece.read(SCHEMA) for piece in source.pieces(middle, end, 2)])] == [
        30,
        40,
    ]
    with pytest.raises(AuroraError, match="are no longer stored"):
        [piece.read(SCHEMA) for piece in source.pieces(source.begin(), middle, 1)]
    forget_before(source, end)
    assert lines(spool).finished(end)


def test_a_line_that_has_not_ended_is_waited_for(tmp_path: Path) -> None:
    spool = SpoolWriter(tmp_path / "spool")
    spool.open()
    source = lines(spool)
    cursor: Cursor = source.begin()
    spool.append(b"1,1")
    assert source.advance(cursor, 10) == cursor
    spool.append(b"0\n2,")
    reached = source.advance(cursor, 10)
    assert [
        row["v"] for row in rows_of([piece.read(SCHEMA) for piece in source.pieces(cursor, reached, 1)])
    ] == [10]
    assert source.advance(reached, 10) == reached and not source.finished(reached)


@pytest.mark.parametrize("kind", ["lines", "csv", "json"])
def test_a_stream_that_ends_before_anything_came_has_no_rows(tmp_path: Path, kind: str) -> None:
    writer = SpoolWriter(tmp_path / "spool")
    writer.open()
    source = lines(writer, kind)
    start = source.begin()
    assert not source.finished(start) and source.advance(start, 10) == start
    writer.end()
    assert source.advance(start, 10) == start and source.finished(start)
    assert source.pieces(start, start, 2) == []
    assert source._text.read(0, 0) == b""


def test_what_was_read_is_on_the_disk_before_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a cursor has passed: the segments, the times beside them, and, of new files, the names."""
    synced: dict[str, int] = {}
    monkeypatch.setattr(module, "sync_file", lambda path: synced.update({path: os.path.getsize(path)}))
    monkeypatch.setattr(arrivals, "sync_file", lambda path: synced.update({path: os.path.getsize(path)}))
    monkeypatch.setattr(module, "sync_folder", lambda path: synced.update({str(path): len(os.listdir(path))}))
    writer = SpoolWriter(tmp_path / "spool", segment=8)
    writer.open()
    source = lines(writer)
    cursor = source.begin()
    for number in range(1, 7):
        writer.append(b"%d,10\n" % number)
        cursor = source.advance(cursor, 10)
        assert cursor["row"] == number
        assert synced == {
            str(path): len(os.listdir(path)) if path.is_dir() else path.stat().st_size
            for path in (writer.folder, *writer.folder.iterdir())
        }
    synced.clear()
    assert source.advance(cursor, 10) == cursor and synced == {}
    writer.end()
    assert str(writer.folder) in synced


def test_what_was_read_and_is_gone_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def bind() -> Bound:
        return Bound.of(base(), {"r": "tcp:127.0.0.1:9"}, {"far": "csv:far.csv"}, Settings())

    with bind() as bound:
        spool, spark = bound.checkpoint.sources / "r.spool", bound.checkpoint.spark
        writer = SpoolWriter(spool)
        writer.open()
        writer.append(b"1,1,1\n2,2,2\n")
        start = bound.admission.sources["r"].begin()
        place = bound.admission.sources["r"].advance(start, 10)
        for log in ("offsets", "commits"):
            note_spark(spark, log, 0)
        Totals(batch=0, places={"r": place}).store(bound.checkpoint.note)
    bind().release()
    os.truncate(spool / f"{0:020}", 8)
    gone = (
        r"^tcp:127.0.0.1:9: \S+r.spool holds what came up to byte 8, and the run has read up to byte 12: what came "
        r"was lost on the disk; start over with --fresh$"
    )
    with pytest.raises(AuroraError, match=gone):
        bind()
    for use in (
        lambda: bound.admission.sources["r"].advance(place, 10),
        lambda: bound.admission.sources["r"].pieces(start, place, 1),
    ):
        with pytest.raises(AuroraError, match=gone):
            use()


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    check_source("r", f"csv:{path}")
    source, receiver = open_source("r", f"csv:{path}", SCHEMA, False, tmp_path)
    assert isinstance(receiver, PipeReceiver)
    receiver.connect()
    with open(path, "wb") as writer:
        writer.write(b"1,10\n2,20")
    receiver.join()
    portions, fault = everything(source, 100)
    assert fault is None and [row["v"] for row in rows_of(portions)] == [10, 20]


def test_standard_input(tmp_path: Path) -> None:
    low, high = os.pipe()
    kept = os.dup(0)
    os.dup2(low, 0)
    try:
        source, receiver = open_source("r", "csv:-", SCHEMA, False, tmp_path)
        _, second = open_source("s", "csv:/dev/stdin", SCHEMA, False, tmp_path)
        assert receiver is not None and second is not None
        receiver.connect()
        with pytest.raises(AuroraError, match="standard input can be the source of one input only"):
            second.connect()
        os.write(high, b"1,10\n")
        os.close(high)
        receiver.join()
        portions, fault = everything(source, 100)
        assert fault is None and [row["v"] for row in rows_of(portions)] == [10]
    finally:
        os.dup2(kept, 0)
        for file in (kept, low):
            os.close(file)


def test_standard_input_that_is_a_file_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1,10\n")
    kept = os.dup(0)
    with open(path) as file:
        os.dup2(file.fileno(), 0)
    try:
        source, receiver = open_source("r", "csv:-", SCHEMA, False, tmp_path)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert receiver is None
    assert [row["v"] for row in rows_of(drained(source, SCHEMA, 10))] == [10]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("parquet:-", "Parquet cannot come from a pipe"),
        ("tcp:localhost:9?reconnect=soon", "reconnect: 'soon' is no"),
        (
            "tcp:localhost:9?wait=5s",
            "there is no option wait; the options of tcp are decimal, delimiter, encoding, header, null, pattern",
        ),
        ("parquet:x?header=true", "there is no option header; the options of parquet are max_unpacked"),
        ("csv:x?delimiter=ab", "a delimiter is one character, such as ; or tab, found 'ab'"),
        ("csv:x?encodin=latin1", r"there is no option encodin \(did you mean encoding\?\)"),
        ("csv:x?encoding=latn1", r"there is no encoding 'latn1' \(did you mean latin1\?\)"),
        (
            "csv:x?encoding=gbk",
            "text in gbk cannot be split into records; convert it with iconv -f gbk -t utf-8",
        ),
        ("csv:/dev/null?encoding=utf-16", "utf-16 is read from files only"),
        ("csv:x?header=maybe", "header is yes or no, found 'maybe'"),
    ],
)
def test_addresses_that_cannot_be(address: str, message: str) -> None:
    with pytest.raises(AuroraError, match=message):
        check_source("r", address)


def test_a_table_cannot_come_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AuroraError, match="a table cannot come from a socket or a pipe"):
        read_table("zones", f"csv:{tmp_path}/pipe", SCHEMA)


def test_a_run_whose_connection_breaks_ends_with_a_fault_and_open_windows(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    spool = SpoolWriter(checkpoint / "sources" / "lines.spool")
    sender = Sender(breaks_after(b"0,1\n0,2\n0,15\n0,1", spool), sends(b"0,16\n0,99\n"))
    network = Network("socket")
    order = {"on": "v", "group_by": ["g"]}
    stream = network.input("lines", "g int, v int")
    network.output(
        "sums", stream.aggregate({"n": "count(*)"}, order=order, size=10, align=True, name="count")
    )
    settings = Settings(partitions=1, checkpoint=str(checkpoint))
    arguments: Any = (
        network,
        {"lines": f"tcp:127.0.0.1:{sender.port}"},
        {"sums": f"csv:{tmp_path}/out.csv"},
        settings,
    )
    with pytest.raises(AuroraError, match=rf"^tcp:127.0.0.1:{sender.port}: the connection broke: "):
        run(*arguments)
    assert (tmp_path / "out.csv").read_text() == "g,v,n\n0,0,2\n"
    assert "connection broke in the middle of a line" in (tmp_path / "rejects.csv").read_text()
    done = run(*arguments)
    assert done.ended and done.totals.rejected == 1
    assert (tmp_path / "out.csv").read_text() == "g,v,n\n0,0,2\n0,10,2\n0,90,1\n"


def test_lines_that_have_changed_since_their_batch_was_planned_are_a_fault(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool")
    writer.open()
    writer.append(b"1,2\n3,4\n5,6\n")
    source = lines(writer)
    start = source.begin()
    one = source.advance(start, 2)
    two = source.advance(one, 9)
    (path,) = [path for path in writer.folder.iterdir() if path.suffix != ".times"]
    whole = path.read_bytes()
    for place in range(8):
        data = bytearray(whole)
        data[place] ^= 1 << place
        path.write_bytes(data)
        again = lines(writer)
        with pytest.raises(
            AuroraError, match=r"tcp:test: \S+spool is damaged between byte 0 and byte 8 of what came"
        ):
            again.pieces(start, one, 2)
        assert [row["g"] for row in rows_of([piece.read(SCHEMA) for piece in again.pieces(one, two, 2)])] == [
            5
        ]
    path.write_bytes(whole)
    both = source.pieces(start, two, 1)
    assert [row["v"] for row in rows_of([piece.read(SCHEMA) for piece in both])] == [2, 4, 6]
    del one["sum"]
    assert len(source.pieces(start, one, 1)) == 1, "the cursor of an earlier version"
