"""Several CSV files, each ordered by a field, as one stream that is ordered by it: of equal values, file by file."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.python_values import python_value
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.algebra.tuples.types import type_name
from aurora.engine.sources.files.file_list import FileList
from aurora.engine.sources.files.merged_lookahead import Place, Stretch, find_safe
from aurora.engine.sources.files.merged_piece import MergedPiece, count_first, read_keys
from aurora.engine.sources.files.text_files import TextFiles
from aurora.engine.sources.source import Cursor, Piece
from aurora.engine.sources.text.csv_records import Split
from aurora.engine.sources.text.lines import LinePiece, Style, check_flat
from aurora.engine.sources.text.record_ends import scan
from aurora.engine.sources.text.remaining_lines import lines_in
from aurora.engine.sources.text.text import FileText, mark_before
from aurora.errors import AuroraError, did_you_mean

__all__ = ["MergedFiles"]

# So many records of a file are looked at, at least.
LEAST = 4096


@dataclass
class MergedFiles:
    """A cursor is a place in each file, and the rows before it in all of them. `notes` is a file for their order.

    What is known of the files ahead of the cursor is kept from one batch to the next.
    """

    path: str
    style: Style
    schema: Schema
    by: str
    notes: str | None = None
    unpacked: str | None = None
    live: bool = False
    keeps: bool = True
    most: int | None = None
    _ahead: dict[int, Stretch] = field(default_factory=dict)
    _batch: tuple[Cursor, Cursor, list[Stretch]] | None = None

    def __post_init__(self) -> None:
        check_flat(self.schema, self.path)

    @cached_property
    def _files(self) -> FileList:
        return FileList(self.path, False, self.notes)

    @cached_property
    def _texts(self) -> TextFiles:
        return TextFiles(self.style, self.schema, self.unpacked, self.most)

    def check(self, name: str) -> None:
        """Raises a fault if the field is none by which files can be merged, or if the header of a file lacks one."""
        if self.by not in self.schema:
            raise AuroraError(
                f"source {name}: merge={self.by}: there is no such field{did_you_mean(self.by, self.schema.names)}; "
                f"the fields are {', '.join(self.schema.names)}"
            )
        kind = self.schema[self.by]
        if not (pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            raise AuroraError(
                f"source {name}: merge={self.by}: the field is {type_name(kind)}; files are merged by a whole number, "
                "a date or a timestamp"
            )
        if not self._files.known():
            raise AuroraError(
                f"source {name}: no file fits {self.path}; put the files there before you start"
            )
        for path in self._files.known():
            if not self._texts.is_copied(path):
                self._texts.head(path)

    def identity(self) -> str:
        return f"{self.style}:{self.path} merged by {self.by}"

    def begin(self) -> Cursor:
        known = self._files.known()
        return {
            "row": 0,
            "files": [list(_told(Place())) for _ in known],
            "sizes": [FileText.of(path).size() for path in known],
        }

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        places = _places(cursor)
        self._check(cursor)
        ahead = [self._stretch(number, place) for number, place in enumerate(places)]
        while True:
            safe, limit = find_safe([stretch.keys for stretch in ahead], [s.last for s in ahead])
            if limit is None or sum(safe) >= rows:
                break
            ahead[limit] = self._longer(limit, ahead[limit], max(LEAST, rows // len(ahead)))
        counts = count_first([s.keys[:most] for s, most in zip(ahead, safe, strict=True)], rows)
        taken = [stretch.cut(0, count) for stretch, count in zip(ahead, counts, strict=True)]
        self._ahead = {
            number: stretch.cut(count, len(stretch.keys))
            for number, (stretch, count) in enumerate(zip(ahead, counts, strict=True))
        }
        if not sum(counts):
            return cursor
        reached = [
            self._marked(number, stretch.end()) if len(stretch.keys) else place
            for number, (stretch, place) in enumerate(zip(taken, places, strict=True))
        ]
        row, told = cursor["row"] + sum(counts), [list(_told(place)) for place in reached]
        end = {**cursor, "row": row, "files": told}
        self._batch = cursor, end, taken
        return end

    def finished(self, cursor: Cursor) -> bool:
        self._check(cursor)
        return all(
            max(place.byte, self._head_bytes(path)) >= self._texts.text(path).size()
            for place, path in zip(_places(cursor), self._files.known(), strict=True)
        )

    def waiting(self, cursor: Cursor) -> int:
        """About, from the bytes."""
        files = zip(_places(cursor), self._files.known(), strict=True)
        return sum(
            lines_in(self._texts.text(path).size() - place.byte, place.byte, place.line)
            for place, path in files
        )

    def forget(self, cursor: Cursor) -> None:
        """Copies of files that are done with stay until the end: all of them are read side by side."""

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        rows = end["row"] - start["row"]
        if not rows:
            return []
        stretches = self._between(start, end)
        keys = [stretch.keys for stretch in stretches]
        share = max(1, -(-rows // number))
        bounds = [count_first(keys, min(at, rows)) for at in range(0, rows + share, share)]
        return [
            MergedPiece(
                tuple(
                    self._part(file, stretch.cut(low[file], high[file]))
                    for file, stretch in enumerate(stretches)
                    if low[file] < high[file]
                ),
                self.by,
                int(start["row"]) + sum(low),
            )
            for low, high in pairwise(bounds)
            if sum(low) < sum(high)
        ]

    def _between(self, start: Cursor, end: Cursor) -> list[Stretch]:
        """As they were when the batch was made, or read again where another process has made it."""
        if self._batch is not None and self._batch[:2] == (start, end):
            return self._batch[2]
        low, high = _places(start), _places(end)
        self._check(start)
        self._check(end)
        return [
            self._read(file, self._begun(file, place), 1 << 62, stop.byte)
            for file, (place, stop) in enumerate(zip(low, high, strict=True))
        ]

    def _part(self, file: int, stretch: Stretch) -> tuple[LinePiece, int]:
        path = self._files.known()[file]
        place, found = stretch.place, stretch.records
        piece = LinePiece(
            self._texts.text(path), self._texts.form(path), place.byte, int(found.ends[-1]), len(found.ends), 0,
            place.line + 1, self.schema, bool(found.bad.any()),
        )  # fmt: skip
        return piece, place.key

    def _stretch(self, file: int, place: Place) -> Stretch:
        known = self._ahead.get(file)
        place = self._begun(file, place)
        if known is not None and known.place.byte == place.byte:
            return known
        nothing = np.empty(0, np.int64)
        return Stretch(place, Split(nothing, nothing, np.empty(0, np.bool_)), nothing, False)

    def _longer(self, file: int, known: Stretch, records: int) -> Stretch:
        """With so many more records, if the file has them."""
        more = self._read(file, known.end(), records)
        first = int(known.records.lines[-1]) if len(known.keys) else 0
        joined = Split(
            np.concatenate([known.records.ends, more.records.ends]),
            np.concatenate([known.records.lines, more.records.lines + first]),
            np.concatenate([known.records.bad, more.records.bad]),
        )
        return Stretch(known.place, joined, np.concatenate([known.keys, more.keys]), more.last)

    def _read(self, file: int, place: Place, records: int, stop: int | None = None) -> Stretch:
        path = self._files.known()[file]
        text = self._texts.text(path)
        found = scan(text, place.byte, records, self.style.csv, True, stop)
        if not len(found.ends):
            return Stretch(place, found, np.empty(0, np.int64), True)
        piece, before = self._part(file, Stretch(place, found, np.empty(0, np.int64), False))
        keys = read_keys(piece, self.by, before)
        falls = np.flatnonzero(keys < np.concatenate([np.array([before], np.int64), keys[:-1]]))
        if len(falls):
            raise self._unordered(path, place, found, keys, int(falls[0]))
        return Stretch(place, found, keys, int(found.ends[-1]) >= text.size())

    def _unordered(self, path: str, place: Place, found: Split, keys: Ints, at: int) -> AuroraError:
        line = place.line + (int(found.lines[at - 1]) if at else 0) + 1
        value, before = (self._shown(int(key)) for key in (keys[at], keys[at - 1] if at else place.key))
        columns = self._texts.form(path).columns
        column = (columns or self.schema.names).index(self.by) + 1
        number = "n" if pa.types.is_integer(self.schema[self.by]) else ""
        below = ", below its header" if columns else ""
        return AuroraError(
            f"{path} is not ordered by {self.by}: line {line} has {self.by} {value} after {before}; sort it first "
            f"(sort -s -t'{self.style.delimiter}' -k{column},{column}{number}{below})"
        )

    def _shown(self, key: int) -> str:
        kind = self.schema[self.by]
        value = pa.scalar(key, pa.int32() if pa.types.is_date(kind) else pa.int64())
        return str(python_value(value.cast(kind)))

    def _begun(self, file: int, place: Place) -> Place:
        """The place behind the header, if it is before it."""
        if place.byte:
            return place
        head = self._texts.head(self._files.known()[file])
        return place if head is None else Place(head.bytes, head.lines, place.key)

    def _head_bytes(self, path: str) -> int:
        head = self._texts.head(path)
        return 0 if head is None else head.bytes

    def _marked(self, file: int, place: Place) -> Place:
        text = self._texts.text(self._files.known()[file])
        return Place(place.byte, place.line, place.key, mark_before(text, place.byte))

    def _check(self, cursor: Cursor) -> None:
        """Raises a fault unless what lies before each place is what was read to get there, and files have not grown:
        a row that comes later may belong before rows that have been read."""
        known = zip(_places(cursor), self._files.known(), cursor["sizes"], strict=True)
        for place, path, size in known:
            there = os.path.exists(path)
            if not there or (place.byte and mark_before(self._texts.text(path), place.byte) != place.mark):
                raise AuroraError(
                    f"{path} was replaced, changed or removed while a batch was reading it, and the batch cannot be "
                    "repeated; put the old one back, or start over with --fresh"
                )
            now = FileText.of(path).size()
            if now != size:
                raise AuroraError(
                    f"{path} had {size:,} bytes when the run began and has {now:,} now: files that are "
                    "merged must be complete; start over with --fresh"
                )


def _told(place: Place) -> tuple[int, int, int, int]:
    return place.byte, place.line, place.key, place.mark


def _places(cursor: Cursor) -> list[Place]:
    return [Place(*told) for told in cursor["files"]]
