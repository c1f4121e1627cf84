"""When the bytes of a spool came: marks beside each of its segments, and pieces whose rows have these times.

A mark is written before the bytes that it is about: whoever sees a row finds its time, and the same one every time.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.sources.source import Portion, Wanted
from aurora.engine.sources.text.lines import LinePiece

__all__ = ["Marker", "StampedPiece", "read_marks", "remove_marks", "stamp"]

# Between two marks, in milliseconds.
APART = 20


def _times(segment: str) -> str:
    return f"{segment}.times"


class Marker:
    """The side of the receiver."""

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock = clock
        self._last: tuple[str, int] = "", 0

    def mark(self, segment: str, byte: int) -> None:
        """What comes next begins at this byte; the first bytes of a segment always have a mark."""
        now = self._clock()
        known, last = self._last
        if segment != known or now - last >= APART:
            with open(_times(segment), "ab", buffering=0) as file:
                file.write(np.array([byte, now], np.int64).tobytes())
            self._last = segment, now


def read_marks(segment: str) -> Ints:
    """Lines of a byte and the time of what came there; a mark that a kill has cut off is none."""
    try:
        with open(_times(segment), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        data = b""
    whole = len(data) // 16 * 16
    return np.frombuffer(data[:whole], np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class StampedPiece:
    """A piece whose rows came at the marked times: how far a row is in the piece says, about, at which byte it ends."""

    piece: LinePiece
    marks: Ints

    def read(self, schema: Schema) -> Portion:
        return self._stamped(self.piece.read(schema))

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        portion, passed = self.piece.read_some(schema, wanted)
        return self._stamped(portion), passed

    def _stamped(self, portion: Portion) -> Portion:
        piece = self.piece
        far = (portion.numbers - piece.number + 1) / max(piece.records, 1)
        bytes_ = piece.start + (far * (piece.stop - piece.start)).astype(np.int64) - 1
        places = np.searchsorted(self.marks[:, 0], bytes_, "right") - 1
        return replace(portion, arrived=self.marks[np.maximum(places, 0), 1])


def stamp(piece: LinePiece, marks: Ints) -> "LinePiece | StampedPiece":
    """The piece with the marks that its bytes need; without any it is as late as its batch."""
    first = max(int(np.searchsorted(marks[:, 0], piece.start, "right")) - 1, 0)
    own = marks[first : int(np.searchsorted(marks[:, 0], piece.stop))]
    return StampedPiece(piece, own.copy()) if len(own) else piece


def remove_marks(segment: str) -> None:
    if os.path.exists(_times(segment)):
        os.unlink(_times(segment))
