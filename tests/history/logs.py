"""Logs of connection points for tests: rows that are told apart, sinks that write them, and all that a log holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import Schema
from aurora.history.log import Log
from aurora.history.point_sink import PointSink
from aurora.history.segments import read_segment
from aurora.network.network import Port
from aurora.network.points import Keep, Point

SCHEMA = Schema.parse("n int, t double, g string")
# What a row is: n, t, g, and the millisecond at which it came.
Row = tuple[int, float | None, str | None, int]


def make_point(keep: Keep | None = None, on: str | None = None, key: tuple[str, ...] = ()) -> Point:
    return Point("recent", Port("rows"), keep or Keep(), on, key, {"keep": "all"})


def to_batch(rows: Sequence[Row]) -> tuple[pa.RecordBatch, Any]:
    columns = [pa.array([row[i] for row in rows], kind) for i, (_, kind) in enumerate(SCHEMA.items())]
    batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA.arrow())
    return batch, np.array([row[3] for row in rows], np.int64)


def count(first: int, number: int, at: int = 1000) -> list[Row]:
    """Rows whose n goes on from `first`."""
    return [(n, float(n), f"g{n % 3}", at + n) for n in range(first, first + number)]


def write(sink: PointSink, batches: Sequence[Sequence[Row]], note: Any = None, staged: bool = False) -> Any:
    """Batches as a run would write them; gives the note."""
    note = sink.open(note)
    for number, rows in enumerate(batches):
        if staged:
            half = len(rows) // 2
            parts = [sink.stage(*to_batch(part)) for part in (rows[:half], rows[half:]) if part]
            note = sink.take(number, parts, note)
        else:
            note = sink.deliver(number, *to_batch(rows), note)
        sink.sync()
        sink.publish(note)
    return note


def read_all(folder: Path | str, start: int = 0, stop: int | None = None) -> list[Row]:
    """The rows of a log from `start` to `stop`, as they lie there."""
    log = Log(str(folder))
    published = log.published()
    stop = published.rows if stop is None else stop
    found: list[Row] = []
    for path, segment in log.segments(start, stop, published):
        rows, arrived = read_segment(path, segment)
        part = [
            (n, t, g, came)
            for n, t, g, came in zip(*(c.to_pylist() for c in rows.columns), arrived.tolist(), strict=True)
        ]
        found += part[max(start - segment.row, 0) : stop - segment.row]
    return found
