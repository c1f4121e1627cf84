"""The history of a point as a table that joins look rows up in by key."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from aurora import Schema
from aurora.engine.sources.keyed_set import KeyedSet
from aurora.history.point_sink import PointSink
from aurora.history.point_table import PointTable
from aurora.history.segments import ROWS
from aurora.network.network import Port
from aurora.network.points import Keep, Point

SCHEMA = Schema.parse("Sid bigint, Pos bigint")


def write_point(folder: Path, rows: int) -> None:
    numbers = np.arange(rows)
    batch = pa.record_batch([numbers % 100, numbers], schema=SCHEMA.arrow())
    sink = PointSink(str(folder), Point("recent", Port("over", "1"), Keep(), key=("Sid",)))
    sink.publish(sink.deliver(0, batch, numbers, sink.open(None)))


def test_rows_are_fetched_by_key(tmp_path: Path) -> None:
    rows = ROWS + 5000
    write_point(tmp_path, rows)
    table = PointTable(str(tmp_path), ("Sid",), SCHEMA, 250, rows - 30)
    assert isinstance(table, KeyedSet)
    found, places = table.fetch(pa.record_batch({"Sid": pa.array([7, 99, 1000], pa.int32())}))
    numbers = np.arange(250, rows - 30)
    expected = numbers[np.isin(numbers % 100, [7, 99])]
    assert found["Pos"].to_pylist() == expected.tolist() and places.tolist() == (expected - 250).tolist()
    assert table.read()["Pos"].to_pylist() == numbers.tolist() and table.size > 0


def test_only_the_fields_of_the_query_are_read(tmp_path: Path) -> None:
    write_point(tmp_path, 10)
    table = PointTable(str(tmp_path), ("Sid",), Schema.parse("Sid bigint"), 0, 10)
    found, _ = table.fetch(pa.record_batch({"Sid": [3]}))
    assert found.to_pylist() == [{"Sid": 3}]


def test_a_log_that_is_begun_anew_is_looked_at_anew(tmp_path: Path) -> None:
    """Workers of Spark live longer than a query, whose table may be written again in the same place."""
    for start, cut in ((0, 15), (1000, 5)):
        numbers = np.arange(start, start + 20)
        batch = pa.record_batch([numbers % 7, numbers], schema=SCHEMA.arrow())
        sink = PointSink(str(tmp_path), Point("recent", Port("over", "1"), Keep(), key=("Sid",)))
        note = sink.open(None)
        for part in (batch.slice(0, cut), batch.slice(cut)):
            note = sink.deliver(0, part, np.zeros(part.num_rows, np.int64), note)
        sink.publish(note)
        table = PointTable(str(tmp_path), ("Sid",), SCHEMA, 0, 20, note["mark"])
        assert table.read()["Pos"].to_pylist() == numbers.tolist()
