"""Files of CSV or JSON lines: one file, or those of a folder or pattern in the order of their names."""

import glob
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_struct
from aurora.engine.sources.parse import header_of, parse_csv, parse_json, parse_records
from aurora.engine.sources.records import NOTHING, Scan, scan
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.errors import AuroraError

__all__ = ["LineFiles", "LinePiece", "listed"]


@dataclass(frozen=True)
class LinePiece:
    """Some records of one file, as a range of bytes."""

    path: str
    style: str
    start: int
    stop: int
    records: int
    number: int
    line: int
    columns: tuple[str, ...] | None
    declared: Schema

    def read(self, schema: Schema) -> Portion:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            data = file.read(self.stop - self.start)
        json_lines = self.style == "json" or (self.style == "lines" and data.lstrip()[:1] == b"{")
        if not json_lines:
            # A line of CSV is read whole: where a cell is missing shows only from the others.
            schema = self.declared
        parser = (
            parse_json(schema)
            if json_lines
            else parse_csv(schema, list(self.columns) if self.columns else None)
        )
        try:
            rows = parser(data)
            if rows.num_rows == self.records:
                return Portion(rows, np.arange(self.number, self.number + self.records, dtype=np.int64))
        except (ValueError, KeyError):
            pass  # Some record is bad: look again, more closely.
        found = scan(self.path, self.start, self.records, not json_lines, True, self.stop)
        ends = found.ends - self.start
        return parse_records(
            data, ends, parser, schema, self.number, self.line, found.lines, Path(self.path).name
        )


