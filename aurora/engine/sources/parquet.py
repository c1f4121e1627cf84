"""Parquet files: one, or the files of a folder in the order of their names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_struct, struct_fields
from aurora.engine.sources.files import LineFiles
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.errors import AuroraError

__all__ = ["ParquetFiles", "ParquetPiece"]


@dataclass(frozen=True)
class ParquetPiece:
    path: str
    offset: int
    rows: int
    number: int

    def read(self, schema: Schema) -> Portion:
        """Only the row groups that hold its rows, and only the fields of the schema."""
        file = pyarrow.parquet.ParquetFile(self.path)
        groups, skipped, seen = [], 0, 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if seen + size <= self.offset:
                skipped += size
            elif seen < self.offset + self.rows:
                groups.append(group)
            seen += size
        table = file.read_row_groups(groups, columns=list(_paths(schema)), use_threads=False)
        table = table.slice(self.offset - skipped, self.rows).select(list(schema.names)).cast(schema.arrow())
        batches = table.combine_chunks().to_batches()
        rows = batches[0] if batches else pa.RecordBatch.from_pylist([], schema.arrow())
        return Portion(rows, np.arange(self.number, self.number + self.rows, dtype=np.int64))


def _paths(fields: Mapping[str, pa.DataType], before: str = "") -> Iterator[str]:
    """The columns of the file: what is inside structs by dotted names."""
    for name, kind in fields.items():
        if is_struct(kind) and kind.num_fields:
            yield from _paths(struct_fields(kind), f"{before}{name}.")
        else:
            yield before + name


def _missing(
    fields: Mapping[str, pa.DataType], there: Mapping[str, pa.DataType], before: str = ""
) -> str | None:
    for name, kind in fields.items():
        if name not in there:
            return before + name
        if is_struct(kind) and is_struct(there[name]):
            inside = _missing(struct_fields(kind), struct_fields(there[name]), f"{before}{name}.")
            if inside is not None:
                return inside
    return None


@dataclass
class ParquetFiles:
    """A cursor is the number of the file, the row in it, and the rows before it in all files."""

    path: str
    schema: Schema
    follow: bool = False
    notes: str | None = None
    _sizes: dict[str, int] = field(default_factory=dict)

    @cached_property
    def _folder(self) -> LineFiles:
        return LineFiles(self.path, "parquet", self.schema, self.follow, self.notes)

    @property
    def live(self) -> bool:
        return self.follow

    def begin(self) -> Cursor:
        return {"file": 0, "offset": 0, "row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        reached = self._advance(dict(cursor), rows)
        if reached == cursor and self._folder.look_for_files():
            reached = self._advance(dict(cursor), rows)
        return reached

    def _advance(self, cursor: Cursor, rows: int) -> Cursor:
        files = self._folder.known_files()
        while rows > 0 and cursor["file"] < len(files):
            left = self._size(files[cursor["file"]]) - cursor["offset"]
            taken = min(left, rows)
            rows -= taken
            cursor["row"] += taken
            cursor["offset"] += taken
            if taken == left and cursor["file"] + 1 < len(files):
                cursor.update(file=cursor["file"] + 1, offset=0)
            elif taken == left:
                break
        return cursor

    def finished(self, cursor: Cursor) -> bool:
        files = self._folder.known_files()
        at_end = cursor["file"] >= len(files) or (
            cursor["file"] + 1 == len(files) and cursor["offset"] >= self._size(files[-1])
        )
        return not self.follow and at_end

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        files = self._folder.known_files()
        pieces: list[Piece] = []
        file, offset, row = start["file"], start["offset"], start["row"]
        while row < end["row"]:
            taken = min(share, end["row"] - row, self._size(files[file]) - offset)
            if taken:
                pieces.append(ParquetPiece(files[file], offset, taken, row))
            row, offset = row + taken, offset + taken
            if offset >= self._size(files[file]):
                file, offset = file + 1, 0
        return pieces

    def _size(self, path: str) -> int:
        if path not in self._sizes:
            try:
                metadata = pyarrow.parquet.read_metadata(path)
            except (OSError, pa.ArrowInvalid) as fault:
                raise AuroraError(f"cannot read Parquet file {path}: {str(fault).splitlines()[0]}") from None
            own = metadata.schema.to_arrow_schema()
            missing = _missing(self.schema, {field.name: field.type for field in own})
            if missing is not None:
                raise AuroraError(f"Parquet file {path} has no field {missing}")
            self._sizes[path] = metadata.num_rows
        return self._sizes[path]
