"""How much of a stream its connection point keeps: where the history begins, and what can be removed."""

import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aurora.engine.durable import Damaged, read_whole
from aurora.history.latest import copied_upto
from aurora.history.log import DATA, INDEX, Log, Published, log_file
from aurora.history.point_source import READERS
from aurora.history.segments import Segment, on_values, read_segment
from aurora.network.points import Keep, Point

__all__ = ["find_first", "find_readers", "remove_old"]


def find_first(
    log: Log, point: Point, keep: Keep, published: Published | None = None, now: float | None = None
) -> int:
    """The row with which the history of so much begins: the first one, by arrival, that belongs to it.

    A span of a field ends at the largest value so far, one of the arrival ends `now`. `published` is what can be read.
    """
    published = published or log.published()
    if keep.rows is not None:
        return max(published.rows - keep.rows, log.first())
    if keep.span is None or (point.on is not None and published.reached is None):
        return log.first()
    bound = _bound(point, keep.span, published, now)
    for first in log.files():
        if first > published.file:
            break
        for segment in log.file_segments(first, published):
            if _reaches(segment, point, bound):
                return _first_in(log_file(log.folder, first), segment, point, bound)
    return published.rows


def remove_old(log: Log, point: Point, now: float | None = None) -> int:
    """Removes the files whose rows are all older than what is kept and past every reader; gives their number."""
    published, files = log.published(), log.files()
    if len(files) < 2 or point.keep == Keep():
        return 0
    needed = min(find_readers(log.folder).values(), default=published.rows)
    removed = 0
    for first, after in pairwise(files):
        if after > needed or first >= published.file or not _is_old(log, first, after, point, published, now):
            break
        for kind in (INDEX, DATA):
            with suppress(FileNotFoundError):
                os.unlink(log_file(log.folder, first, kind))
        log.forget(first)
        removed += 1
    return removed


def _is_old(log: Log, first: int, after: int, point: Point, published: Published, now: float | None) -> bool:
    keep = point.keep
    if keep.latest:
        return after <= copied_upto(log.folder)
    if keep.rows is not None:
        return after <= published.rows - keep.rows
    if keep.span is None or (point.on is not None and published.reached is None):
        return False
    bound = _bound(point, keep.span, published, now)
    return not any(_reaches(segment, point, bound) for segment in log.file_segments(first, published))


def _bound(point: Point, span: Any, published: Published, now: float | None) -> Any:
    if point.on is not None:
        return published.reached - span
    return (time.time() if now is None else now) * 1000 - span


def _reaches(segment: Segment, point: Point, bound: Any) -> bool:
    extent = segment.arrived if point.on is None else segment.on
    return extent is not None and extent[1] >= bound


def _first_in(path: str, segment: Segment, point: Point, bound: Any) -> int:
    rows, arrived = read_segment(path, segment)
    if point.on is None:
        return segment.row + int(np.argmax(arrived >= bound))
    values, there = on_values(rows, point.on)
    return segment.row + int(np.argmax(there & (values >= bound)))


def find_readers(folder: str) -> dict[str, int]:
    """By query, the first row of a log that it may still ask for; one whose note cannot be read may ask for any."""
    found: dict[str, int] = {}
    for path in Path(folder, READERS).glob("*/*"):
        if path.suffix != ".partial":
            try:
                row = int(read_whole(path))
            except FileNotFoundError:
                continue
            except (ValueError, Damaged):
                row = 0
            found[path.parent.name] = min(found.get(path.parent.name, row), row)
    return found
