"""When the files of a followed folder came, which is when their rows arrived.

A file came when it was last written, or was moved to where it is, but not before the run began, and not before the
files ahead of it: arrival times rise. They are noted in the cursor, so a batch that is run again finds the same.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.source import Cursor, Piece, Portion, SkippingPiece, Wanted

__all__ = ["DATES", "date_piece", "dates_of", "find_date"]

# In a cursor: for each file that the batch before it read from, when it came, in milliseconds since 1970.
DATES = "dates"


def dates_of(cursor: Cursor) -> list[int]:
    """Those of the batch before it; none where the cursor is one of an earlier version."""
    return list(cursor.get(DATES, ()))


def find_date(path: str, before: int, now: int) -> int:
    """When a file came, behind one that came `before`. The user can set other times of a file, but not this one."""
    try:
        came = os.stat(path).st_ctime_ns // 1_000_000
    except FileNotFoundError:
        # Its unpacked copy is read.
        return before
    return max(before, min(came, now))


@dataclass(frozen=True)
class _DatedPiece:
    piece: Piece
    came: int

    def read(self, schema: Schema) -> Portion:
        return self._dated(self.piece.read(schema))

    def _dated(self, portion: Portion) -> Portion:
        return replace(portion, arrived=np.full(len(portion.numbers), self.came, np.int64))


@dataclass(frozen=True)
class _DatedSkippingPiece(_DatedPiece):
    piece: SkippingPiece

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        portion, passed = self.piece.read_some(schema, wanted)
        return self._dated(portion), passed


def date_piece(piece: Piece, dates: Sequence[int], number: int) -> Piece:
    """A piece of the file with this number among those of the batch, whose rows came when it did."""
    if number >= len(dates):
        return piece
    if isinstance(piece, SkippingPiece):
        return _DatedSkippingPiece(piece, dates[number])
    return _DatedPiece(piece, dates[number])
