"""Lines that cannot be asked for again: kept in files of the checkpoint until they are done with.

A spool is a folder of segments, each named by the number of its first byte. Beside them stand the `breaks`, the bytes
at which a connection ended in the wrong way; `ended`, once the other side has closed; `broken`, once it is given up.
"""

import json
import os
import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import (
    Damaged,
    cannot_write,
    read_json,
    read_whole,
    replace_note,
    sync_file,
    sync_folder,
    write_whole,
)
from aurora.engine.sources.live.arrivals import Marker, read_marks, remove_marks, stamp, sync_marks
from aurora.engine.sources.source import NOTICE, Cursor, Piece, add_notice, has_moved
from aurora.engine.sources.text.hints import hints
from aurora.engine.sources.text.lines import Form, Style, cut_lines, read_head
from aurora.engine.sources.text.record_ends import scan
from aurora.engine.sources.text.remaining_lines import lines_in
from aurora.errors import AuroraError

__all__ = ["SpoolText", "SpoolWriter", "SpooledLines"]

SEGMENT = 64 << 20
# In a cursor: the byte from which on the lines before it have a checksum, and that.
SUM = "sum"
# Bytes that are read at once for it.
CHUNK = 4 << 20


def _segments(folder: str) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except FileNotFoundError:
        return []


def _stretches(segments: list[int], stop: int) -> list[tuple[int, int]]:
    """Where each segment begins and ends, the last one at `stop`; none of a stream of which nothing has come."""
    return list(pairwise([*segments, stop])) if segments else []


def _segment(folder: str, first: int) -> str:
    return os.path.join(folder, f"{first:020}")


@dataclass(frozen=True)
class SpoolText:
    folder: str
    label: str

    def size(self) -> int:
        segments = _segments(self.folder)
        return segments[-1] + os.path.getsize(_segment(self.folder, segments[-1])) if segments else 0

    def read(self, start: int, stop: int) -> bytes:
        parts: list[bytes] = []
        segments = _segments(self.folder)
        if start < stop and segments and start < segments[0]:
            raise AuroraError(
                f"{self.label}: lines that a repeated batch needs are no longer stored; start over with --fresh"
            )
        for first, after in _stretches(segments, stop):
            if first < stop and (start < after or first == segments[-1]):
                with open(_segment(self.folder, first), "rb") as file:
                    file.seek(max(0, start - first))
                    parts.append(file.read(max(0, stop - max(start, first))))
        return b"".join(parts)


