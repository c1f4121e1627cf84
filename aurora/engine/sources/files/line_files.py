"""Files of CSV or JSON lines: one file, or those of a folder or pattern in the order of their names."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.files.file_dates import DATES, date_piece, dates_of, find_date
from aurora.engine.sources.files.file_list import FileList
from aurora.engine.sources.files.text_files import TextFiles
from aurora.engine.sources.files.unpack import CutOff, is_packed
from aurora.engine.sources.growth import SEEN, Growth, date_rows, watch_growth
from aurora.engine.sources.source import NOTICE, Cursor, Piece, Portion, Reject, add_notice, has_moved
from aurora.engine.sources.text.csv_records import UTF_8, Csv, Split
from aurora.engine.sources.text.hints import hints, unreadable
from aurora.engine.sources.text.lines import Style, check_flat, cut_lines
from aurora.engine.sources.text.record_ends import NOTHING, scan
from aurora.engine.sources.text.remaining_lines import line_bytes, lines_left
from aurora.engine.sources.text.text import FileText, mark_before
from aurora.errors import AuroraError, raise_if

__all__ = ["LineFiles"]


# In a cursor: how many bytes each file had that the batch before it read to the end, and a mark of its last ones; of a
# file that was removed, also the beginning of its last line, if it had one that was not ended.
PASSED = "passed"
# And in that of a followed folder: how many bytes the file had in which it is. If all were read, the file may go.
SIZE = "size"


# So many bytes of a line that is never ended are told.
TOLD = 1000
REMOVED = "the file was removed before this line was ended"


def _changed(path: str) -> AuroraError:
    return AuroraError(
        f"{path} was replaced, changed or removed while a batch was reading it, and the batch cannot be repeated; "
        "put the old one back, or start over with --fresh"
    )


def _find_lost(end: Cursor) -> list[str]:
    """Return the beginning of the line that was lost with the first file of a batch, if one was."""
    passed = end.get(PASSED) or [[]]
    return list(passed[0][2:])


def _ends_line(text: FileText, byte: int) -> bool:
    """Whether a line ends just before a byte."""
    return text.read(byte - 1, byte) in (b"\n", b"\r")


def _inode_of(path: str) -> int | None:
    """The number by which a file is told from another of its name; nothing if it is not there."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


@dataclass(frozen=True)
class _LostLine:
    """The last line of a file that was removed before it was ended."""

    file: str
    line: int
    text: str

    def read(self, schema: Schema) -> Portion:
        none = pa.RecordBatch.from_pylist([], schema.arrow())
        return Portion(none, np.empty(0, np.int64), (Reject(self.file, self.line, REMOVED, self.text),))


