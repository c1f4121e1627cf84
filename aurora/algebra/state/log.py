"""A log: batches of rows over a range of values, written as they come and read when a value of the range is due.

Nothing is looked up while it is written, and what is no longer of use goes a piece at a time. Where pieces become many,
the youngest are put together.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.state.turn import Turn

__all__ = ["Log"]

# From so many small pieces on, the youngest become one; at least so many together, unless they are large.
MANY = 64
TOGETHER = 32
LARGE = 1 << 19
# A piece of more rows is stored in several values: a store holds each in memory several times.
ROWS = 1 << 16


@dataclass(frozen=True)
class Piece:
    """Rows with values from `low` to `high`, in so many `parts`."""

    number: int
    low: int
    high: int
    rows: int
    parts: int


class Log:
    """`field` is the column whose values, whole numbers, rise from row to row of a batch."""

    def __init__(self, turn: Turn, name: str, field: str) -> None:
        self._state = turn.state
        self._name = name
        self._field = field
        stored = self._state.get(name)
        self._pieces = [] if stored is None else [Piece(**row) for row in stored.to_pylist()]
        self._changed = False

    def read(self, below: int | None) -> list[pa.RecordBatch]:
        """The rows whose values are below the bound, or all, without a copy; the oldest first."""
        found = []
        for piece in self._pieces:
            if below is None or piece.low < below:
                parts = [self._state.get(self._part(piece, part)) for part in range(piece.parts)]
                found += [self._cut(part, below) for part in parts if part is not None]
        return [part for part in found if part.num_rows]

    def _cut(self, rows: pa.RecordBatch, below: int | None) -> pa.RecordBatch:
        if below is None:
            return rows
        return rows.slice(0, int(np.searchsorted(rows.column(self._field).to_numpy(), below, side="left")))

    def append(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows == 0:
            return
        values = rows.column(self._field).to_numpy()
        number = 1 + max((piece.number for piece in self._pieces), default=-1)
        parts = -(-rows.num_rows // ROWS)
        piece = Piece(number, int(values[0]), int(values[-1]), rows.num_rows, parts)
        for part in range(parts):
            self._state.put(self._part(piece, part), rows.slice(part * ROWS, ROWS))
        self._pieces.append(piece)
        self._changed = True

    def forget(self, dead: Callable[[int], bool]) -> None:
        """Removes the pieces of whose largest value this is true."""
        for piece in [piece for piece in self._pieces if dead(piece.high)]:
            self._remove(piece)

    def tidy(self, join: Callable[[list[pa.RecordBatch]], pa.RecordBatch]) -> None:
        """Puts the youngest pieces together where there are many; `join` makes one batch of those it is given."""
        first, rows = len(self._pieces), 0
        if sum(piece.rows < LARGE for piece in self._pieces) < MANY:
            return
        while first and (piece := self._pieces[first - 1]).rows < LARGE:
            if len(self._pieces) - first >= TOGETHER and piece.rows > rows:
                break
            first, rows = first - 1, rows + piece.rows
        youngest = self._pieces[first:]
        parts = [
            self._state.get(self._part(piece, part)) for piece in youngest for part in range(piece.parts)
        ]
        joined = join([part for part in parts if part is not None])
        for piece in youngest:
            self._remove(piece)
        self.append(joined)

    def write(self) -> None:
        """Notes which pieces there are; call it at the end of the turn."""
        if self._changed:
            noted = [vars(piece) for piece in self._pieces]
            self._state.put(self._name, pa.RecordBatch.from_pylist(noted) if noted else None)

    def _remove(self, piece: Piece) -> None:
        self._pieces.remove(piece)
        self._changed = True
        for part in range(piece.parts):
            self._state.put(self._part(piece, part), None)

    def _part(self, piece: Piece, part: int) -> str:
        return f"{self._name} {piece.number} {part}"
