"""Views that keep the latest row of each key: the table that follows from a log."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema
from aurora.history import latest
from aurora.history.keeping import remove_old
from aurora.history.log import Log
from aurora.history.point_sink import PointSink
from aurora.history.point_source import PointSource
from aurora.network.network import Port
from aurora.network.points import Keep, Point
from tests.algebra.harness import same_bits
from tests.spec.squal import field_key

SCHEMA = Schema.parse("Sid double, Zone string, Pos int")
POINT = Point("now", Port("over", "1"), Keep(latest=True), key=("Sid", "Zone"))

batches = st.lists(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from([0.0, -0.0, 1.0, math.nan, -math.nan]),
            st.sampled_from(["a", "b"]),
            st.integers(0, 99),
        ),
        max_size=6,
    ),
    max_size=8,
)


def rows_of(batch: list[tuple[Any, ...]]) -> pa.RecordBatch:
    rows = [dict(zip(SCHEMA.names, row, strict=True)) for row in batch]
    return pa.RecordBatch.from_pylist(rows, SCHEMA.arrow())


class Written:
    """A log that batches were written to; the arrival of a row is ten times its number."""

    def __init__(self, folder: Path) -> None:
        self.sink = PointSink(str(folder), POINT)
        self.note = self.sink.open(None)
        self.log = Log(str(folder))
        self.passed: list[tuple[Any, ...]] = []

    def add(self, batch: list[tuple[Any, ...]]) -> None:
        if batch:
            arrived = (len(self.passed) + np.arange(len(batch))) * 10
            self.note = self.sink.deliver(0, rows_of(batch), arrived, self.note)
            self.sink.publish(self.note)
            self.passed += batch

    def table(self) -> list[tuple[tuple[Any, ...], int]]:
        """The naive one: the last row of each key, by arrival."""
        last = {(field_key(row[0]), row[1]): number for number, row in enumerate(self.passed)}
        return [(self.passed[number], number * 10) for number in sorted(last.values())]

    def read(self) -> list[tuple[tuple[Any, ...], int]]:
        found = latest.read_latest(self.log, POINT.key, SCHEMA)
        rows = [tuple(row.values()) for row in found.rows.to_pylist()]
        return list(zip(rows, found.arrived.tolist(), strict=True))


@given(batches, st.sets(st.integers(0, 8)))
def test_the_table_has_the_last_row_of_each_key(
    tmp_path_factory: pytest.TempPathFactory, given_batches: list[list[tuple[Any, ...]]], copies: set[int]
) -> None:
    written = Written(tmp_path_factory.mktemp("log"))
    counted = latest.KeyCount(written.log)
    for number, batch in enumerate(given_batches):
        written.add(batch)
        if number in copies:
            latest.write_copy(written.log, POINT, SCHEMA)
        assert same_bits(written.read(), written.table())
        assert latest.KeyCount(written.log).count() == len(written.table())
        if number % 2:
            assert counted.count() == len(written.table())


def test_what_a_copy_holds_need_not_stay_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.history.point_sink.FILE", 1)
    monkeypatch.setattr(latest, "DUE", 2)
    written = Written(tmp_path)
    for number in range(6):
        written.add([(number % 2, "a", number)])
    counted = latest.KeyCount(written.log)
    assert latest.is_due(written.log) and counted.count() == 2
    before = written.log.size()
    upto = latest.write_copy(written.log, POINT, SCHEMA)
    (copied,) = tmp_path.rglob("latest-*")
    copy = sum(path.stat().st_size for path in copied.iterdir())
    assert written.log.size() == before + copy > before, "the copy is on the disk, too"
    assert upto == 6 and not latest.is_due(written.log)
    assert remove_old(written.log, POINT) == 5
    assert written.log.files() == [5] and written.read() == written.table()
    written.add([(7, "b", 1)])
    assert written.read() == written.table()
    # Whoever counts for the first time now finds the rows that are gone in the copy.
    assert latest.KeyCount(written.log).count() == counted.count() == 3


def test_a_reader_begins_with_the_table_and_goes_on_with_what_comes(tmp_path: Path) -> None:
    written = Written(tmp_path / "log")
    written.add([(1, "a", 1), (2, "a", 2), (1, "a", 3)])
    table = str(tmp_path / "table")
    found = latest.read_latest(written.log, POINT.key, SCHEMA)
    assert latest.write_log(table, found, POINT) == 2
    written.add([(2, "a", 4)])
    source = PointSource(str(tmp_path / "log"), found.upto, "query", table)
    end = source.advance(source.begin(), 100)
    assert end == {"row": 3} and source.there() == 3
    middle = source.advance(source.begin(), 1)
    read = [
        piece.read(SCHEMA)
        for start, stop in ((source.begin(), middle), (middle, end))
        for piece in source.pieces(start, stop, 2)
    ]
    assert [row["Pos"] for portion in read for row in portion.rows.to_pylist()] == [2, 3, 4]
    assert np.concatenate([portion.numbers for portion in read]).tolist() == [0, 1, 2]
    assert np.concatenate([portion.arrived for portion in read]).tolist() == [10, 20, 30]
