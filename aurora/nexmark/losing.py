"""A source some of whose rows never come: so a system can be watched that does not take everything."""

from dataclasses import dataclass, replace

import pyarrow as pa

from aurora import AuroraError, Cursor, Piece, Portion, Schema, Source

__all__ = ["Losing", "LosingSource"]

# The golden ratio spreads the numbers evenly, and any share of them alike.
RATIO = 0.6180339887498949


@dataclass(frozen=True)
class Losing:
    """What an address or a source gives, but for a share of the rows."""

    address: object
    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise AuroraError(f"what is lost is a share of the rows from 0 to below 1, found {self.share:g}")

    def wrap(self, source: Source) -> Source:
        return LosingSource(source, self.share)


@dataclass(frozen=True)
class LosingSource:
    """Loses a share of the rows, drawn by their numbers; the numbers of the others stay."""

    source: Source
    share: float

    @property
    def live(self) -> bool:
        return self.source.live

    def identity(self) -> str:
        own = getattr(self.source, "identity", None)
        return f"losing:{self.share:g}:{own() if own else type(self.source).__name__}"

    def forget(self, cursor: Cursor) -> None:
        own = getattr(self.source, "forget", None)
        if own is not None:
            own(cursor)

    def begin(self) -> Cursor:
        return self.source.begin()

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return self.source.advance(cursor, rows)

    def finished(self, cursor: Cursor) -> bool:
        return self.source.finished(cursor)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return [_LosingPiece(piece, self.share) for piece in self.source.pieces(start, end, number)]


@dataclass(frozen=True)
class _LosingPiece:
    piece: Piece
    share: float

    def read(self, schema: Schema) -> Portion:
        portion = self.piece.read(schema)
        kept = (portion.numbers * RATIO) % 1 >= self.share
        arrived = None if portion.arrived is None else portion.arrived[kept]
        rows = portion.rows.filter(pa.array(kept))
        return replace(portion, rows=rows, numbers=portion.numbers[kept], arrived=arrived)
