"""The firehose live: a source of the engine, and a server; on a virtual clock."""

import json
import pickle
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Network, Schema, Source, run
from aurora import Settings as RunSettings
from aurora.cli.main import main
from aurora.errors import AuroraError
from aurora.nexmark.firehose import Firehose, Pace, Settings, events
from aurora.nexmark.firehose.facts import KINDS
from aurora.nexmark.firehose.formats import json_lines
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.serve import Tap, serve, taps_for

DRAFT = Settings("draft", seed=3, bid_streams=3)


class VirtualClock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_everything_at_once_or_by_the_clock() -> None:
    hose = Firehose(Settings(), events=500)
    assert isinstance(hose, Source) and not hose.live
    assert hose.advance(hose.begin(), 300) == {"row": 300}
    assert hose.advance({"row": 300}, 300) == {"row": 500}
    assert hose.finished({"row": 500}) and not hose.finished({"row": 499})

    clock = VirtualClock()
    hose = Firehose(Settings(), pace=Pace.constant(100), clock=clock.now)
    assert hose.live
    place = hose.advance(hose.begin(), 1000)
    assert place == {"row": 1}
    clock.time += 2
    assert hose.advance(place, 1000) == {"row": 201}
    # A slow network loses nothing: it gets what it asks for, and the rest waits.
    assert hose.advance(place, 50) == {"row": 51} and hose.waiting({"row": 51}) == 150
    assert not hose.finished({"row": 10**9})


def test_what_goes_on_elsewhere_goes_on_from_its_place() -> None:
    clock = VirtualClock()
    hose = Firehose(Settings(), pace=Pace.constant(100), clock=clock.now)
    hose.advance(hose.begin(), 1)
    clock.time += 50
    copy: Firehose = pickle.loads(pickle.dumps(Firehose(Settings(), pace=Pace.constant(100))))
    copy._clock = clock.now
    assert copy.advance({"row": 40}, 1000) == {"row": 41}
    clock.time += 1
    assert copy.advance({"row": 41}, 1000) == {"row": 141}


@pytest.mark.parametrize("number", [1, 3, 7])
def test_pieces_are_all_there_is(number: int) -> None:
    hose = Firehose(DRAFT, events=5000)
    schema = Schema.parse(hose.schema)
    portions = [piece.read(schema) for piece in hose.pieces({"row": 1200}, {"row": 4000}, number)]
    assert len(portions) == number
    rows = [row for portion in portions for row in portion.rows.to_pylist()]
    assert rows == events(DRAFT, 1200, 4000).to_pylist()
    assert [n for portion in portions for n in portion.numbers.tolist()] == list(range(1200, 4000))


def test_streams_together_are_everything() -> None:
    names = ("rest", "bid-0", "bid-1", "bid-2")
    schema = Schema.parse(Firehose(DRAFT).schema)
    found: dict[int, Any] = {}
    for name in names:
        hose = Firehose(DRAFT, events=3000, stream=name)
        (piece,) = hose.pieces(hose.begin(), {"row": 3000}, 1)
        portion = piece.read(schema)
        found |= dict(zip(portion.numbers.tolist(), portion.rows.to_pylist(), strict=True))
    assert [found[number] for number in range(3000)] == events(DRAFT, 0, 3000).to_pylist()
    closings = Firehose(DRAFT, events=9000, stream="closed_auction")
    (piece,) = closings.pieces(closings.begin(), {"row": 9000}, 1)
    assert all(row["closed_auction"] for row in piece.read(schema).rows.to_pylist())
    with pytest.raises(AuroraError, match="no stream 'bid-3': there are all, rest, person"):
        Firehose(DRAFT, stream="bid-3")


def test_a_network_drinks_from_it(tmp_path: Path, spark: SparkSession) -> None:
    net = Network("dear bids")
    bids = net.input("events", "bid struct<auction: bigint, price: bigint, channel: string>")
    net.output("dear", bids.filter("bid.price > 5000000", name="dear_bids"))
    settings = RunSettings(master="local[2]", batch=20_000)
    run(net, {"events": Firehose(Settings(seed=9), 50_000)}, {"dear": f"json:{tmp_path / 'dear'}"}, settings)
    lines = bytes(json_lines(facts_of(Settings(seed=9), 0, 50_000))).splitlines()
    made = [json.loads(line).get("bid") for line in lines]
    wanted = [
        {"bid": {name: bid[name] for name in ("auction", "price", "channel")}}
        for bid in made
        if bid and bid["price"] > 5_000_000
    ]
    text = read_all(tmp_path / "dear")
    assert len(wanted) > 5000
    assert [json.loads(line) for line in text.splitlines()] == wanted


def read_all(path: Path) -> str:
    files = sorted(path.rglob("*.json*")) if path.is_dir() else [path]
    return "".join(file.read_text() for file in files)


