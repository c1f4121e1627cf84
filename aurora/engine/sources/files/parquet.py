"""Parquet files: one, or the files of a folder in the order of their names."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.files.file_dates import DATES, date_piece, dates_of, find_date
from aurora.engine.sources.files.file_list import FileList
from aurora.engine.sources.files.parquet_piece import (
    BadFile,
    ParquetPiece,
    check_unpacked,
    first_line,
    missing_field,
    read_chunks,
)
from aurora.engine.sources.source import Cursor, Piece, Portion, has_moved
from aurora.engine.sources.text.text import FileText, mark_before
from aurora.errors import AuroraError

__all__ = ["ParquetFiles"]


@dataclass(frozen=True)
class _File:
    """How many rows a file has, how many bytes they have together unpacked, or why it cannot be read."""

    rows: int
    fault: str = ""
    bytes: int = 0


@dataclass
class ParquetFiles:
    """A cursor is the number of the file, the row in it, a mark of the file, and the rows before it in all files.
    That of a folder which is followed tells when its files came.

    A file that cannot be read has no rows and is rejected when the cursor passes it.
    """

    path: str
    schema: Schema
    follow: bool = False
    notes: str | None = None
    # In milliseconds since 1970.
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    # How many bytes a row group may have unpacked, if not what is enough for most.
    most: int | None = None
    _known: dict[str, _File] = field(default_factory=dict)

    @cached_property
    def _files(self) -> FileList:
        return FileList(self.path, self.follow, self.notes)

    @property
    def keeps(self) -> bool:
        return True

    @property
    def live(self) -> bool:
        return self.follow

    def identity(self) -> str:
        return f"parquet:{self.path}"

    def begin(self) -> Cursor:
        first = {"file": 0, "offset": 0, "row": 0, "mark": 0}
        return {**first, DATES: [self.clock()]} if self.follow and self._files.several else first

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        self._check(cursor)
        reached = self._advance(dict(cursor), rows)
        if not has_moved(cursor, reached) and self._files.look():
            reached = self._advance(dict(cursor), rows)
        return reached if has_moved(cursor, reached) else cursor

    def _advance(self, cursor: Cursor, rows: int) -> Cursor:
        files = self._files.known()
        passed: list[int] = []
        known = dates_of(cursor)
        dates: list[int] = []
        while rows > 0 and cursor["file"] < len(files):
            file = self._file(files[cursor["file"]])
            if known:
                dates.append(find_date(files[cursor["file"]], (dates or known)[-1], self.clock()))
            taken = min(file.rows - cursor["offset"], rows)
            rows -= taken
            cursor["row"] += taken
            cursor["offset"] += taken
            if cursor["offset"] < file.rows:
                break
            passed.append(_mark_end(files[cursor["file"]]))
            cursor.update(file=cursor["file"] + 1, offset=0)
        cursor["passed"] = passed
        if dates:
            cursor[DATES] = dates
        cursor["mark"] = self._mark(cursor)
        return cursor

    def _mark(self, cursor: Cursor) -> int:
        return _mark_end(self._files.known()[cursor["file"]]) if cursor["offset"] else 0

    def _check(self, cursor: Cursor) -> None:
        files = self._files.known()
        path = files[cursor["file"]] if cursor["file"] < len(files) else self.path
        if cursor["offset"] and (not os.path.exists(path) or self._mark(cursor) != cursor["mark"]):
            raise _changed(path)

    def finished(self, cursor: Cursor) -> bool:
        return not self.follow and bool(cursor["file"] >= len(self._files.known()))

    def waiting(self, cursor: Cursor) -> int:
        """Files that nobody has opened yet are taken to be like the others."""
        files = self._files.there()[cursor["file"] :]
        known = [self._known[path].rows for path in files if path in self._known]
        seen = [file.rows for file in self._known.values()]
        others = (len(files) - len(known)) * (sum(seen) / len(seen) if seen else 0)
        return max(sum(known) + round(others) - int(cursor["offset"]), 0)

    def row_bytes(self, cursor: Cursor) -> int:
        files = self._files.known()
        file = self._file(files[cursor["file"]]) if cursor["file"] < len(files) else _File(0)
        return file.bytes // max(file.rows, 1)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        if not has_moved(start, end):
            # What the cursor tells of files that were passed is about an earlier batch.
            return []
        share = max(1, -(-(end["row"] - start["row"]) // number))
        self._check(start)
        self._check(end)
        files = self._files.known()
        for number, mark in enumerate(end.get("passed", [])):
            if _mark_end(files[start["file"] + number]) != mark:
                raise _changed(files[start["file"] + number])
        pieces: list[Piece] = []
        dates = dates_of(end)
        file, offset, row = start["file"], start["offset"], start["row"]
        while (file, offset) < (end["file"], end["offset"]):
            known = self._file(files[file])
            if known.fault:
                pieces.append(BadFile(files[file], known.fault))
            taken = min(share, end["row"] - row, known.rows - offset)
            if taken:
                piece = ParquetPiece(files[file], offset, taken, row)
                pieces.append(date_piece(piece, dates, file - start["file"]))
            row, offset = row + taken, offset + taken
            if offset >= known.rows:
                file, offset = file + 1, 0
        return pieces

    def portions(self, rows: int) -> Iterator[Portion]:
        """All rows in chunks of at most so many, each row group read once."""
        number = 0
        for path in self._files.known():
            known = self._file(path)
            if known.fault:
                yield BadFile(path, known.fault).read(self.schema)
            else:
                yield from read_chunks(path, self.schema, rows, number)
            number += known.rows

    def _file(self, path: str) -> _File:
        if path not in self._known:
            self._known[path] = _look_at(path, self.schema, self.most)
        return self._known[path]


def _mark_end(path: str) -> int:
    """The end of a Parquet file tells all its parts: another file has another one. 0 for one that is not there."""
    if not os.path.exists(path):
        return 0
    text = FileText.of(path)
    return mark_before(text, text.size())


def _changed(path: str) -> AuroraError:
    return AuroraError(
        f"{path} was replaced, changed or removed while a batch was reading it, and the batch cannot be repeated; "
        "put the old one back, or start over with --fresh"
    )


def _look_at(path: str, schema: Schema, most: int | None) -> _File:
    try:
        metadata = pyarrow.parquet.read_metadata(path)
        own = metadata.schema.to_arrow_schema()
    except OSError as fault:
        return _File(0, f"cannot be read: {fault.strerror or first_line(fault)}")
    except pa.ArrowException as fault:
        return _File(0, f"not a Parquet file: {first_line(fault)}")
    missing = missing_field(schema, {column.name: column.type for column in own})
    if missing is not None:
        return _File(0, f"has no field {missing}; its fields are {', '.join(own.names)}")
    check_unpacked(path, metadata, most)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return _File(metadata.num_rows, bytes=sum(group.total_byte_size for group in groups))
