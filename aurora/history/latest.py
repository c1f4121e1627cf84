"""The latest tuple of each key: a table that follows from a log, with a copy on disk so that the log can be short."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import sync_folder
from aurora.history.log import Log, Published
from aurora.history.point_sink import PointSink
from aurora.history.segments import read_hashes, read_numbers, read_segment
from aurora.network.points import Keep, Point

__all__ = ["KeyCount", "Latest", "copied_upto", "is_due", "read_latest", "write_copy", "write_log"]

COPY = re.compile(r"latest-(\d{20})")
# Rows behind the copy from which on a new one is made, and rows that are looked through together.
DUE, CHUNK = 500_000, 1_000_000


@dataclass(frozen=True)
class Latest:
    """The table as of the row `upto` of its log, by arrival; the time of each, and the number of what caused it."""

    rows: pa.RecordBatch
    arrived: Ints
    numbers: Ints
    upto: int = 0


def read_latest(log: Log, key: tuple[str, ...], schema: Schema, published: Published | None = None) -> Latest:
    """The latest tuple of each key, from the newest copy and what came behind it, as far as it is `published`."""
    published = published or log.published()
    copied, start = _newest(log.folder)
    none = np.empty(0, np.int64)
    found = Latest(pa.RecordBatch.from_pylist([], schema.arrow()), none, none)
    if copied is not None:
        own = Log(copied)
        for part in _chunks(own, 0, own.published(), schema):
            found = _merged(found, part, ())
    for part in _chunks(log, start, published, schema):
        found = _merged(found, part, key)
    return replace(found, upto=published.rows)


class KeyCount:
    """How many rows the table of a log has, one for each key. What was counted once is not read again."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._hashes = np.empty(0, np.uint64)
        self._upto = 0
        self._counting = threading.Lock()

    def count(self) -> int:
        # A copy may be replaced while it is read: then the next look counts what is new.
        with self._counting, suppress(FileNotFoundError):
            copied, start = _newest(self._log.folder)
            if copied is not None and start > self._upto:
                self._add(Log(copied), 0, Published.read(copied))
                self._upto = start
            published = self._log.published()
            self._add(self._log, self._upto, published)
            self._upto = published.rows
        return len(self._hashes)

    def _add(self, log: Log, start: int, published: Published) -> None:
        for path, segment in log.segments(start, published.rows, published):
            found = np.unique(read_hashes(path, segment))
            at = np.searchsorted(self._hashes, found)
            new = (
                found
                if not len(self._hashes)
                else found[self._hashes[at.clip(max=len(self._hashes) - 1)] != found]
            )
            if len(new):
                self._hashes = np.union1d(self._hashes, new)


def is_due(log: Log) -> bool:
    """Whether so much came behind the newest copy that another one is worth its while."""
    copied, start = _newest(log.folder)
    size = Published.read(copied).rows if copied is not None else 0
    return log.published().rows - start > max(DUE, 2 * size)


def write_copy(log: Log, point: Point, schema: Schema) -> int:
    """Copies the table beside the log and forgets older copies; gives the row before which the log is not needed."""
    before, _ = _newest(log.folder)
    for left in Path(log.folder).glob("latest-*.partial"):
        _remove(str(left))
    found = read_latest(log, point.key, schema)
    name = os.path.join(log.folder, f"latest-{found.upto:020}")
    write_log(f"{name}.partial", found, point)
    if not os.path.exists(name):
        os.rename(f"{name}.partial", name)
        # The rows of the log may go now.
        sync_folder(log.folder)
    if before is not None and before != name:
        _remove(before)
    return int(found.upto)


def write_log(folder: str, found: Latest, point: Point) -> int:
    """A table as a log of its own, which a query can begin with; gives the number of its rows."""
    sink = PointSink(folder, replace(point, keep=Keep()))
    note = sink.open(None)
    if found.rows.num_rows:
        note = sink.deliver(0, found.rows, found.arrived, note, found.numbers)
        sink.sync()
    sink.publish(note)
    return int(found.rows.num_rows)


def copied_upto(folder: str) -> int:
    """The row before which a copy holds all that counts."""
    return _newest(folder)[1]


def _newest(folder: str) -> tuple[str | None, int]:
    names = (
        sorted(name for name in os.listdir(folder) if COPY.fullmatch(name)) if os.path.isdir(folder) else []
    )
    return (os.path.join(folder, names[-1]), int(names[-1][7:])) if names else (None, 0)


def _chunks(log: Log, start: int, published: Published, schema: Schema) -> Iterator[Latest]:
    parts: list[Latest] = []
    for path, segment in log.segments(start, published.rows, published):
        rows, arrived = read_segment(path, segment)
        low = max(start - segment.row, 0)
        rows = rows.cast(schema.arrow()).slice(low)
        parts.append(Latest(rows, arrived[low:], read_numbers(path, segment)[low:]))
        if sum(part.rows.num_rows for part in parts) >= CHUNK:
            yield _concat(parts)
            parts = []
    if parts:
        yield _concat(parts)


def _concat(parts: list[Latest]) -> Latest:
    return Latest(
        pa.concat_batches([part.rows for part in parts]),
        np.concatenate([part.arrived for part in parts]),
        np.concatenate([part.numbers for part in parts]),
    )


def _merged(found: Latest, part: Latest, key: tuple[str, ...]) -> Latest:
    """The table with the rows that came behind it; without a key each of them is new."""
    both = _concat([found, part])
    if not key:
        return both
    names = [str(place) for place in range(len(key))]
    places = pa.array(np.arange(both.rows.num_rows))
    table = pa.table([*(normalise(both.rows.column(name)) for name in key), places], names=[*names, "place"])
    last = np.sort(table.group_by(names).aggregate([("place", "max")])["place_max"].to_numpy())
    return Latest(both.rows.take(pa.array(last)), both.arrived[last], both.numbers[last])


def _remove(folder: str) -> None:
    for entry in Path(folder).iterdir():
        with suppress(FileNotFoundError):
            entry.unlink()
    with suppress(FileNotFoundError):
        os.rmdir(folder)
