"""What is told of waits, and when, by a clock of its own; and each of those who wait."""

import os
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from aurora.cli.status_table import show_status
from aurora.engine.kafka import piece as kafka_piece
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.piece import Range, Reader
from aurora.engine.mqtt.address import SOURCE_OPTIONS, read_mqtt
from aurora.engine.mqtt.receiver import MqttReceiver
from aurora.engine.outages import Unreachable
from aurora.engine.postgres.address import SOURCE_OPTIONS as POSTGRES_OPTIONS
from aurora.engine.postgres.address import read_postgres
from aurora.engine.postgres.bound import Bounds
from aurora.engine.postgres.client import repeat
from aurora.engine.postgres.follow import _settled
from aurora.engine.postgres.source import _Asking
from aurora.engine.sources.live.receivers import TcpReceiver
from aurora.engine.spark.master import check_reachable
from aurora.engine.waits import NotesWatch, Waits, waits
from aurora.errors import AuroraError
from aurora.history.home import Home
from tests.engine.still_clock import StillClock, stop_the_clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    return stop_the_clock(monkeypatch)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records]


def test_a_wait_is_told_once_after_five_seconds_and_listed(caplog: pytest.LogCaptureFixture) -> None:
    clock = StillClock()
    own = Waits(clock.now, clock.alarm)
    with own.waiting("the dam is closed", back="the dam is open") as waiting:
        clock.move(4.9)
        assert own.lasting() == [] and messages(caplog) == []
        clock.move(0.1)
        own.change(waiting, "the dam is shut")
        clock.move(60)
        assert [(each.what, each.since) for each in own.lasting()] == [("the dam is shut", 1_000.0)]
    assert own.lasting(0) == []
    assert messages(caplog) == ["the dam is closed; the run waits for it", "the dam is open"]


def test_what_is_short_or_fails_is_not_told_to_be_over(caplog: pytest.LogCaptureFixture) -> None:
    clock = StillClock()
    own = Waits(clock.now, clock.alarm)
    with own.waiting("short", back="over"):
        clock.move(4)
    with pytest.raises(KeyError), own.waiting("in vain", back="over"):
        clock.move(5)
        raise KeyError
    # What began long ago is told at once, and what is usual only the first time.
    own.end(own.begin("old", since=clock.time - 6))
    for _ in range(2):
        with own.waiting("usual", "so be it", once=True):
            clock.move(6)
            assert [each.what for each in own.lasting()] == ["usual"]
    clock.move(60)
    assert messages(caplog) == [
        "in vain; the run waits for it",
        "old; the run waits for it",
        "usual; so be it",
    ]


def test_a_wait_within_another_says_more(caplog: pytest.LogCaptureFixture) -> None:
    clock = StillClock()
    own = Waits(clock.now, clock.alarm)
    with own.waiting("no answer yet", once=True):
        with own.waiting("the dam is closed"):
            clock.move(6)
            assert [each.what for each in own.lasting()] == ["the dam is closed"]
            elsewhere = own.begin("no word", once=True, since=0.0, owner="another")
            assert [each.what for each in own.lasting()] == ["no word", "the dam is closed"]
            own.end(elsewhere)
        assert [each.what for each in own.lasting()] == ["no answer yet"]
    assert messages(caplog) == ["the dam is closed; the run waits for it", "no word; the run waits for it"]


def test_waits_of_workers_come_by_notes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock, folder = StillClock(), str(tmp_path / "scratch")
    worker, driver = Waits(clock.now, clock.alarm), Waits(clock.now, clock.alarm)
    worker.note_in(folder)
    watch = NotesWatch(folder, driver)
    watch.look()
    waiting = worker.begin("no records of t/0 come")
    watch.look()
    assert driver.lasting(0) == []
    clock.move(5)
    # One half written, and one of a worker that was killed.
    (tmp_path / "scratch" / f"wait-{os.getpid()}-half").write_text("{")
    (tmp_path / "scratch" / f"wait-{2**22 + 1}-dead").write_text(
        next(tmp_path.glob("*/wait-*-*")).read_text() or "{}"
    )
    for _ in range(2):
        watch.look()
        assert [(each.what, each.since) for each in driver.lasting()] == [("no records of t/0 come", 1_000.0)]
    worker.change(waiting, "none come")
    watch.look()
    assert [each.what for each in driver.lasting()] == ["none come"]
    worker.end(waiting)
    watch.look()
    assert driver.lasting(0) == []
    assert messages(caplog) == ["no records of t/0 come; the run waits for it"]


