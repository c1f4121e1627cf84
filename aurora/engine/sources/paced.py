"""A source by the clock: its rows come at a given rate, however fast they could be read."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.source import (
    NOTICE,
    Cursor,
    Piece,
    Portion,
    SkippingPiece,
    Source,
    Wanted,
    can_skip,
    forget_before,
    is_replaced,
    rows_waiting,
    source_identity,
    why_uncut,
)
from aurora.errors import AuroraError

__all__ = ["Paced", "PacedSource", "Wrapping"]


@runtime_checkable
class Wrapping(Protocol):
    """What stands around an address or a source, and changes which of its rows come, and when."""

    @property
    def address(self) -> object: ...

    def wrap(self, source: Source) -> Source: ...


@dataclass(frozen=True)
class Paced:
    """The rows of an address or a source, at a fixed number of rows per second.

    `wait=False` delivers them at once, with the times at which they were due.
    """

    address: object
    rate: float
    wait: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1e9:
            raise AuroraError(f"a rate is a number of rows a second above 0, found {self.rate:g}")

    def wrap(self, source: Source) -> Source:
        """The same source, whose rows come at this rate."""
        return PacedSource(source, self.rate, wait=self.wait)


def _wall() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class PacedSource:
    """A cursor is that of the source and the millisecond at which the first row was due.

    Row n is due n / rate seconds later and counts as having arrived then, also where a slow network takes it later.
    """

    source: Source
    rate: float
    clock: Callable[[], int] = _wall
    wait: bool = True

    @property
    def live(self) -> bool:
        return self.wait

    @property
    def skips(self) -> bool:
        return can_skip(self.source)

    def uncut(self, cursor: Cursor) -> str:
        return why_uncut(self.source, cursor["source"])

    def replaced(self, cursor: Cursor) -> bool:
        return is_replaced(self.source, cursor["source"])

    def identity(self) -> str:
        return f"paced:{self.rate:g}:{self.wait}:{source_identity(self.source)}"

    def forget(self, cursor: Cursor) -> None:
        forget_before(self.source, cursor["source"])

    def begin(self) -> Cursor:
        return {"row": 0, "source": self.source.begin(), "began": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        began = cursor["began"] or self.clock()
        due = self._due(began) if self.wait else cursor["row"] + rows
        if due <= cursor["row"]:
            return cursor
        reached = self.source.advance(cursor["source"], min(rows, due - cursor["row"]))
        notice = {NOTICE: reached[NOTICE]} if NOTICE in reached and reached != cursor["source"] else {}
        return {"row": reached["row"], "source": reached, "began": began} | notice

    def waiting(self, cursor: Cursor) -> int | None:
        """Those that are due; without waiting for the clock, those of the source."""
        left = rows_waiting(self.source, cursor["source"])
        if not self.wait or not cursor["began"]:
            return left if not self.wait else 0
        due = max(self._due(cursor["began"]) - int(cursor["row"]), 0)
        return due if left is None else min(due, left)

    def _due(self, began: int) -> int:
        """How many rows should have come by now."""
        return int((self.clock() - began) * self.rate / 1000) + 1

    def finished(self, cursor: Cursor) -> bool:
        return self.source.finished(cursor["source"])

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        pieces = self.source.pieces(start["source"], end["source"], number)
        return [_PacedPiece(piece, end["began"], self.rate) for piece in pieces]


@dataclass(frozen=True)
class _PacedPiece:
    piece: Piece
    began: int
    rate: float

    def read(self, schema: Schema) -> Portion:
        return self._with_times(self.piece.read(schema))

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        if not isinstance(self.piece, SkippingPiece):
            return self.read(schema), 0
        portion, passed = self.piece.read_some(schema, wanted)
        return self._with_times(portion), passed

    def _with_times(self, portion: Portion) -> Portion:
        due = self.began + (portion.numbers * (1000 / self.rate)).astype(np.int64)
        return replace(portion, arrived=due)
