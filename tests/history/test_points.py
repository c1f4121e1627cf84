"""The points of a network in its home: their logs, who reads them, and where a query begins."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError, from_text
from aurora.engine.durable import read_whole
from aurora.history import ageing
from aurora.history.home import Home, QueryNote
from aurora.history.keeping import remove_old
from aurora.history.last_status import last_status
from aurora.history.points import Points, find_start
from tests.history.attached import BORDER, border, streams, wait_until

COUNT = 120


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.of(tmp_path / "home")
    home.folder.mkdir()
    return home


def filled(home: Home, sinks: Any = (), size: int = 10) -> tuple[Points, dict[str, Any]]:
    """Points through which all has passed that passes there, in batches of so many rows."""
    points, passed = Points(border(), home, sinks), streams(COUNT)
    for name, sink in points.sinks().items():
        train, note = passed[name.removeprefix("#")], sink.open(None)
        for at in range(0, len(train), size):
            part = train.slice(at, size)
            note = sink.deliver(0, part.rows, part.arrived + 5, note, part.keys[0])
            sink.publish(note)
    points.describe()
    return points, passed


def note(name: str, **starts: tuple[str, int]) -> QueryNote:
    found = {slot: {"point": point, "first": first} for slot, (point, first) in starts.items()}
    return QueryNote(name, "", {}, found)


def readers(home: Home) -> dict[str, int]:
    place = home.folder / "points"
    return {str(path.relative_to(place)): int(read_whole(path)) for path in place.glob("*/readers/*/*")}


def test_a_view_with_a_sink_comes_out_twice(home: Home) -> None:
    assert set(Points(border(), home).sinks()) == {"recent", "near", "timed", "view"}
    points = Points(border(), home, ["crowds", "view"])
    assert set(points.sinks()) == {"recent", "near", "timed", "#view"}
    network = points.with_outputs()
    assert set(network.outputs) == {"crowds", "view", "#view", "recent", "near", "timed"}
    assert network.outputs["#view"].port == network.outputs["view"].port
    assert set(border().outputs) == {"crowds", "view"}, "the network itself is as it was"


def test_without_a_home_nothing_is_kept() -> None:
    points = Points(border(), None)
    assert points.sinks() == {} and points.schemas == {} and points.status() == {}
    assert set(points.with_outputs().outputs) == {"crowds", "view"}


def test_what_is_kept_stays_and_the_rest_goes(home: Home) -> None:
    points, passed = filled(home)
    found = points.status()
    assert {name: status["passed"] for name, status in found.items()} == {
        name: len(passed[name]) for name in ("recent", "near", "timed", "view")
    }
    assert found["recent"]["rows"] == len(passed["recent"]) and found["view"]["view"]
    assert 25 <= found["near"]["rows"] < len(passed["near"]) and found["near"]["bytes"] > 0


def test_a_query_begins_with_what_is_kept_or_asked_for(home: Home, tmp_path: Path) -> None:
    points, passed = filled(home)
    there = points.published()

    def first(name: str, since: Any = None) -> int:
        start = find_start(points, name, "q/0", since, tmp_path / "table", there[name])
        assert start["stop"] == len(passed[name]) and start["mark"] == there[name].mark
        assert readers(home)[f"{name}/readers/q/0"] == start["first"]
        return int(start["first"])

    rows = {name: len(passed[name]) for name in there}
    assert [first("recent", since) for since in (None, "all", "now", "7", 7)] == [
        0, 0, rows["recent"], rows["recent"] - 7, rows["recent"] - 7
    ]  # fmt: skip
    assert [first("near", since) for since in (None, "all", "25", "5")] == [rows["near"] - 25] * 3 + [
        rows["near"] - 5
    ]
    times = passed["timed"].rows["Time"].to_pylist()
    for span in (12, 3):
        expected = next(n for n, time in enumerate(times) if time >= max(times) - span)
        assert first("timed", str(span)) == expected and first("timed", f"{span}s") == expected
    for name, since, told in (
        ("near", "26", "since 26: point near keeps 25; ask for no more than that"),
        ("timed", "13", "since 13: point timed keeps 12; ask for no more than that"),
        ("near", "0", "since 0: '0' is neither a span of time"),
        ("near", "-3", "since -3: "),
        ("recent", "yesterday", "since yesterday: "),
        ("timed", "1.5", "since 1.5: "),
    ):
        with pytest.raises(AuroraError, match=f"^{told}"):
            first(name, since)


def test_readers_come_and_go(home: Home) -> None:
    points, _ = filled(home)
    points.register("near", "two/0", 31)
    both = note("two", a=("near", 30), b=("near", 40), c=("gone", 3))
    points.register_missing([both, note("one", p=("recent", 5))])
    expected = {"near/readers/two/0": 31, "near/readers/two/1": 40, "recent/readers/one/0": 5}
    assert readers(home) == expected
    points.register_missing([both])
    assert readers(home) == expected, "what is known stays"
    points.remove_readers({"one"})
    assert readers(home) == {"recent/readers/one/0": 5}
    points.remove_reader("one")
    points.remove_reader("never there")
    assert readers(home) == {} and not os.listdir(home.point("recent") / "readers")


def test_what_a_query_holds_beyond_what_is_kept_is_told(home: Home) -> None:
    points, passed = filled(home)
    rows = len(passed["near"])
    points.register("near", "slow/0", rows - 40)
    points.register("near", "slow/1", rows - 30)
    points.register("near", "quick/0", rows - 3)
    points.register("near", "#deferred/0", 0)
    points.register("recent", "slow/2", 0)
    found = points.status()
    assert found["near"]["held"] == {"slow": 40 - 25} and found["recent"]["held"] == {}
    points.remove_reader("slow")
    assert points.status()["near"]["held"] == {}


def test_a_view_of_latest_rows_has_as_many_as_keys(home: Home) -> None:
    text = BORDER.replace("view: {from: crowd, keep: all}", "view: {from: over, keep: latest, key: [Sid]}")
    points, passed = Points(from_text(text), home), streams(COUNT)["recent"]
    sink = points.sinks()["view"]
    sink.publish(sink.deliver(0, passed.rows, passed.arrived, sink.open(None)))
    points.describe()
    found = points.status()["view"]
    assert found["passed"] == len(passed) and found["rows"] == len(set(passed.rows["Sid"].to_pylist())) == 4
    home.checkpoint.mkdir()
    assert last_status(home)["points"]["view"]["rows"] == 4


def test_nothing_is_removed_while_a_query_begins(home: Home) -> None:
    points, passed = filled(home, size=10**6)
    sink, train = points.sinks()["near"], passed["near"]
    given = vars(points.published()["near"])
    del given["ended"]
    note = {**given, "ended": False}
    with points.held():
        for at in (0, 10, 20, 30):
            part = train.slice(at, 30)
            note = sink.deliver(0, part.rows, part.arrived, note, part.keys[0])
            sink.publish(note)
        assert len(points.log("near").files()) == 5
    assert remove_old(points.log("near"), points.points["near"]) > 0


def test_the_end_is_told_to_all_points(home: Home) -> None:
    points, _ = filled(home)
    assert not any(published.ended for published in points.published().values())
    points.end()
    assert all(published.ended for published in points.published().values())


def aged(home: Home, keep: str) -> tuple[Points, list[float]]:
    """A point through which a batch came each second, up to 40; and the clock."""
    text = BORDER.replace("near: {from: over.rest, keep: 25}", f"near: {{from: over.rest, {keep}}}")
    now = [0.0]
    points = Points(from_text(text), home, clock=lambda: now[0])
    sink, train = points.sinks()["near"], streams(COUNT)["near"]
    note = sink.open(None)
    for second in range(41):
        now[0] = float(second)
        part = train.slice(second, 1)
        note = sink.deliver(0, part.rows, part.arrived * 0 + 1000 * second, note, part.keys[0])
        sink.publish(note)
    return points, now


def test_what_grows_too_old_goes_while_nothing_comes(home: Home) -> None:
    points, now = aged(home, "keep: 20s")
    assert 15 <= points.log("near").first() <= 20
    now[0] = 50.0
    assert points.log("near").first() <= 20, "nothing looks by itself"
    points.remove_aged()
    assert 25 <= points.log("near").first() <= 30
    points.register("near", "slow/0", 32)
    now[0] = 1000.0
    points.remove_aged()
    assert 30 <= points.log("near").first() <= 32, "a query may ask for it"
    points.remove_reader("slow")
    with points.held():
        points.remove_aged()
        assert points.log("near").first() <= 32, "a query begins"
    points.remove_aged()
    assert len(points.log("near").files()) == 1, "the file that the next tuples go to stays"


def test_what_is_kept_by_a_field_grows_no_older_while_nothing_comes(home: Home) -> None:
    points, now = aged(home, "keep: 6, on: Time")
    before = points.log("near").files()
    now[0] = 1e6
    points.remove_aged()
    assert points.log("near").files() == before and len(before) > 1


def test_a_thread_looks_by_the_clock_until_the_run_closes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ageing, "LEAST", 0.001)
    monkeypatch.setattr(ageing, "MOST", 0.001)
    points, now = aged(home, "keep: 20s")
    points.begin_ageing()
    now[0] = 1000.0
    wait_until(lambda: len(points.log("near").files()) == 1)
    points.settle()
    assert "ageing" not in {thread.name for thread in threading.enumerate()}
    points.settle()


def test_no_thread_looks_where_nothing_grows_old(home: Home) -> None:
    points = Points(border(), home)
    points.begin_ageing()
    assert "ageing" not in {thread.name for thread in threading.enumerate()}
    points.settle()
