"""Several points of one network as the inputs of a query: their tuples in the order in which they arrived there.

The log of a point has for each row the arrival number of what caused it in the network above. Rows of several points
are merged by it, and a batch ends at one place in that order, so a join sees them as one within the network would.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import Damaged, read_whole, replace_note
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.history.log import REMEDY
from aurora.history.point_source import PointPiece, PointSource
from aurora.history.segments import read_numbers

__all__ = ["AlignedPoint", "Together", "note_passed"]

PASSED = "passed"


def note_passed(folder: Path, number: int) -> None:
    """All rows of all points with a smaller arrival number are there."""
    replace_note(folder / PASSED, str(number))


@dataclass
class Together:
    """The points that a query takes, and the folder of all points. What was found last is shared by its inputs."""

    sources: tuple[PointSource, ...]
    folder: str
    _found: tuple[list[int], list[int]] | None = field(default=None, repr=False)

    def advance(self, index: int, places: list[int], rows: int) -> list[int]:
        """The rows of each point that a batch may reach; the first input looks anew, the others take what it found."""
        if index == 0 or self._found is None or self._found[0] != places:
            self._found = places, self._advance(places, rows)
        return self._found[1]

    def _advance(self, places: list[int], rows: int) -> list[int]:
        passed = self._passed()
        there = [_count_before(source, passed) for source in self.sources]
        reached = [max(place, min(place + rows, most)) for place, most in zip(places, there, strict=True)]
        # Behind the first row, in the order of all, that is one too many for its point.
        held = [
            (_number_at(source, place), index)
            for index, (source, place) in enumerate(zip(self.sources, reached, strict=True))
            if place < there[index]
        ]
        if held:
            number, first = min(held)
            for index, source in enumerate(self.sources):
                if index != first:
                    fits = _count_before(source, number + 1 if index < first else number)
                    reached[index] = max(places[index], min(reached[index], fits))
        return reached

    def _passed(self) -> int:
        try:
            return _read_passed(Path(self.folder, PASSED))
        except FileNotFoundError:
            return 0


def _read_passed(path: Path) -> int:
    text = read_whole(path, REMEDY) or "0"
    if not text.isdecimal():
        raise Damaged(f"{path} is damaged: it holds no number; {REMEDY}")
    return int(text)


def _count_before(source: PointSource, number: int) -> int:
    """How many rows of a source have a smaller arrival number."""
    count = 0
    for log, first, rows in source.parts():
        for path, segment in log.segments_back(first, log.published()):
            if segment.numbers[0] < number:
                inside = segment.rows
                if segment.numbers[1] >= number:
                    inside = int(np.searchsorted(read_numbers(path, segment), number))
                if segment.row + inside > first:
                    count += min(segment.row + inside - first, rows)
                break
    return count


def _number_at(source: PointSource, row: int) -> int:
    """The arrival number of a row of a source."""
    for log, first, rows in source.parts():
        if row < rows:
            ((path, segment),) = log.segments(first + row, first + row + 1, log.published())
            return int(read_numbers(path, segment)[first + row - segment.row])
        row -= rows
    raise AssertionError("there is no such row")


@dataclass(frozen=True)
class _AlignedPiece:
    """A piece of one point, and the pieces of the others in the same batch, by their index."""

    own: PointPiece
    index: int
    begin: int
    others: tuple[tuple[int, tuple[PointPiece, ...]], ...]

    def read(self, schema: Schema) -> Portion:
        portion = self.own.read(schema)
        rows = portion.numbers
        numbers = self.own.read_numbers()[rows + self.own.first - self.own.start]
        order: Ints = rows - self.begin
        for index, pieces in self.others:
            theirs = np.concatenate([np.empty(0, np.int64), *(piece.read_numbers() for piece in pieces)])
            order = order + np.searchsorted(theirs, numbers, "right" if index < self.index else "left")
        return Portion(portion.rows, rows, arrived=portion.arrived, order=order)


@dataclass
class AlignedPoint:
    """One of several points. A cursor has its own rows, and those of all."""

    together: Together
    index: int
    live: bool = field(default=True, init=False)
    history: bool = field(default=True, init=False)

    @property
    def _own(self) -> PointSource:
        return self.together.sources[self.index]

    def identity(self) -> str:
        return self._own.identity()

    def there(self) -> int:
        return self._own.there()

    def begin(self) -> Cursor:
        return {"row": 0, "all": [0] * len(self.together.sources)}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        reached = self.together.advance(self.index, cursor["all"], rows)
        return {"row": reached[self.index], "all": reached}

    def finished(self, cursor: Cursor) -> bool:
        return self._own.finished(cursor)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        others = []
        for index, source in enumerate(self.together.sources):
            if index != self.index:
                low, high = start["all"][index], end["all"][index]
                others.append((index, tuple(source.point_pieces({"row": low}, {"row": high}, 1))))
        return [
            _AlignedPiece(piece, self.index, start["row"], tuple(others))
            for piece in self._own.point_pieces(start, end, number)
        ]

    def forget(self, cursor: Cursor) -> None:
        self._own.forget(cursor)
