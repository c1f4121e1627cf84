"""The driver, on a virtual clock: nothing lost, repeated, reordered or early, and lateness that is told."""

import errno
import re
import socket
import threading
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aurora.cli.commands import app
from aurora.errors import AuroraError
from aurora.linear_road.drive import FolderReceiver, TcpReceiver, drive, receiver_for
from tests.engine.without_spark import files
from tests.linear_road.traffic import crowd

TRAFFIC = crowd(7, cars=40, seconds=200)


class VirtualClock:
    def __init__(self):
        self.time = 1000.0

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


class Recorder:
    """Keeps what is delivered and when; each delivery takes `cost` seconds of a receiver's time."""

    def __init__(self, clock, cost=0.0):
        self.clock, self.cost, self.got = clock, cost, []

    def open(self):
        self.clock.time += 17

    def prepare(self, second, lines):
        self.ready = second, lines

    def deliver(self):
        self.got.append((self.clock.time - 1017, *self.ready))
        self.clock.time += self.cost

    def close(self):
        self.closed = True


def write(folder, traffic=TRAFFIC):
    for xway in (0, 1):
        (folder / f"xway-{xway}.csv").write_text("".join(line + "\n" for line in traffic.lines(xway)))
    return folder


def recorded(data, cost=0.0, **options):
    clock = VirtualClock()
    recorder = Recorder(clock, cost)
    report = drive(data, recorder, clock=clock.now, sleep=clock.sleep, **options)
    assert recorder.closed
    return recorder.got, report


def test_everything_once_in_order_and_on_time(tmp_path):
    got, report = recorded(write(tmp_path))
    sent = b"".join(lines for *_, lines in got).decode().splitlines()
    assert Counter(sent) == Counter(TRAFFIC.lines())
    for xway in (0, 1):
        own = set(TRAFFIC.lines(xway))
        assert [line for line in sent if line in own] == TRAFFIC.lines(xway)
    for at, second, lines in got:
        assert at == pytest.approx(second)
        assert {int(line.split(",")[1]) for line in lines.decode().splitlines()} == {second}
    assert report.tuples == len(sent)
    assert (report.late_p50, report.late_p99, report.late_max) == pytest.approx((0, 0, 0), abs=1e-9)


def test_speed_and_a_later_start(tmp_path):
    got, report = recorded(write(tmp_path), speed=4, start_at=100)
    assert got[0][1] >= 100
    assert all(at == pytest.approx((second - 100) / 4) for at, second, _ in got)
    assert report.tuples == sum(int(line.split(",")[1]) >= 100 for line in TRAFFIC.lines())


def test_a_slow_receiver_gets_everything_late_and_the_report_shows_it(tmp_path):
    got, report = recorded(write(tmp_path), cost=1.5)
    assert b"".join(lines for *_, lines in got).count(b"\n") == len(TRAFFIC.lines()) == report.tuples
    assert report.late_max == pytest.approx(max(at + 1.5 - second for at, second, _ in got))
    assert 0 < report.late_p50 < report.late_p99 <= report.late_max


def test_copies_have_their_own_numbers(tmp_path):
    got, report = recorded(write(tmp_path), replicate=3)
    sent = b"".join(lines for *_, lines in got).decode().splitlines()
    wanted = []
    queries = [int(line.split(",")[9]) for line in TRAFFIC.lines() if line[0] != "0"]
    for copy in range(3):
        for line in TRAFFIC.lines():
            parts = list(map(int, line.split(",")))
            parts[2] += copy * 100
            parts[4] += copy * 2 if parts[4] >= 0 else 0
            parts[9] += copy * 10 ** len(str(max(queries))) if parts[9] >= 0 else 0
            wanted.append(",".join(map(str, parts)))
    assert Counter(sent) == Counter(wanted)
    assert report.tuples == 3 * len(TRAFFIC.lines())


def test_bad_lines_are_delivered_once_as_they_are(tmp_path):
    good = [f"0,{time},5,30,0,1,0,10,53000" + ",-1" * 6 for time in (3, 3, 4)]
    (tmp_path / "in.csv").write_text("\n".join(["junk", good[0], "0,9", good[1], good[2] + "\r", "0,1,2"]))
    got, report = recorded(tmp_path, replicate=2)
    copy = [line.replace(",5,30,0,", ",15,30,1,") for line in good]
    assert got[0][2].decode() == "\n".join(["junk", good[0], "0,9", good[1], copy[0], copy[1], ""])
    assert got[1][2].decode() == "\n".join([good[2] + "\r", "0,1,2", copy[2] + "\r", ""])
    assert report.rejects == 3


