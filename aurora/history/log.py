"""The log behind a connection point: its tuples in order, in files that are named by the number of their first row.

Beside each file lies an index with a line for each segment. A note called `published` says how much of it counts: it is
written when the batch that brought the rows is done, so whoever reads sees whole batches only, each once.
"""

import json
import logging
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aurora.engine.durable import Damaged, read_json, unseal_line, write_whole
from aurora.history.segments import Segment, recover_segments

__all__ = ["PUBLISHED", "REMEDY", "Log", "Published", "log_file"]

DATA, INDEX = ".rows", ".index"
PUBLISHED = "published"
LOST = "restore it from a backup, or start over with --fresh"
REMEDY = "start the network again, which writes it anew; what the point keeps is not lost"


def log_file(folder: str, first: int, kind: str = DATA) -> str:
    return os.path.join(folder, f"{first:020}{kind}")


@dataclass(frozen=True)
class Published:
    """How much of a log counts: `rows` since its beginning, the last file, and the bytes of its index.

    `reached` is the largest value so far of what the stream is kept by, a field or the arrival; `since` what it was
    when the last file began. `mark` tells this log from one that was begun anew in its place, `form` by what its
    tuples are kept and found.
    """

    rows: int = 0
    file: int = 0
    index: int = 0
    data: int = 0
    reached: Any = None
    since: Any = None
    ended: bool = False
    mark: str = ""
    form: str = ""

    @staticmethod
    def read(folder: str) -> "Published":
        try:
            return Published(**read_json(Path(folder, PUBLISHED), REMEDY))
        except FileNotFoundError:
            return Published()
        except TypeError:
            raise Damaged(f"{Path(folder, PUBLISHED)} is damaged: it is no note of a log; {REMEDY}") from None

    def write(self, folder: str) -> None:
        write_whole(Path(folder, PUBLISHED), json.dumps(vars(self)))


@dataclass
class Log:
    """A log as one reads it. What it has seen of the index it remembers."""

    folder: str
    _known: dict[int, tuple[int, list[Segment]]] = field(default_factory=dict, repr=False)

    def published(self) -> Published:
        return Published.read(self.folder)

    def files(self) -> list[int]:
        """The first rows of its files."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(int(name.removesuffix(INDEX)) for name in names if name.endswith(INDEX))

    def first(self) -> int:
        """The number of the oldest row that is there."""
        return (self.files() or [0])[0]

    def size(self) -> int:
        """Bytes on the disk, of all that lies in its folder: copies, what is written aside, and notes as well."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                # What was there a moment ago may have been removed.
                with suppress(FileNotFoundError):
                    total += os.path.getsize(os.path.join(folder, name))
        return total

    def segments(self, start: int, stop: int, published: Published) -> list[tuple[str, Segment]]:
        """Those that hold the rows from `start` to `stop`, each with its file."""
        files = [first for first in self.files() if first <= published.file]
        found = []
        for first in files[max(bisect_right(files, start) - 1, 0) :]:
            if first >= stop:
                break
            for segment in self._whole_file(first, files, published):
                if segment.row < stop and segment.row + segment.rows > start:
                    found.append((log_file(self.folder, first), segment))
        return found

    def segments_back(self, start: int, published: Published) -> Iterator[tuple[str, Segment]]:
        """Those that hold rows from `start` on, the last one first."""
        files = [first for first in self.files() if first <= published.file]
        for first in reversed(files):
            for segment in reversed(self._whole_file(first, files, published)):
                if segment.row + segment.rows <= start:
                    return
                yield log_file(self.folder, first), segment

    def _whole_file(self, first: int, files: Sequence[int], published: Published) -> list[Segment]:
        """All segments of one file that count; raise a fault if rows are missing between it and the next file."""
        found = self.file_segments(first, published)
        after = next((other for other in files if other > first), published.rows)
        row = first
        for segment in found:
            if segment.row != row:
                break
            row += segment.rows
        # What is too old may have been removed since the files were listed.
        if row != after and self.first() <= first:
            lost = row if os.path.exists(log_file(self.folder, row)) else first
            raise Damaged(
                f"{log_file(self.folder, lost, INDEX)} is damaged or missing, so the rows {row:,} to {after - 1:,} "
                f"cannot be found; {LOST}"
            )
        return found

    def file_segments(self, first: int, published: Published) -> list[Segment]:
        """All segments of one file that count."""
        path = log_file(self.folder, first, INDEX)
        try:
            size = published.index if first == published.file else os.path.getsize(path)
            seen, segments = self._known.get(first, (0, []))
            if size > seen:
                with open(path, "rb") as file:
                    file.seek(seen)
                    lines = file.read(size - seen).splitlines()
                try:
                    # A new list: another thread may look at the old one, or add the same to it.
                    segments = [*segments, *_read_lines(path, lines, len(segments))]
                except Damaged as fault:
                    segments = _rebuild(path, first, size, fault)
                self._known[first] = size, segments
        except FileNotFoundError:
            return []
        # Whoever goes by an earlier word sees no more than that says.
        return [segment for segment in segments if segment.row < published.rows] if size < seen else segments

    def forget(self, first: int) -> None:
        self._known.pop(first, None)


def _rebuild(path: str, first: int, size: int, fault: Damaged) -> list[Segment]:
    """Write the first bytes of a damaged index anew, by what stands before each segment; raise the fault if that is
    not whole, as in files of an earlier version."""
    found, lines = [], b""
    for segment in recover_segments(path.removesuffix(INDEX) + DATA, first):
        if len(lines) < size:
            found.append(segment)
            lines += segment.to_line()
    if len(lines) != size:
        raise fault
    told = "was made anew from the rows, of which none is lost"
    try:
        # The same lines have the same bytes, so nobody who reads it, or adds to it, is disturbed.
        with open(path, "r+b") as file:
            file.write(lines)
    except OSError as reason:
        told = f"cannot be written: {reason.strerror}; its rows are read without it, and none is lost"
    logging.getLogger("aurora").warning(f"{path} was damaged and {told}")
    return found


def _read_lines(path: str, lines: list[bytes], before: int) -> Iterator[Segment]:
    for number, line in enumerate(lines, before + 1):
        try:
            yield Segment.from_json(json.loads(unseal_line(line)))
        except (ValueError, TypeError, KeyError):
            raise Damaged(
                f"{path} is damaged in line {number}, so the rows of {os.path.basename(path).replace(INDEX, DATA)} "
                f"cannot be found; {LOST}; the other files of that folder can be read"
            ) from None
