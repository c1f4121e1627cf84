"""Sources of the network: the stored files merged by time, or the files that the driver delivers second by second."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from aurora import Cursor, Portion, Reject, Schema
from aurora.linear_road.reading import Survey
from aurora.linear_road.records import DEFINED, FIELDS, Replication, parse_input

__all__ = ["BYTES_A_LINE", "DeliveredTraffic", "StoredTraffic", "delivered_seconds"]

Array = np.ndarray[Any, Any]
# Rows are numbered by bytes, which need not be counted: later lines have larger numbers, and that is all they need.
BYTES_A_LINE = 50


@dataclass(frozen=True)
class Lines:
    """Whole lines of a file, and which copies of them are meant."""

    path: str
    start: int
    end: int
    copies: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class TrafficPiece:
    """Lines of several files for the same seconds, the first of them with the number `number`."""

    lines: tuple[Lines, ...]
    number: int
    replication: Replication | None = None

    def read(self, schema: Schema) -> Portion:
        """The tuples by Time; of one second, file by file and copy by copy."""
        found = [parse_input(np.empty(0, np.uint8)).values]
        rejects: list[Reject] = []
        for lines in self.lines:
            data = np.fromfile(lines.path, np.uint8, lines.end - lines.start, offset=lines.start)
            rows = parse_input(data)
            if rows.reasons and 0 in lines.copies:
                before = _lines_before(lines.path, lines.start)
                for at, reason in rows.reasons.items():
                    text = data[rows.starts[at] : min(rows.starts[at + 1], rows.starts[at] + 500)].tobytes()
                    shown = text.decode("utf-8", "replace").rstrip("\r\n")
                    rejects.append(Reject(os.path.basename(lines.path), before + at + 1, reason, shown))
            good = rows.values if rows.good.all() else rows.values[rows.good]
            found += [_copy(good, copy, self.replication) for copy in lines.copies]
        values = np.concatenate(found)
        if len(found) > 2:
            values = values[np.argsort(values[:, 1], kind="stable")]
        columns = [pa.array(values[:, at].astype(_dtype(schema, name))) for at, name in enumerate(FIELDS)]
        numbers = np.arange(self.number, self.number + len(values), dtype=np.int64)
        return Portion(pa.RecordBatch.from_arrays(columns, schema=schema.arrow()), numbers, tuple(rejects))


def _dtype(schema: Schema, name: str) -> Any:
    return schema[name].to_pandas_dtype()


def _copy(values: Array, copy: int, replication: Replication | None) -> Array:
    if not copy or replication is None:
        return values
    copied = values.copy()
    copied[:, : len(FIELDS)] += copy * replication.steps()[np.clip(values[:, 0], 0, max(DEFINED))]
    return copied


def _lines_before(path: str, place: int) -> int:
    with open(path, "rb") as file:
        count = 0
        while place > 0 and (data := file.read(min(place, 1 << 24))):
            count += data.count(b"\n")
            place -= len(data)
    return count


@dataclass(frozen=True)
class StoredTraffic:
    """The files of a run, `replication` copies of each, as fast as they are read. A cursor names the next second.

    The first batch holds nothing: with it everything is loaded and compiled.
    """

    survey: Survey
    replication: Replication
    # Its cursors count bytes.
    unit: ClassVar[int] = BYTES_A_LINE

    @property
    def live(self) -> bool:
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(str(file.path) for file in self.survey.files)

    def begin(self) -> Cursor:
        return {"second": -1, "row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        if cursor["second"] < 0:
            return {"second": 0, "row": 0}
        seconds, ends = self._seconds()
        at = int(np.searchsorted(seconds, cursor["second"]))
        if at == len(seconds):
            return cursor
        target = cursor["row"] + rows * BYTES_A_LINE
        last = min(max(int(np.searchsorted(ends, target, side="right")), at + 1), len(seconds))
        return {"second": int(seconds[last - 1]) + 1, "row": int(ends[last - 1])}

    def waiting(self, cursor: Cursor) -> int:
        _, ends = self._seconds()
        return max(int(ends[-1]) - int(cursor["row"]), 0) // BYTES_A_LINE if len(ends) else 0

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["second"] > self.survey.last_second)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[TrafficPiece]:
        """Cut between seconds where there are several; a single one between its copies."""
        if end["row"] == start["row"]:
            return [TrafficPiece((), end["row"])] * number
        seconds, ends = self._seconds()
        low, high = (int(np.searchsorted(seconds, cursor["second"])) for cursor in (start, end))
        share = (end["row"] - start["row"]) / number
        pieces = []
        while low < high:
            begin = int(ends[low - 1]) if low else 0
            upto = int(np.searchsorted(ends, begin + share, side="right"))
            upto = min(max(upto, low + 1), high)
            pieces += self._piece(int(seconds[low]), int(seconds[upto - 1]) + 1, begin)
            low = upto
        return pieces

    def _piece(self, first: int, stop: int, number: int) -> list[TrafficPiece]:
        lines = []
        for file in self.survey.files:
            low, high = np.searchsorted(file.seconds, [first, stop])
            if low < high:
                start, end = int(file.offsets[low]), int(file.offsets[high])
                lines.append(Lines(str(file.path), start, end, tuple(self.replication.numbers())))
        return [TrafficPiece(tuple(lines), number, self.replication)] if lines else []

    def _seconds(self) -> tuple[Array, Array]:
        """All seconds that have lines, and the bytes up to the end of each."""
        seconds = np.unique(np.concatenate([file.seconds for file in self.survey.files]))
        sizes = np.zeros(len(seconds), np.int64)
        for file in self.survey.files:
            sizes[np.searchsorted(seconds, file.seconds)] += np.diff(file.offsets)
        return seconds, np.cumsum(sizes * self.replication.copies)


_DELIVERED = re.compile(r"second-(\d+)\.csv")


def delivered_seconds(folder: str | Path) -> list[int]:
    """The seconds whose files are there, ascending: none is missing before the last.

    A file that comes while a folder is listed may be left out, and a later one not; so the folder is listed twice.
    """
    last = max(_listed(folder), default=-1)
    return sorted(second for second in _listed(folder) if second <= last)


def _listed(folder: str | Path) -> list[int]:
    found = (_DELIVERED.fullmatch(entry.name) for entry in os.scandir(folder))
    return [int(match[1]) for match in found if match]


@dataclass(frozen=True)
class DeliveredTraffic:
    """The files that a driver puts into a folder until it puts a file `ended` there. A cursor names the next second.

    The first batch holds nothing: with it everything is loaded and compiled before the clock starts.
    """

    folder: str
    ended: str
    seconds_at_most: int = 1_000_000
    # Its cursors count bytes.
    unit: ClassVar[int] = BYTES_A_LINE
    listing: Callable[[str], Sequence[int]] = delivered_seconds
    # What the driver reads.
    reads: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        return True

    def begin(self) -> Cursor:
        return {"second": -1, "row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        if cursor["second"] < 0:
            return {"second": 0, "row": 0}
        reached = dict(cursor)
        target = cursor["row"] + rows * BYTES_A_LINE
        waiting = [second for second in self.listing(self.folder) if second >= cursor["second"]]
        for second in waiting[: self.seconds_at_most]:
            size = os.path.getsize(self._file(second))
            if reached != cursor and reached["row"] + size > target:
                break
            reached = {"second": second + 1, "row": reached["row"] + size}
        return reached

    def waiting(self, cursor: Cursor) -> int:
        sizes = (os.path.getsize(self._file(s)) for s in self.listing(self.folder) if s >= cursor["second"])
        return sum(sizes) // BYTES_A_LINE

    def finished(self, cursor: Cursor) -> bool:
        if not os.path.exists(self.ended):
            return False
        return not any(second >= cursor["second"] for second in self.listing(self.folder))

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[TrafficPiece]:
        """Pieces of about the same length, cut at line ends."""
        if end["row"] == start["row"]:
            return [TrafficPiece((), end["row"])] * number
        seconds = [s for s in self.listing(self.folder) if max(start["second"], 0) <= s < end["second"]]
        share = max(1, -(-(end["row"] - start["row"]) // number))
        pieces = []
        row = start["row"]
        for second in seconds:
            path, at = self._file(second), 0
            size = os.path.getsize(path)
            while at < size:
                stop = _line_end(path, min(at + share, size), size)
                pieces.append(TrafficPiece((Lines(path, at, stop),), row + at))
                at = stop
            row += size
        return pieces

    def _file(self, second: int) -> str:
        return os.path.join(self.folder, f"second-{second:06d}.csv")


def _line_end(path: str, place: int, size: int) -> int:
    """The end of the line in which a byte lies."""
    if place >= size:
        return size
    with open(path, "rb") as file:
        file.seek(place - 1)
        return place - 1 + len(file.readline())