def test_a_watch_that_is_stopped_looks_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a look takes that is under way: it would note waits that nobody ends."""
    monkeypatch.setattr("aurora.engine.waits.EVERY", 0.0)
    watch, looking = NotesWatch(str(tmp_path), Waits()), threading.Event()

    def look() -> None:
        looking.set()
        watch._stopped.wait(60)
        threading.Event().wait(0.05)

    monkeypatch.setattr(watch, "look", look)
    watch.start()
    assert looking.wait(60)
    watch.stop()
    assert not watch.is_alive()


def test_waits_of_a_run_that_starts_are_in_its_home(
    clock: StillClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home.of(tmp_path / "home")
    home.open()
    try:
        with waits.noted_in(str(home.waits)):
            with waits.waiting("the dam is closed"):
                assert home.last_status()["waits"] == []
                clock.move(6)
                told = home.last_status()
                assert (told["state"], told["waits"]) == (
                    "starting",
                    [{"for": "the dam is closed", "since": 1_000.0}],
                )
            assert home.last_status()["waits"] == []
        assert not home.waits.exists()
    finally:
        home.release()
    assert messages(caplog) == ["the dam is closed; the run waits for it"]


def test_waits_are_lines_of_the_status(clock: StillClock) -> None:
    found = {"state": "running", "batch": 1, "waits": [{"for": "the [bold] dam", "since": 0.0}]}
    console = Console(width=100, record=True, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(show_status(found))
    console.file.close()
    assert ": the [bold] dam" in console.export_text()


def test_a_topic_whose_broker_is_silent(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kafka_piece, "consumer", lambda address: SimpleNamespace(assign=lambda places: None))
    monkeypatch.setattr(kafka_piece, "SILENCE", 0.0)
    reader = Reader(KafkaAddress("h:1", "t"))
    looks = iter([None, 3])

    def chunk(part: Range, at: int, keep: Any) -> tuple[int, None]:
        clock.move(3)
        return next(looks) or at, None

    monkeypatch.setattr(reader, "_chunk", chunk)
    monkeypatch.setattr(reader, "_check_there", lambda part: True)
    assert list(reader.take(Range(0, 0, 3, 0), lambda found, offsets: None)) == []
    clock.move(60)
    assert messages(caplog) == [] and waits.lasting(0) == []
    looks = iter([None, None, None, 3])
    assert list(reader.take(Range(0, 0, 3, 0), lambda found, offsets: None)) == []
    assert messages(caplog) == ["Kafka at h:1 gives no records of t/0; the run waits for it"]


def test_an_mqtt_broker_that_is_away(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = MqttReceiver(
        "doors", read_mqtt("source doors", "mqtt:h:1/t", SOURCE_OPTIONS), None, "id", False
    )  # type: ignore[arg-type]
    answers = iter([False, False, True])

    def open_it() -> bool:
        clock.move(3)
        if not next(answers):
            raise Unreachable("refused")
        return True

    monkeypatch.setattr("aurora.engine.mqtt.receiver.PAUSE", 0.0)
    monkeypatch.setattr(receiver, "_connection", SimpleNamespace(open=open_it))
    receiver._reconnect("cut")
    assert messages(caplog) == [
        "source doors: MQTT broker h:1 does not answer (refused); the run waits for it",
        "source doors: MQTT broker h:1 answers again; the run continues",
    ]


def test_a_socket_that_nobody_listens_at(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = TcpReceiver("h", 1, None)  # type: ignore[arg-type]
    here, there = socket.socketpair()
    answers = iter([None, None, here])

    def create(address: object, timeout: float) -> socket.socket:
        clock.move(3)
        found = next(answers)
        if found is None:
            raise OSError("refused")
        return found

    monkeypatch.setattr(socket, "create_connection", create)
    monkeypatch.setattr("aurora.engine.sources.live.receivers._keep_alive", lambda connection: None)
    monkeypatch.setattr("aurora.engine.sources.live.receivers.FIRST_WAIT", 0.0)
    assert receiver._connected(30.0) is None
    here.close()
    there.close()
    assert messages(caplog) == ["tcp:h:1 does not answer (refused); the run waits for it, up to 30 s"]


def writing(monkeypatch: pytest.MonkeyPatch, clock: StillClock, times: int) -> Bounds:
    """The bounds of a table to which somebody writes for so many looks, three seconds each."""
    bounds = Bounds(1, "t", "id", clock=clock.now)
    writers = iter([frozenset({"3/1"})] * times)

    def look(connection: Any) -> frozenset[str]:
        clock.move(3)
        return next(writers, frozenset())

    monkeypatch.setattr(bounds, "_newest", lambda connection: "7")
    monkeypatch.setattr(bounds, "_writing", look)
    return bounds


def test_a_table_that_somebody_writes_to(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("aurora.engine.postgres.follow.time.sleep", lambda seconds: None)
    table: Any = SimpleNamespace(name="orders")
    assert _settled("source a", None, writing(monkeypatch, clock, 3), table) == "7"
    assert messages(caplog) == [
        "source a: a transaction that writes to orders has not ended; the run waits for it"
    ]
    asking = _Asking(writing(monkeypatch, clock, 4))
    for _ in range(3):
        asking.bounds.find(None)
        asking.tell("somebody writes to t")
    assert [each.what for each in waits.lasting()] == ["somebody writes to t"]
    for _ in range(2):
        asking.bounds.find(None)
        asking.tell("somebody writes to t")
    assert waits.lasting(0) == []
    assert messages(caplog)[1:] == ["somebody writes to t; the run waits for it with the rows behind it"]


def test_a_table_that_is_locked(clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    address = read_postgres("source a", "postgres:h:1/db/t?by=id", POSTGRES_OPTIONS)
    monkeypatch.setattr("aurora.engine.postgres.client.connect", lambda what, address: None)
    monkeypatch.setattr("aurora.engine.postgres.client._connections", {})
    monkeypatch.setattr("aurora.engine.postgres.client._denied", {})
    seen: list[str] = []

    def step(connection: Any) -> int:
        clock.move(6)
        seen.extend(each.what for each in waits.lasting())
        return 7

    assert repeat("source a", address, step) == 7
    assert seen == ["source a: PostgreSQL at h:1 has not answered yet"]


def test_a_master_that_takes_its_time(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def create(address: object, timeout: float) -> socket.socket:
        clock.move(6)
        raise OSError("no route")

    monkeypatch.setattr(socket, "create_connection", create)
    with pytest.raises(AuroraError, match="no Spark master answers at h:7077: no route; start it"):
        check_reachable("spark://h:7077")
    assert messages(caplog) == ["no Spark master answers at h:7077; the run waits for it"]
