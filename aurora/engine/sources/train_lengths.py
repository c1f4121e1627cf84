"""A source in trains of given lengths: what a row costs can be seen where trains differ."""

from dataclasses import dataclass

from aurora.engine.sources.source import (
    NOTICE,
    Cursor,
    Piece,
    Source,
    rows_waiting,
    source_identity,
    why_uncut,
)

__all__ = ["Cut", "CutSource"]

# So many rows are looked at to guess how many there are; a source that does not tell is taken to have `UNKNOWN`.
LOOK, UNKNOWN = 50_000, 1_000_000


@dataclass(frozen=True)
class Cut:
    """What an address or a source gives, in trains of these shares of its rows, of which there are `most` at most."""

    address: object
    shares: tuple[float, ...]
    most: int

    def wrap(self, source: Source) -> Source:
        place = source.advance(source.begin(), LOOK)
        left = rows_waiting(source, place)
        rows = min(UNKNOWN if left is None else int(place["row"]) + left, self.most)
        return CutSource(source, tuple(max(round(share * rows), 1) for share in self.shares))


@dataclass(frozen=True)
class CutSource:
    """A cursor is that of the source, and how many trains there were. Behind the last length, they begin again."""

    source: Source
    lengths: tuple[int, ...]
    live: bool = False

    def uncut(self, cursor: Cursor) -> str:
        return why_uncut(self.source, cursor["source"])

    def identity(self) -> str:
        return f"cut:{source_identity(self.source)}"

    def begin(self) -> Cursor:
        return {"row": 0, "source": self.source.begin(), "trains": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        length = self.lengths[cursor["trains"] % len(self.lengths)]
        reached = self.source.advance(cursor["source"], min(length, rows))
        if reached["row"] == cursor["row"]:
            return {**cursor, "source": reached}
        notice = {NOTICE: reached[NOTICE]} if NOTICE in reached else {}
        return {"row": reached["row"], "source": reached, "trains": cursor["trains"] + 1} | notice

    def waiting(self, cursor: Cursor) -> int | None:
        return rows_waiting(self.source, cursor["source"])

    def finished(self, cursor: Cursor) -> bool:
        return self.source.finished(cursor["source"])

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return self.source.pieces(start["source"], end["source"], number)
