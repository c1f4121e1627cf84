"""What every source can do: say how far it goes, and cut what lies between two places into pieces."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema

__all__ = ["REJECTS", "Cursor", "Piece", "Portion", "Reject", "Source"]

# A place in a source; it is kept in Spark's offset log, so it is plain JSON. Every cursor has "row": rows before it.
Cursor = dict[str, Any]

REJECTS = Schema.parse("source string, file string, line bigint, reason string, text string")


@dataclass(frozen=True)
class Reject:
    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class Portion:
    """Rows that were read, the number of each among the rows of its source, and what could not be read.

    `arrived` says when each row came, in milliseconds since 1970; unless given, it is when its batch began.
    """

    rows: pa.RecordBatch
    numbers: npt.NDArray[np.int64]
    rejects: tuple[Reject, ...] = ()
    arrived: npt.NDArray[np.int64] | None = None


class Piece(Protocol):
    """A part of a source that one task reads, on any machine."""

    def read(self, schema: Schema) -> Portion: ...


@runtime_checkable
class Source(Protocol):
    """What a network may read from; one of your own is given to `run` as an object."""

    @property
    def live(self) -> bool:
        """Whether tuples arrive while the network runs; only then does local time pass for timeouts."""
        ...

    def begin(self) -> Cursor: ...

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        """The place at most `rows` rows further, as far as there are rows by now."""
        ...

    def finished(self, cursor: Cursor) -> bool:
        """Whether no row will ever come after this place."""
        ...

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        """About `number` pieces that together are what lies between the places."""
        ...