def test_a_folder_gets_one_whole_file_a_second(tmp_path):
    write(tmp_path)
    target = tmp_path / "in" / "flow"
    seen = []
    clock = VirtualClock()

    def sleep(seconds):
        seen.append(len(list(target.iterdir())))
        clock.sleep(seconds)

    report = drive(tmp_path, FolderReceiver(target), clock=clock.now, sleep=sleep)
    files = sorted(target.iterdir())
    seconds = sorted({int(line.split(",")[1]) for line in TRAFFIC.lines()})
    assert [file.name for file in files] == [f"second-{second:06d}.csv" for second in seconds]
    assert "".join(file.read_text() for file in files).count("\n") == report.tuples == len(TRAFFIC.lines())
    assert seen == sorted(seen)
    assert [path.name for path in target.parent.iterdir()] == ["flow"]
    with pytest.raises(AuroraError, match="not empty"):
        drive(tmp_path, FolderReceiver(target), clock=clock.now, sleep=clock.sleep)


def test_a_disk_that_fills_is_one_line_and_leaves_whole_files(tmp_path, monkeypatch):
    write(tmp_path)
    target, written = tmp_path / "flow", Path.write_bytes

    def fill(path, content):
        if len(list(target.iterdir())) == 5:
            written(path, content[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(path, content)

    monkeypatch.setattr(Path, "write_bytes", fill)
    clock = VirtualClock()
    with pytest.raises(AuroraError, match="No space left on device"):
        drive(tmp_path, FolderReceiver(target), clock=clock.now, sleep=clock.sleep)
    assert len(list(target.iterdir())) == 5
    assert all(file.read_bytes().endswith(b"\n") for file in target.iterdir())
    assert not list(tmp_path.glob(".flow*"))


@pytest.mark.parametrize("greeting", [b"", b"hello, and something that the driver never reads"])
def test_over_tcp_a_client_gets_every_line(tmp_path, greeting):
    write(tmp_path)
    got, readers = [], []

    def client(port):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(greeting)
            with connection.makefile("r") as stream:
                got.extend(line.rstrip("\n") for line in stream)

    def start(port):
        readers.append(threading.Thread(target=client, args=(port,)))
        readers[0].start()

    receiver = receiver_for("tcp:127.0.0.1:0", start)
    clock = VirtualClock()
    report = drive(tmp_path, receiver, clock=clock.now, sleep=clock.sleep, replicate=2)
    readers[0].join()
    assert len(got) == report.tuples == 2 * len(TRAFFIC.lines())
    times = [int(line.split(",")[1]) for line in got]
    assert times == sorted(times)


def test_a_client_that_goes_away_is_one_line(tmp_path):
    write(tmp_path, crowd(8, cars=400, seconds=400))
    clients = []
    receiver = TcpReceiver(
        "127.0.0.1", 0, lambda port: clients.append(socket.create_connection(("127.0.0.1", port)))
    )
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", receiver.port))
    clock = VirtualClock()

    def sleep(seconds):
        clients[0].close()
        clock.sleep(seconds)

    with pytest.raises(AuroraError, match="the receiver went away in second"):
        drive(tmp_path, receiver, clock=clock.now, sleep=sleep)


@pytest.mark.parametrize(
    "target", ["nowhere", "dir:", "tcp:host", "tcp::7000", "tcp:host:port", "udp:host:1"]
)
def test_a_target_that_is_none(target):
    with pytest.raises(AuroraError, match="dir:PATH or tcp:HOST:PORT"):
        receiver_for(target)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"speed": 0}, "--speed"), ({"replicate": 0}, "--replicate"), ({"start_at": 10**6}, "--start-at")],
)
def test_settings_out_of_range(tmp_path, options, message):
    with pytest.raises(AuroraError, match=message):
        recorded(write(tmp_path), **options)


@pytest.mark.parametrize(
    "words",
    [
        ["drive", "--to", "dir:DATA/in", "--report", "DATA/xway-0.csv"],
        ["validate", "--output", "DATA/output.csv", "--report", "DATA/xway-1.csv"],
        ["validate", "--output", "DATA/output.csv", "--report", "DATA/link.csv"],
    ],
)
def test_a_report_does_not_replace_what_is_read(tmp_path, words):
    write(tmp_path)
    (tmp_path / "output.csv").write_text("0,1\n")
    (tmp_path / "link.csv").symlink_to("output.csv")
    before = files(tmp_path)
    given = [word.replace("DATA", str(tmp_path)) for word in words]
    done = CliRunner().invoke(app, ["linear-road", *given, "--data", str(tmp_path)])
    assert isinstance(done.exception, AuroraError)
    assert re.search(
        r"would go to \S+, which is read: choose another path with --report", str(done.exception)
    )
    assert files(tmp_path) == before