@dataclass
class LineFiles:
    """`style`: csv, json, or lines (either, told by the first character). `notes` is a file for what must not change.

    With an `ended_mark` the file grows until a file of that name appears. A cursor is the number of the file, the
    byte and the line in it, and the rows before it in all files.
    """

    path: str
    style: str
    schema: Schema
    follow: bool = False
    notes: str | None = None
    ended_mark: str | None = None
    _files: list[str] = field(default_factory=list)
    _columns: dict[str, tuple[tuple[str, ...] | None, int]] = field(default_factory=dict)
    # The latest look at each file: the pieces of a batch are cut where it was just seen to end.
    _seen: dict[str, tuple[int, Scan]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.schema.names:
            if self.style == "csv" and is_struct(self.schema[name]):
                raise AuroraError(
                    f"{self.path}: CSV holds no structs, and {name} is one; use JSON or Parquet"
                )

    @property
    def live(self) -> bool:
        return self.follow or self.ended_mark is not None

    @property
    def _tailed(self) -> bool:
        """Whether the file may still grow: then its last line counts only once it is ended."""
        if self.ended_mark is not None:
            return not os.path.exists(self.ended_mark)
        return self.follow and not self._several

    @property
    def _several(self) -> bool:
        return "*" in self.path or os.path.isdir(self.path)

    def begin(self) -> Cursor:
        return {"file": 0, "byte": 0, "line": 0, "row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        for _ in range(2):
            reached = self._advance(dict(cursor), rows)
            if reached != cursor:
                return reached
            if not self.look_for_files():
                break
        return cursor

    def _advance(self, cursor: Cursor, rows: int) -> Cursor:
        target = cursor["row"] + rows
        files = self.known_files()
        while cursor["file"] < len(files) and cursor["row"] < target:
            path = files[cursor["file"]]
            self._skip_header(cursor, path)
            found = scan(path, cursor["byte"], target - cursor["row"], self.style != "json", not self._tailed)
            self._seen[path] = cursor["byte"], found
            if len(found.ends):
                cursor["byte"] = int(found.ends[-1])
                cursor["line"] += int(found.lines[-1])
                cursor["row"] += len(found.ends)
            if cursor["byte"] < os.path.getsize(path) or self._tailed or cursor["file"] + 1 == len(files):
                break
            cursor.update(file=cursor["file"] + 1, byte=0, line=0)
        return cursor

    def finished(self, cursor: Cursor) -> bool:
        if self.follow or self._tailed:
            return False
        files = self.known_files()
        return bool(
            cursor["file"] >= len(files)
            or (cursor["file"] + 1 == len(files) and cursor["byte"] >= os.path.getsize(files[-1]))
        )

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        pieces: list[Piece] = []
        cursor = dict(start)
        files = self.known_files()
        while cursor["row"] < end["row"]:
            path = files[cursor["file"]]
            self._skip_header(cursor, path)
            last_file = cursor["file"] == end["file"]
            stop = end["byte"] if last_file else os.path.getsize(path)
            if cursor["byte"] >= stop:
                cursor.update(file=cursor["file"] + 1, byte=0, line=0)
                continue
            found = self._scanned(path, cursor["byte"], end["row"] - cursor["row"], stop)
            columns, _ = self._header(path)
            for low in range(0, len(found.ends), share):
                high = min(low + share, len(found.ends))
                begins = int(found.ends[low - 1]) if low else cursor["byte"]
                line = cursor["line"] + (int(found.lines[low - 1]) if low else 0) + 1
                ends, first = int(found.ends[high - 1]), cursor["row"] + low
                pieces.append(
                    LinePiece(path, self.style, begins, ends, high - low, first, line, columns, self.schema)
                )
            cursor["row"] += len(found.ends)
            cursor.update(file=cursor["file"] + 1, byte=0, line=0)
        return pieces

    def _scanned(self, path: str, start: int, records: int, stop: int) -> Scan:
        begun, found = self._seen.get(path, (-1, NOTHING))
        if begun == start and len(found.ends) and found.ends[-1] == stop:
            return found
        return scan(path, start, records, self.style != "json", True, stop)

    def _skip_header(self, cursor: Cursor, path: str) -> None:
        if cursor["byte"] == 0:
            _, skipped = self._header(path)
            if skipped:
                cursor.update(byte=skipped, line=cursor["line"] + (1 if self._header(path)[0] else 0))

    def _header(self, path: str) -> tuple[tuple[str, ...] | None, int]:
        """The columns that the first line names, if it does, and the bytes before the first record."""
        if path in self._columns:
            return self._columns[path]
        with open(path, "rb") as file:
            first = file.readline(1 << 20)
        mark = 3 if first.startswith(b"\xef\xbb\xbf") else 0
        columns = (
            None
            if self.style == "json" or not first.endswith(b"\n")
            else header_of(first[mark:], self.schema)
        )
        found = (tuple(columns) if columns else None, len(first) if columns else mark)
        if first.endswith(b"\n") or not self._tailed:
            self._columns[path] = found
        return found

    def known_files(self) -> list[str]:
        if not self._files:
            self.look_for_files()
        return self._files

    def look_for_files(self) -> bool:
        """Adds the files that are new, behind those known; their order is noted before it is relied upon."""
        if not self._several:
            self._files = [self.path] if os.path.exists(self.path) else []
            return False
        if not self._files and self.notes and os.path.exists(self.notes):
            self._files = json.loads(Path(self.notes).read_text())
        elif self._files and not self.follow:
            return False
        known = set(self._files)
        new = [path for path in listed(self.path) if path not in known]
        if new and (self.follow or not self._files):
            self._files = self._files + new
            if self.notes:
                partial = Path(self.notes + ".partial")
                partial.write_text(json.dumps(self._files))
                partial.replace(self.notes)
            return True
        return False


def listed(folder: str) -> list[str]:
    """The files of a folder, or those that fit a pattern, by name, without hidden and half-written ones."""
    if "*" in folder:
        return sorted(path for path in glob.glob(folder) if os.path.isfile(path))
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as fault:
        raise AuroraError(f"cannot read folder {folder}: {fault.strerror}") from None
    return [os.path.join(folder, name) for name in names if not name.startswith((".", "_"))]
