"""A connection point as a source: what its log holds from a row on, and then what comes, as one stream."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import replace_note
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.errors import AuroraError
from aurora.history.log import Log, Published
from aurora.history.segments import Segment, find_keys, read_numbers, read_segment

__all__ = ["READERS", "PointPiece", "PointSource", "note_reader", "reader_name"]

# The folder of a log in which each reader notes the row before which it needs nothing any more: a folder for each
# query, and in it a note for each of its inputs, since two of them may read one point.
READERS = "readers"
# So many rows of a log pass at most for one row of a train, where only some keys are wanted.
PASSED = 1024


@dataclass(frozen=True)
class PointPiece:
    """Segments that follow each other, and of the first and last of them the rows from `start` to `stop`.

    The first row of the stream has the number `first` in the log. Where only some keys are `wanted`, by their hashes,
    the rows of others are not even looked at.
    """

    segments: tuple[tuple[str, Segment], ...]
    start: int
    stop: int
    first: int
    wanted: tuple[int, ...] | None = None

    def read(self, schema: Schema) -> Portion:
        rows, arrived = [pa.RecordBatch.from_pylist([], schema.arrow())], [np.empty(0, np.int64)]
        numbers = [np.empty(0, np.int64)]
        for path, segment in self.segments:
            low = max(self.start - segment.row, 0)
            high = min(self.stop - segment.row, segment.rows)
            try:
                batch, came = self._read(path, segment, low, high, schema)
            except FileNotFoundError:
                raise AuroraError(
                    f"{path} was removed before the query could read it: detach the query and attach it again"
                ) from None
            rows.append(batch)
            arrived.append(came[0])
            numbers.append(came[1] + segment.row - self.first)
        return Portion(pa.concat_batches(rows), np.concatenate(numbers), arrived=np.concatenate(arrived))

    def read_numbers(self) -> Ints:
        """The arrival numbers, in the network above, of what caused its rows, whichever are wanted."""
        found = [np.empty(0, np.int64)]
        for path, segment in self.segments:
            low, high = max(self.start - segment.row, 0), min(self.stop - segment.row, segment.rows)
            found.append(read_numbers(path, segment)[low:high])
        return np.concatenate(found)

    def _read(
        self, path: str, segment: Segment, low: int, high: int, schema: Schema
    ) -> tuple[pa.RecordBatch, tuple[Ints, Ints]]:
        """The rows of a segment from `low` to `high`, when each arrived, and its place in the segment."""
        if self.wanted is None or not segment.keyed:
            batch, arrived = read_segment(path, segment)
            rows = batch.select(list(schema.names)).slice(low, high - low)
            return rows.cast(schema.arrow()), (arrived[low:high], np.arange(low, high))
        places = find_keys(path, segment, np.array(self.wanted, np.uint64))
        places = places[(places >= low) & (places < high)]
        if not len(places):
            return pa.RecordBatch.from_pylist([], schema.arrow()), (places, places)
        batch, arrived = read_segment(path, segment)
        rows = batch.select(list(schema.names)).take(pa.array(places))
        return rows.cast(schema.arrow()), (arrived[places], places)


@dataclass
class PointSource:
    """From the row `first` of a log on; a cursor has the number of rows behind it. `reader` is who reads.

    Before them come the rows of `table`, another log: what a view held when its reader came. Of all these it may want
    certain keys only, by their hashes.
    """

    folder: str
    first: int
    reader: str
    table: str | None = None
    wanted: tuple[int, ...] | None = None
    # That of the log: what a process has read of an earlier one in its place is not taken for this.
    mark: str = ""
    live: bool = field(default=True, init=False)
    # What is there already is worked through like a file.
    history: bool = field(default=True, init=False)
    _log: Log | None = field(default=None, init=False, repr=False)

    @property
    def log(self) -> Log:
        if self._log is None:
            self._log = Log(self.folder)
        return self._log

    def identity(self) -> str:
        return f"point:{os.path.basename(self.folder)}:{self.first}"

    @cached_property
    def _ahead(self) -> int:
        """The rows of the table."""
        return Published.read(self.table).rows if self.table is not None else 0

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        start = int(cursor["row"])
        reached = start + rows if self.wanted is None else self._pass(start, rows)
        return {"row": max(start, min(reached, self.there()))}

    def _pass(self, start: int, rows: int) -> int:
        """Behind so many wanted rows: few of them may be far apart, and are taken together."""
        end, number = start + rows * PASSED, rows
        wanted = np.array(self.wanted, np.uint64)
        behind = 0
        for log, first, count in self.parts():
            low, high = max(start - behind, 0) + first, min(end - behind, count) + first
            for path, segment in log.segments(low, high, log.published()) if low < high else ():
                places = find_keys(path, segment, wanted) if segment.keyed else np.arange(segment.rows)
                places = places[(places >= low - segment.row) & (places < high - segment.row)]
                if len(places) >= number:
                    return behind + segment.row + int(places[number - 1]) + 1 - first
                number -= len(places)
            behind += count
        return end

    def there(self) -> int:
        """How many rows there are by now."""
        return Published.read(self.folder).rows - self.first + self._ahead

    def finished(self, cursor: Cursor) -> bool:
        return Published.read(self.folder).ended and bool(cursor["row"] >= self.there())

    def waiting(self, cursor: Cursor) -> int:
        return max(self.there() - int(cursor["row"]), 0)

    def parts(self) -> list[tuple[Log, int, int]]:
        """Where the rows are: logs that follow each other, in each the first row and how many."""
        own = (self.log, self.first, Published.read(self.folder).rows - self.first)
        return [own] if self.table is None else [(Log(self.table), 0, self._ahead), own]

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return list(self.point_pieces(start, end, number))

    def point_pieces(self, start: Cursor, end: Cursor, number: int) -> list[PointPiece]:
        share = -(-(end["row"] - start["row"]) // number)
        if self.table is None or start["row"] >= self._ahead:
            return self._cut(self.log, start["row"], end["row"], share, self.first - self._ahead)
        middle = min(end["row"], self._ahead)
        return [
            *self._cut(Log(self.table), start["row"], middle, share, 0),
            *self._cut(self.log, middle, end["row"], share, self.first - self._ahead),
        ]

    def _cut(self, log: Log, start: int, end: int, share: int, first: int) -> list[PointPiece]:
        """The pieces of a log in which the stream's row 0 has the number `first`."""
        low, high = start + first, end + first
        if low >= high:
            return []
        segments = log.segments(low, high, Published.read(log.folder))
        if not segments or segments[0][1].row > low:
            raise AuroraError(
                f"{log.folder} no longer holds row {low:,}; detach the query and attach it again"
            )
        pieces: list[PointPiece] = []
        for at in range(low, high, share):
            stop = min(at + share, high)
            held = (found for found in segments if found[1].row < stop and found[1].row + found[1].rows > at)
            pieces.append(PointPiece(tuple(held), at, stop, first, self.wanted))
        return pieces

    def forget(self, cursor: Cursor) -> None:
        note_reader(self.folder, self.reader, max(cursor["row"] - self._ahead, 0) + self.first)


def reader_name(query: str, number: int) -> str:
    """As whom an input of a query, counted from 0, reads its point."""
    return os.path.join(query, str(number))


def note_reader(folder: str, reader: str, row: int) -> None:
    """From now on nothing of a log is removed that this reader may still ask for."""
    path = Path(folder, READERS, reader)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_note(path, str(row))