class Drinker(threading.Thread):
    """A client that reads all there is, or leaves after so many bytes."""

    def __init__(self, port: int, leave_after: int | None = None) -> None:
        super().__init__()
        self.port, self.leave_after, self.text = port, leave_after, bytearray()
        self.start()

    def run(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            while data := connection.recv(1 << 16):
                self.text += data
                if self.leave_after is not None and len(self.text) >= self.leave_after:
                    return


def served(
    settings: Settings,
    number: int | None,
    leave_after: int | None = None,
    cost: float = 0.0,
    paced: bool = True,
) -> tuple[list[bytes], Any, VirtualClock]:
    clock = VirtualClock()
    taps = taps_for("tcp:127.0.0.1:0", settings)
    drinkers: list[Drinker] = []

    def slow(send: Callable[[memoryview], None]) -> Callable[[memoryview], None]:
        def sending(lines: memoryview) -> None:
            send(lines)
            clock.time += cost

        return sending

    for tap in taps:
        tap.send = slow(tap.send)  # type: ignore[method-assign]
    try:
        report = serve(
            settings,
            number,
            taps,
            paced=paced,
            clock=clock.now,
            sleep=clock.sleep,
            ready=lambda: drinkers.extend(Drinker(tap.port, leave_after) for tap in taps),
        )
    finally:
        for drinker in drinkers:
            drinker.join()
    return [bytes(drinker.text) for drinker in drinkers], report, clock


@pytest.mark.parametrize("paced", [True, False])
def test_a_client_gets_every_line(paced: bool) -> None:
    settings = Settings(seed=4, pace=Pace.parse("sine:500..1500:3"))
    (text,), report, clock = served(settings, 12_345, paced=paced)
    assert text == bytes(json_lines(facts_of(settings, 0, 12_345)))
    assert report.events == 12_345 and report.late_max < 0.01
    wanted = settings.pace.moment(12_344) / 1e6 if paced else 0
    assert clock.time - 1000 == pytest.approx(wanted, abs=0.01)
    assert ("lateness" in report.summary()) == paced


def test_nothing_comes_before_its_time() -> None:
    settings = Settings(pace=Pace.parse("steps:1000,100:1"))
    clock, sent = VirtualClock(), []

    class Recorder(Tap):
        def __init__(self) -> None:
            self.stream = "all"

        def connect(self) -> None:
            clock.time += 33

        def send(self, lines: memoryview) -> None:
            sent.append((clock.time - 1033, bytes(lines).count(b"\n")))

        def abort(self) -> None: ...

        def close(self) -> None: ...

    serve(settings, 3000, [Recorder()], clock=clock.now, sleep=clock.sleep)
    before = 0
    for at, count in sent:
        first, last = settings.pace.moment(before) / 1e6, settings.pace.moment(before + count - 1) / 1e6
        assert last <= at + 1e-6 and at <= first + 0.011
        before += count
    assert before == 3000


def test_a_slow_client_gets_everything_late_and_the_report_says_so() -> None:
    settings = Settings(pace=Pace.constant(10_000))
    (text,), report, _ = served(settings, 30_000, cost=2.0)
    assert text == bytes(json_lines(facts_of(settings, 0, 30_000)))
    assert report.late_max > 1 and "too slow for this rate, nothing was lost" in report.summary()


def test_several_bid_streams_have_a_port_each() -> None:
    texts, report, _ = served(DRAFT, 20_000, paced=False)
    assert len(texts) == 4 and report.events == 20_000
    rest, *bids = [[json.loads(line) for line in text.splitlines()] for text in texts]
    assert {kind for event in rest for kind in event} == set(KINDS) - {"bid"}
    assert all(list(event) == ["bid"] for stream in bids for event in stream)
    lines = bytes(json_lines(facts_of(DRAFT, 0, 20_000))).splitlines()
    assert sorted(line for text in texts for line in text.splitlines()) == sorted(lines)


def test_a_client_that_goes_away() -> None:
    with pytest.raises(AuroraError, match=r"the client went away at event .*must read until"):
        served(Settings(), 2_000_000, leave_after=1000, paced=False)
    # Without a number of events that is how it ends.
    (text,), report, _ = served(Settings(), None, leave_after=20_000_000, paced=False)
    assert report.events > 0 and text.startswith(b'{"person": {"id": 1000')


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    drinkers: list[Drinker] = []

    def watched(target: str, settings: Settings) -> list[Tap]:
        taps = taps_for(target, settings)
        drinkers.extend(Drinker(tap.port) for tap in taps)
        return taps

    monkeypatch.setattr("aurora.nexmark.firehose.serve.taps_for", watched)
    options = ["--to", "tcp:127.0.0.1:0", "--events", "5000", "--seed", "8", "--pace", "fast"]
    monkeypatch.setattr(sys, "argv", ["aurora", "nexmark", "serve", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    drinkers[0].join()
    assert drinkers[0].text == bytes(json_lines(facts_of(Settings(seed=8), 0, 5000)))
    printed = capsys.readouterr()
    assert printed.out.startswith("5,000 events in ") and "waiting for a client on port" in printed.err

    monkeypatch.setattr(
        sys, "argv", ["aurora", "nexmark", "serve", "--to", "tcp:127.0.0.1:0", "--pace", "slow"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: there is no pace 'slow': give realtime or fast\n"


@pytest.mark.parametrize("target", ["nowhere", "tcp:host", "tcp::7000", "tcp:host:port", "dir:x"])
def test_a_target_that_is_none(target: str) -> None:
    with pytest.raises(AuroraError, match="give tcp:HOST:PORT"):
        taps_for(target, Settings())


def test_a_port_that_is_taken() -> None:
    (tap,) = taps_for("tcp:127.0.0.1:0", Settings())
    try:
        with pytest.raises(AuroraError, match="cannot listen on"):
            taps_for(f"tcp:127.0.0.1:{tap.port}", Settings())
    finally:
        tap.close()
