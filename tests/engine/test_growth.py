"""When rows arrived that waited in a file, a topic or a table: first seen, noted once, the same for every cut."""

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine.kafka import source as kafka_source
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.piece import KafkaPiece
from aurora.engine.kafka.source import KafkaTopic
from aurora.engine.postgres import source as postgres_source
from aurora.engine.postgres.address import SOURCE_OPTIONS, read_postgres
from aurora.engine.postgres.piece import Place
from aurora.engine.postgres.source import PostgresTable
from aurora.engine.sources import growth as growths
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.growth import MOST, SEEN, Growth, date_rows, watch_growth
from aurora.engine.sources.source import Cursor, Piece, Portion
from tests.engine.test_sources import rows_of

SCHEMA = Schema.parse("a int")


class Clock:
    """In milliseconds; `move` gives what it is then, for looks in one expression."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now

    def move(self, by: int) -> int:
        self.now += by
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    # Who watches beside has a clock of its own.
    for module in (growths, kafka_source):
        monkeypatch.setattr(module, "watch_growth", lambda growth, look: None)
    monkeypatch.setattr("aurora.engine.sources.files.line_files.watch_growth", lambda growth, look: None)
    return Clock()


def test_rows_came_when_they_were_first_seen(clock: Clock) -> None:
    growth = Growth(clock)
    for place in (4, 4, 9):
        growth.see(place)
        clock.move(100)
    start: Cursor = {"row": 10}
    # Four of them were seen at first, and two of five a while later; one was not seen before the batch.
    for number, dates in ((6, [[10, 1000], [14, 1200]]), (9, [[10, 1000], [14, 1200]])):
        end: Cursor = {"row": 10 + number}
        growth.date(start, end, lambda place: place)
        assert end[SEEN] == dates
    end = {"row": 20}
    growth.date(start, end, lambda place: place)
    assert end[SEEN] == [[10, 1000], [14, 1200], [19, 1300]]
    # What is behind it is as old as it is, and no row is older than one before it.
    behind: Cursor = {"row": 25}
    growth.see(16)
    growth.date(end, behind, lambda place: place - 10)
    assert behind[SEEN] == [[20, 1300]]
    assert pickle.loads(pickle.dumps(Growth())).watched is False


def test_looks_close_to_each_other_are_one_and_not_all_are_noted(clock: Clock) -> None:
    growth = Growth(clock)
    for place in range(1, 1001):
        growth.see(place)
        clock.move(10)
    end: Cursor = {"row": 1000}
    growth.date({"row": 0}, end, lambda place: place)
    assert len(end[SEEN]) <= MOST and end[SEEN][0] == [0, 1000]
    assert all(1000 + 10 * row - 200 <= ms <= 1000 + 10 * row + 20 for row, ms in end[SEEN])


def test_a_thread_looks_while_nobody_asks_and_ends_with_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growths, "EVERY", 0.001)
    growth, looked = Growth(), threading.Event()
    faults = iter([OSError("gone"), OSError("gone")])

    def look() -> int:
        for fault in faults:
            raise fault
        looked.set()
        return 7

    # Threads that tests before have left may end meanwhile.
    before = set(threading.enumerate())
    for _ in range(2):
        watch_growth(growth, look)
    (thread,) = (
        each for each in threading.enumerate() if each not in before and each.name == "watch of growth"
    )
    assert looked.wait(60)
    del growth
    thread.join(60)
    assert not thread.is_alive()


def came(pieces: list[Piece]) -> list[int]:
    found: list[Portion] = [piece.read(SCHEMA) for piece in pieces]
    return [int(ms) for portion in found for ms in (portion.arrived if portion.arrived is not None else [-1])]


def test_lines_of_a_followed_file_came_when_it_grew(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n1\n2\n")
    source = LineFiles(str(path), "csv", SCHEMA, follow=True, clock=clock)
    one = source.advance(source.begin(), 100)
    # While a batch is under way.
    for line in ("3\n", "4\n", "5\n6\n"):
        clock.move(500)
        with path.open("a") as file:
            file.write(line)
        source._see(path.stat().st_size)
    clock.move(500)
    two = source.advance(one, 3)
    three = source.advance(two, 100)
    # Another process plans the batch again, and cuts it otherwise.
    again = LineFiles(str(path), "csv", SCHEMA, follow=True, clock=lambda: 9_999_999)
    for number in (1, 2, 5):
        for each in (source, again):
            assert came(each.pieces(source.begin(), one, number)) == [1000, 1000]
            assert came(each.pieces(one, two, number)) == [1500, 2000, 2500]
            assert came(each.pieces(two, three, number)) == [2500]
    assert source.advance(three, 100) == three
    # A file that replaces it is younger.
    clock.move(500)
    path.unlink()
    path.write_text("a\n7\n")
    four = source.advance(three, 100)
    assert rows_of([piece.read(SCHEMA) for piece in source.pieces(three, four, 1)]) == [{"a": 7}]
    assert came(source.pieces(three, four, 1)) == [3500]
    # One that is read to its end is as old as its batch.
    whole = LineFiles(str(path), "csv", SCHEMA, clock=clock)
    assert SEEN not in whole.advance(whole.begin(), 100)


class FakeTopic:
    last_ends: dict[int, int]

    def __init__(self, ends: dict[int, int]) -> None:
        self.there = ends

    def partitions(self, age: float = 0.0) -> list[int]:
        return sorted(self.there)

    def ends(self, partitions: list[int], age: float) -> dict[int, int]:
        self.last_ends = {number: self.there[number] for number in partitions}
        return self.last_ends

    def offsets(self, partitions: list[int], moment: int) -> dict[int, int]:
        return dict.fromkeys(partitions, 0)


def test_records_came_when_their_topic_grew(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = FakeTopic({0: 4, 1: 2})
    monkeypatch.setattr(kafka_source, "topic_of", lambda address: topic)
    monkeypatch.setattr(kafka_source, "Growth", lambda: Growth(clock))
    monkeypatch.setattr(kafka_source, "_growths", {})
    source = KafkaTopic(KafkaAddress("h:1", "t"), SCHEMA, ((0, 0), (1, 0)), None)
    start = source.begin()
    one = source.advance(start, 3)
    clock.move(500)
    topic.there = {0: 7, 1: 5, 2: 1}
    # The rest of the first look, then half of the second, then what was new.
    two = source.advance(one, 6)
    clock.move(500)
    three = source.advance(two, 100)
    assert [place["row"] for place in (one, two, three)] == [3, 9, 13]
    assert (one[SEEN], two[SEEN], three[SEEN]) == (
        [[0, 1000]],
        [[3, 1000], [6, 1500]],
        [[9, 1500], [12, 2000]],
    )
    assert source.advance(three, 100) == three
    monkeypatch.setattr(KafkaPiece, "read", _numbered)
    for number in (1, 2, 4):
        assert came(source.pieces(one, two, number)) == [1000] * 3 + [1500] * 3
    ended = KafkaTopic(source.address, SCHEMA, source.first, ((0, 7), (1, 5)))
    assert SEEN not in ended.advance(start, 3)


def _numbered(piece: KafkaPiece, schema: Schema) -> Portion:
    numbers = [each.row + at for each in piece.ranges for at in range(each.stop - each.start)]
    return Portion(pa.RecordBatch.from_pylist([{"a": 1}] * len(numbers), schema.arrow()), np.array(numbers))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", ["9", "10", "100"]),
        ("numeric", ["9.5", "10", "NaN"]),
        ("timestamp", ["2026-01-31 09:00:00", "2026-01-31 09:00:00.5", "2026-01-31 10:00:00"]),
    ],
)
def test_rows_of_a_table_came_when_a_poll_saw_them(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, kind: str, values: list[str]
) -> None:
    address = read_postgres("source a", "postgres:h:1/db/t?by=id&poll=0s", SOURCE_OPTIONS)
    source = PostgresTable("a", address, SCHEMA, (), 1, Place("t", "id", kind, True), None, None, True)
    monkeypatch.setattr(postgres_source, "repeat", lambda what, address, step, wait: step(None))
    monkeypatch.setattr(postgres_source, "_askings", {})
    bounds = postgres_source._asking_of(source).bounds
    bounds.wall = clock
    newest: list[str] = []
    monkeypatch.setattr(bounds, "_newest", lambda connection: newest[-1] if newest else None)
    monkeypatch.setattr(bounds, "_writing", lambda connection: frozenset())

    def reach(self: PostgresTable, connection: Any, cursor: Cursor, rows: int, last: str | None) -> Cursor:
        """One value at a time, however many there are."""
        left = [] if last is None else values[: values.index(last) + 1]
        done = 0 if cursor["after"] is None else values.index(cursor["after"]) + 1
        return {"row": cursor["row"] + 1, "after": left[done]} if len(left) > done else cursor

    monkeypatch.setattr(PostgresTable, "_reach", reach)
    place, found = source.begin(), []
    for moment in range(4):
        if moment < 2:
            newest.append(values[moment + 1])
        place = source.advance(place, 10)
        found.append(place.get(SEEN))
        clock.move(500)
    # Two were there at the first look, the third at the second; then nothing comes.
    assert found == [[[0, 1000]], [[1, 1000]], [[2, 1500]], [[2, 1500]]]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=30),
    st.lists(st.integers(1, 20), max_size=9),
)
def test_times_rise_and_are_never_those_of_later_looks(
    looks: list[tuple[int, int]], sizes: list[int]
) -> None:
    """Whatever is seen, and however it is taken: no row came before a row ahead of it, or after it was taken."""
    clock, place = Clock(), 0
    growth = Growth(clock)
    for wait, more in looks:
        clock.move(wait)
        place += more
        growth.see(place)
    cursor: Cursor = {"row": 0}
    last = 0
    for size in sizes:
        end: Cursor = {"row": min(cursor["row"] + size, place)}
        if end["row"] == cursor["row"]:
            break
        start = cursor["row"]
        growth.date(cursor, end, lambda seen, start=start: seen - start)
        rows, times = zip(*end[SEEN], strict=True)
        assert rows[0] == start and list(rows) == sorted(rows) and rows[-1] < end["row"]
        assert list(times) == sorted(times) and last <= times[0] and times[-1] <= clock.now
        last, cursor = times[-1], end


def test_pieces_without_noted_times_are_as_old_as_their_batch() -> None:
    pieces: list[Piece] = []
    assert date_rows(pieces, {"row": 1}) is pieces