@dataclass
class LineFiles:
    """`style`: csv or json. `notes` is a file for what must not change, `unpacked` a folder for unpacked copies.

    A cursor is the number of the file, the byte and the line in it, a mark of what is before that byte, and the rows
    before it in all files. That of a single file which is followed also tells when its rows were seen, and which file
    it was: its inode, and how often it has been replaced. That of a folder which is followed tells when its files came.
    """

    path: str
    style: str
    schema: Schema
    follow: bool = False
    notes: str | None = None
    delimiter: str = ","
    header: bool | None = None
    unpacked: str | None = None
    encoding: str = UTF_8
    nulls: tuple[str, ...] = ()
    loose: bool = False
    decimal: str = "."
    # A file of this name in the folder says that no other will come.
    end: str | None = None
    # Whether rows may be left out under overload: somebody puts them there by the clock.
    shed: bool = False
    # How many bytes a compressed file may have when it is unpacked.
    most: int | None = None
    # The named groups of which are the fields, where lines are neither CSV nor JSON.
    pattern: str | None = None
    # In milliseconds since 1970.
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    # The latest look at each file of a batch: its pieces are cut where the file was just seen to end.
    _seen: dict[str, tuple[int, Split]] = field(default_factory=dict)
    _forgotten: int = 0
    # The file whose last line was not ended when it was looked at last, where the line begins, how many bytes the file
    # had, and the line.
    _half: tuple[str, int, int, str] | None = None
    # The compressed file that ended too early when it was looked at last, its size and its time.
    _cut: tuple[str, int, int] | None = None

    def __post_init__(self) -> None:
        if self.style == "csv":
            check_flat(self.schema, self.path)

    @cached_property
    def _files(self) -> FileList:
        return FileList(self.path, self.follow, self.notes, self.end)

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.clock)

    def _see(self, size: int) -> None:
        self._growth.see(size)
        path = self.path
        watch_growth(self._growth, lambda: os.path.getsize(path))

    @property
    def _style(self) -> Style:
        return Style(
            self.style,
            self.delimiter,
            self.header,
            self.encoding,
            self.nulls,
            self.loose,
            self.decimal,
            self.pattern,
        )

    @cached_property
    def _texts(self) -> TextFiles:
        return TextFiles(self._style, self.schema, self.unpacked, self.most)

    @property
    def _csv(self) -> Csv | None:
        return self._style.csv if self.style == "csv" else None

    @property
    def skips(self) -> bool:
        return True

    @property
    def keeps(self) -> bool:
        return not self.shed

    @property
    def live(self) -> bool:
        return self.follow

    @property
    def _tailed(self) -> bool:
        """Whether a single file is followed: it may grow for ever, and be replaced."""
        return self.follow and not self._files.several and not self._texts.is_copied(self.path)

    def _final(self, path: str) -> bool:
        """Whether no more will be read of a file than is there: if not, its last line counts only once it is ended.

        Somebody may still be writing the last file of a folder that is followed.
        """
        if not self.follow or self._texts.is_copied(path):
            return True
        return self._files.several and (path != self._files.known()[-1] or self._files.ended())

    def _must_come(self, path: str) -> bool:
        """Whether a file of which a copy is to be made is not whole yet: the last one, if others may follow."""
        if not self.follow or not self._texts.is_copied(path) or path != self._files.known()[-1]:
            return False
        return os.path.exists(path) and self._is_cut(path) and not self._files.ended()

    def _is_cut(self, path: str) -> bool:
        """Whether a file is empty, or compressed and ends too early; as long as it stays so, it is unpacked once."""
        found = os.stat(path)
        seen = path, found.st_size, found.st_mtime_ns
        if found.st_size == 0 or seen == self._cut:
            return True
        try:
            self._texts.text(path)
        except CutOff:
            self._cut = seen
            return True
        return False

    def forget(self, cursor: Cursor) -> None:
        """Copies of files that are done with go."""
        # Only what is behind the last one that went: of a folder that is followed for days there are many.
        done = self._files.known()[self._forgotten : cursor["file"]]
        for path in done:
            self._texts.forget(path)
        self._forgotten += len(done)

    def identity(self) -> str:
        return f"{self._style}:{self.path}"

    def check(self) -> None:
        """Raises a fault if the header of the first file lacks a field, or if no line of a single file can be read."""
        known = self._files.known()
        # Those of a folder that have been read may be gone.
        there = (path for path in known if not self._files.several or os.path.exists(path))
        for path in islice(there, 1):
            head = None if self._texts.is_copied(path) else self._texts.head(path, self._final(path))
            if head and self.style in ("csv", "pattern") and not self._files.several and not self.follow:
                raise_if(unreadable(FileText.of(path), head.form, head.bytes, head.lines, self.schema, True))

    def begin(self) -> Cursor:
        first = {"file": 0, "byte": 0, "line": 0, "row": 0, "mark": 0}
        return {**first, DATES: [self.clock()]} if self.follow and self._files.several else first

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        for _ in range(2):
            reached = self._advance({key: cursor[key] for key in cursor if key not in (NOTICE, SEEN)}, rows)
            if has_moved(cursor, reached):
                if self._tailed:
                    self._date(cursor, reached)
                return reached
            if not self._files.look():
                break
        return cursor

    def _advance(self, cursor: Cursor, rows: int) -> Cursor:
        target = cursor["row"] + rows
        files = self._files.known()
        self._seen.clear()
        cursor.pop(PASSED, None)
        passed: list[list[Any]] = []
        known = dates_of(cursor)
        dates: list[int] = []
        inode = _inode_of(self.path)
        if not files or (self._tailed and inode is None):
            return cursor
        first = cursor["row"] == 0
        if self._tailed:
            self._begin_anew_if_replaced(cursor, inode)
        else:
            self._check(cursor, True)
        begun = cursor["file"]
        while cursor["file"] < len(files) and cursor["row"] < target:
            path = files[cursor["file"]]
            half = self._find_half(cursor, path) if cursor["file"] == begun else None
            if half is not None or (cursor["file"] == begun and self._is_gone(cursor, path)):
                if begun + 1 == len(files) and not self._files.look() and half is None:
                    return cursor
                if known:
                    dates.append(find_date(path, known[-1], self.clock()))
                passed.append([cursor["byte"], cursor["mark"], *([] if half is None else [half])])
                cursor["row"] += 0 if half is None else 1
                self._pass(cursor)
                continue
            if not cursor["byte"] and self._must_come(path):
                if self._files.look():
                    continue
                cursor[SIZE] = 0
                break
            text = self._texts.text(path)
            # Somebody may write all the time: whether the file is final is asked first, then its size, once for all.
            final = self._final(path)
            size = text.size()
            if self.follow and self._files.several:
                cursor[SIZE] = size
            if self._tailed:
                self._see(size)
            if known and len(dates) == cursor["file"] - begun:
                dates.append(find_date(path, (dates or known)[-1], self.clock()))
            if (
                final
                and cursor["line"]
                and size > cursor["byte"] > 0
                and not _ends_line(text, cursor["byte"])
            ):
                raise AuroraError(
                    f"line {cursor['line']} of {text.label} was not ended when it was read, and the file has grown "
                    "since: run it again with --fresh when it is complete, or follow it with --follow"
                )
            readable = self._skip_header(cursor, path, final, size)
            found = NOTHING
            if readable:
                found = scan(text, cursor["byte"], target - cursor["row"], self._csv, final, size)
            if len(found.ends):
                self._seen[path] = cursor["byte"], found
                if first:
                    place = cursor["byte"], cursor["line"]
                    add_notice(
                        cursor,
                        hints(
                            text,
                            self._texts.form(path, final, size),
                            *place,
                            self.schema,
                            final,
                        ),
                    )
                cursor["byte"] = int(found.ends[-1])
                cursor["line"] += int(found.lines[-1])
                cursor["row"] += len(found.ends)
                first = False
            if cursor["byte"] < size or self._tailed:
                if not final and not self._tailed and cursor["row"] < target:
                    self._see_half(path, text, cursor["byte"], size)
                break
            self._texts.check_size(path)
            if cursor["file"] + 1 == len(files):
                if cursor["row"] < target and self._files.look():
                    # Its last lines may have come just before the next file: it is looked at once more.
                    continue
                break
            passed.append([cursor["byte"], mark_before(text, cursor["byte"])])
            self._pass(cursor)
        if passed:
            cursor[PASSED] = passed
        if dates:
            cursor[DATES] = dates
        if cursor["file"] < len(files):
            byte = cursor["byte"]
            cursor["mark"] = mark_before(self._texts.text(files[cursor["file"]]), byte) if byte else 0
        return cursor

    def _date(self, start: Cursor, end: Cursor) -> None:
        """Note when the rows of a batch came: how far they are in its bytes says, about, at which byte they end."""
        anew = start.get("generation", 0) != end.get("generation", 0)
        first, rows = 0 if anew else start["byte"], end["row"] - start["row"]
        span = max(end["byte"] - first, 1)
        self._growth.date(start, end, lambda size: rows * min(size - first, span) // span)

    def _pass(self, cursor: Cursor) -> None:
        cursor.update(file=cursor["file"] + 1, byte=0, line=0)
        cursor.pop(SIZE, None)

    def _is_gone(self, cursor: Cursor, path: str) -> bool:
        """Whether a file has gone all of whose rows have been read, as far as anybody saw."""
        return cursor.get(SIZE) == cursor["byte"] and not os.path.exists(path)

    def _see_half(self, path: str, text: FileText, byte: int, size: int) -> None:
        """Remember the last line of a file, which is not ended yet: the file may be removed before it is."""
        if self._half is None or self._half[:3] != (path, byte, size):
            begun = text.read(byte, min(size, byte + TOLD))
            self._half = path, byte, size, begun.decode(errors="replace")

    def _find_half(self, cursor: Cursor, path: str) -> str | None:
        """Return what is known of the last line of a file that was removed before the line was ended."""
        known = self._half is not None and self._half[:2] == (path, cursor["byte"])
        return self._half[3] if known and self._half is not None and not os.path.exists(path) else None

    def _is_same(self, cursor: Cursor, inode: int | None) -> bool:
        """Whether a followed file is the one in which this place was found."""
        text = FileText.of(self.path)
        return bool(
            cursor.get("inode", inode) == inode and mark_before(text, cursor["byte"]) == cursor["mark"]
        )

    def replaced(self, cursor: Cursor) -> bool:
        """Whether a followed file is another one than that in which this place was found; it then begins anew."""
        inode = _inode_of(self.path)
        return self._tailed and inode is not None and not self._is_same(cursor, inode)

    def _begin_anew_if_replaced(self, cursor: Cursor, inode: int | None) -> None:
        if not self._is_same(cursor, inode):
            label = FileText.of(self.path).label
            notice = (
                f"{label} was replaced or became shorter: it is read again from the beginning; lines added to "
                f"the old file after line {cursor['line']} were not read"
            )
            cursor.update(byte=0, line=0, mark=0, generation=cursor.get("generation", 0) + 1)
            add_notice(cursor, notice)
            self._texts.forget_heads()
            self._seen.clear()
            self._growth.forget()
        cursor["inode"] = inode

    def _check(self, cursor: Cursor, done: bool = False) -> None:
        """Raises a fault unless what lies before a place is what was read to get there.

        Of what is `done`, the file may have gone if there was nothing behind the place.
        """
        files = self._files.known()
        if cursor["byte"] == 0 or (cursor["file"] >= len(files) and not self._tailed):
            return
        path = files[cursor["file"]] if files else self.path
        if done and self._is_gone(cursor, path):
            return
        inode = _inode_of(path)
        known = inode is not None and (
            cursor.get("inode") in (None, inode)
            and mark_before(self._texts.text(path), cursor["byte"]) == cursor["mark"]
        )
        if not known:
            raise _changed(path)

    def _passed(self, start: Cursor, end: Cursor) -> dict[int, int]:
        """Where the files end that the batch reads to their ends, as they were when it was planned."""
        ends = {start["file"] + number: size for number, (size, *_) in enumerate(end.get(PASSED, []))}
        for number, (size, mark, *lost) in enumerate(end.get(PASSED, [])):
            path = self._files.known()[start["file"] + number]
            if lost or (number == 0 and size == start["byte"] and self._is_gone(start, path)):
                continue
            text = self._texts.text(path) if os.path.exists(path) else None
            if text is None or text.size() != size or mark_before(text, size) != mark:
                raise _changed(path)
        return ends

    def finished(self, cursor: Cursor) -> bool:
        if self.follow and not self._files.ended():
            return False
        files = self._files.known()
        if cursor["file"] >= len(files):
            return True
        if cursor["file"] + 1 < len(files):
            return False
        if self._is_gone(cursor, files[-1]):
            return True
        if cursor["byte"] < self._texts.text(files[-1]).size():
            return False
        self._texts.check_size(files[-1])
        return True

    def waiting(self, cursor: Cursor) -> int | None:
        files = self._files.there()
        if any(map(is_packed, files[cursor["file"] :])):
            return None
        return lines_left(files, cursor["file"], cursor["byte"], cursor["line"])

    def row_bytes(self, cursor: Cursor) -> int:
        files = self._files.known()
        if cursor["file"] >= len(files) or not os.path.exists(path := files[cursor["file"]]):
            return 0
        if self._must_come(path):
            return 0
        return line_bytes(self._texts.text(path), cursor["byte"], cursor["line"])

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        if not has_moved(start, end):
            # What the cursor tells of files that were passed is about an earlier batch.
            return []
        share = max(1, -(-(end["row"] - start["row"]) // number))
        pieces: list[Piece] = []
        cursor = dict(start)
        self._check(end)
        if start.get("generation", 0) != end.get("generation", 0):
            cursor.update(byte=0, line=0)
        elif not _find_lost(end):
            self._check(start, True)
        files = self._files.known()
        ends, dates = self._passed(start, end), dates_of(end)
        while cursor["row"] < end["row"]:
            if cursor["file"] > end["file"]:
                raise _changed(files[end["file"]])
            path = files[cursor["file"]]
            if cursor["file"] == start["file"] and (lost := _find_lost(end)):
                pieces.append(
                    date_piece(_LostLine(os.path.basename(path), cursor["line"] + 1, lost[0]), dates, 0)
                )
                cursor.update(row=cursor["row"] + 1, file=cursor["file"] + 1, byte=0, line=0)
                continue
            stop = ends[cursor["file"]] if cursor["file"] in ends else int(end["byte"])
            if stop:
                self._skip_header(cursor, path, True, stop)
            if cursor["byte"] < stop:
                text = self._texts.text(path)
                found = self._scanned(path, cursor["byte"], end["row"] - cursor["row"], stop)
                place = cursor["byte"], cursor["line"], cursor["row"]
                cut = cut_lines(text, self._texts.form(path, True, stop), found, *place, share, self.schema)
                dated: list[Piece] = [
                    date_piece(piece, dates, cursor["file"] - start["file"]) for piece in cut
                ]
                pieces += date_rows(dated, end)
                cursor["row"] += len(found.ends)
            cursor.update(file=cursor["file"] + 1, byte=0, line=0)
        return pieces

    def _scanned(self, path: str, start: int, records: int, stop: int) -> Split:
        begun, found = self._seen.get(path, (-1, NOTHING))
        if begun == start and len(found.ends) and found.ends[-1] == stop:
            return found
        return scan(self._texts.text(path), start, records, self._csv, True, stop)

    def _skip_header(self, cursor: Cursor, path: str, final: bool, size: int) -> bool:
        """Goes behind the header of a file of that size; False if more of it must come to tell whether there is one."""
        if cursor["byte"]:
            return True
        head = self._texts.head(path, final, size)
        if head is not None:
            cursor.update(byte=head.bytes, line=cursor["line"] + head.lines)
        return head is not None