class SpoolWriter:
    """The side of the receiver. `segment` is the size from which on a new file is begun."""

    def __init__(self, folder: Path, segment: int = SEGMENT) -> None:
        self.folder = folder
        self._limit = segment
        self._first = self._written = 0
        self._marker = Marker()

    def open(self) -> bool:
        """Makes ready to go on behind what is there; False if the stream has ended before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / "ended").exists():
            return False
        (self.folder / "broken").unlink(missing_ok=True)
        size = SpoolText(str(self.folder), "").size()
        self._first, self._written = (_segments(str(self.folder)) or [0])[-1], size
        if size:
            # A line that a killed run cut off must not run into the next one.
            self.mark_break()
        return True

    def append(self, data: bytes) -> None:
        """Adds bytes; whoever reads them sees to it that they are on the disk, once for each batch."""
        if self._written - self._first >= self._limit:
            self._first = self._written
        path = _segment(str(self.folder), self._first)
        self._marker.mark(path, self._written)
        with open(path, "ab", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]
        self._written += len(data)

    def mark_break(self) -> None:
        breaks = _breaks(str(self.folder))
        if self._written > (breaks[-1] if breaks else 0):
            write_whole(self.folder / "breaks", json.dumps([*breaks, self._written]))

    def end(self) -> None:
        (self.folder / "ended").touch()
        sync_folder(self.folder)

    def give_up(self, reason: str) -> None:
        replace_note(self.folder / "broken", reason)


def _breaks(folder: str) -> list[int]:
    try:
        found: list[int] = read_json(Path(folder, "breaks"))
    except FileNotFoundError:
        return []
    return found


@dataclass
class SpooledLines:
    """A cursor is the byte and the line, the rows before it, and the form of the lines where it stands.

    Each stretch between two breaks is like a file: it may begin with a header, and its last line, if it is cut off,
    is rejected. A feed that is broken is a fault, once all that came from it has been read.
    """

    folder: str
    label: str
    style: Style
    schema: Schema
    live: bool = field(default=True, init=False)
    skips: bool = field(default=True, init=False)

    @property
    def _text(self) -> SpoolText:
        return SpoolText(self.folder, self.label)

    def _ended(self) -> bool:
        return os.path.exists(os.path.join(self.folder, "ended"))

    def _broken(self) -> str | None:
        try:
            return read_whole(Path(self.folder, "broken"))
        except FileNotFoundError:
            return None

    def identity(self) -> str:
        return f"{self.style}:{self.label}"

    def begin(self) -> Cursor:
        return {"byte": 0, "line": 0, "row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        # Asked for before the lines are looked at: what came before it is there by now.
        broken = self._broken()
        reached = self._advance({key: cursor[key] for key in cursor if key != NOTICE}, rows)
        if has_moved(cursor, reached):
            self._sync(cursor["byte"], reached["byte"])
            reached[SUM] = [cursor["byte"], self._sum(cursor["byte"], reached["byte"])]
            return reached
        if broken is not None:
            raise AuroraError(broken)
        return cursor

    def _advance(self, cursor: Cursor, rows: int) -> Cursor:
        target = cursor["row"] + rows
        ended = self._ended()
        breaks = _breaks(self.folder)
        size = self._text.size()
        self.check_reached(cursor)
        first = cursor["row"] == 0
        while cursor["row"] < target and cursor["byte"] < size:
            stop = next((place for place in breaks if place > cursor["byte"]), size)
            complete = stop in breaks or ended
            if not self._enter(cursor, stop, complete, breaks):
                break
            form = Form.from_json(cursor["form"])
            found = scan(self._text, cursor["byte"], target - cursor["row"], form.csv, complete, stop)
            if len(found.ends):
                if first:
                    place = cursor["byte"], cursor["line"]
                    add_notice(cursor, hints(self._text, form, *place, self.schema, ended))
                first = False
                cursor["byte"] = int(found.ends[-1])
                cursor["line"] += int(found.lines[-1])
                cursor["row"] += len(found.ends)
            if cursor["byte"] < stop:
                break
        return cursor

    def check_reached(self, cursor: Cursor) -> None:
        """Raises a fault if bytes are gone that were read: what comes next would be taken for them."""
        size = self._text.size()
        if cursor["byte"] > size:
            raise AuroraError(
                f"{self.label}: {self.folder} holds what came up to byte {size:,}, and the run has read up to byte "
                f"{cursor['byte']:,}: what came was lost on the disk; start over with --fresh"
            )

    def _sync(self, start: int, stop: int) -> None:
        """What lies between two bytes is on the disk, before it is noted anywhere that it was read."""
        try:
            for first in self._between(start, stop):
                sync_file(_segment(self.folder, first))
                sync_marks(_segment(self.folder, first))
                if first >= start:
                    sync_folder(self.folder)
        except OSError as fault:
            raise cannot_write(self.folder, fault) from None

    def _sum(self, start: int, stop: int) -> int:
        """Return the checksum of what lies between two bytes."""
        found = 0
        for at in range(start, stop, CHUNK):
            found = zlib.crc32(self._text.read(at, min(at + CHUNK, stop)), found)
        return found

    def _check_sum(self, end: Cursor) -> None:
        """Raise a fault if the lines of a batch are not those that were there when it was planned."""
        if SUM not in end:
            return
        start, known = end[SUM]
        segments = _segments(self.folder)
        if segments and segments[0] <= start and self._sum(start, end["byte"]) != known:
            raise Damaged(
                f"{self.label}: {self.folder} is damaged between byte {start:,} and byte {end['byte']:,} of what came: "
                "its checksum does not fit; what came is lost; start over with --fresh"
            )

    def _enter(self, cursor: Cursor, stop: int, complete: bool, breaks: list[int]) -> bool:
        """At the beginning of a stretch, reads its head; False if that must wait."""
        start = cursor["byte"]
        if start and start not in breaks:
            return True
        head = read_head(self._text, start, self.style, self.schema, complete, stop, stop not in breaks)
        if head is not None:
            cursor.update(byte=start + head.bytes, line=cursor["line"] + head.lines, form=head.form.to_json())
        return head is not None

    def finished(self, cursor: Cursor) -> bool:
        return self._ended() and cursor["byte"] >= self._text.size()

    def waiting(self, cursor: Cursor) -> int:
        return lines_in(self._text.size() - cursor["byte"], cursor["byte"], cursor["line"])

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        pieces: list[Piece] = []
        cursor = dict(start)
        self.check_reached(end)
        self._check_sum(end)
        breaks, marks = _breaks(self.folder), self._marks(start["byte"], end["byte"])
        while cursor["row"] < end["row"]:
            stop = next((place for place in breaks if cursor["byte"] < place <= end["byte"]), end["byte"])
            self._enter(cursor, stop, True, breaks)
            form = Form.from_json(cursor["form"])
            found = scan(self._text, cursor["byte"], end["row"] - cursor["row"], form.csv, True, stop)
            place = cursor["byte"], cursor["line"], cursor["row"]
            cut = cut_lines(self._text, form, found, *place, share, self.schema, stop in breaks)
            pieces += [stamp(piece, marks) for piece in cut]
            cursor["row"] += len(found.ends)
            cursor["line"] += int(found.lines[-1]) if len(found.lines) else 0
            cursor["byte"] = stop
        return pieces

    def _marks(self, start: int, stop: int) -> Ints:
        """When what lies between two bytes came."""
        found = [read_marks(_segment(self.folder, first)) for first in self._between(start, stop)]
        return np.concatenate([np.empty((0, 2), np.int64), *found])

    def _between(self, start: int, stop: int) -> list[int]:
        """The segments in which these bytes lie."""
        return [
            first for first, end in _stretches(_segments(self.folder), stop) if first < stop and end > start
        ]

    def forget(self, cursor: Cursor) -> None:
        segments = _segments(self.folder)
        for first, after in pairwise(segments):
            if after <= cursor["byte"]:
                Path(_segment(self.folder, first)).unlink(missing_ok=True)
                remove_marks(_segment(self.folder, first))
