"""A table as a source that follows its growing column: a cursor holds the last value that was read."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.outages import Unreachable
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.bound import Bounds
from aurora.engine.postgres.client import repeat
from aurora.engine.postgres.fetch import Columns
from aurora.engine.postgres.piece import Place, PostgresPiece, explain_change
from aurora.engine.sources.growth import SEEN, date_rows
from aurora.engine.sources.source import Cursor, Piece
from aurora.engine.waits import Waiting, waits

__all__ = ["PostgresTable"]


@dataclass(frozen=True)
class PostgresTable:
    """`first` is the value behind which a run began, `last` the one up to which it reads, unless it follows.

    Values are kept as PostgreSQL writes them. What lies between two of them is the same whenever it is read.
    """

    name: str
    address: PostgresAddress
    schema: Schema
    columns: Columns
    oid: int
    place: Place
    first: str | None
    last: str | None
    follow: bool

    @property
    def live(self) -> bool:
        return self.follow

    @property
    def keeps(self) -> bool:
        """What is not read yet waits in the table: a run that falls behind loses nothing."""
        return True

    def uncut(self, cursor: Cursor) -> str:
        """Return why it is not cut at any row: all rows of a value come at once."""
        return "a table that is read by a growing column is read in the order of that column"

    @property
    def _what(self) -> str:
        return f"source {self.name}"

    def identity(self) -> str:
        return self.address.identity()

    def begin(self) -> Cursor:
        return {"row": 0, "after": self.first}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        if not self.follow:
            return repeat(self._what, self.address, lambda known: self._reach(known, cursor, rows, self.last))
        asking = _asking_of(self)
        now = time.monotonic()
        if now < asking.next:
            return cursor

        def reach(connection: Any) -> Cursor:
            return self._reach(connection, cursor, rows, asking.find(connection))

        try:
            reached = repeat(self._what, self.address, reach, wait=False)
        except Unreachable:
            reached = cursor
        asking.tell(f"{self._what}: a transaction that writes to {self.place.table} has not ended")
        if reached == cursor:
            # A table without new rows is not asked again before it is time.
            asking.next = now + self.address.poll
            return reached
        least = max([0, *(ms for _, ms in cursor.get(SEEN, ()))])
        came = asking.come(lambda bound: self._is_behind(bound, cursor["after"]))
        return {**reached, SEEN: [[cursor["row"], max(came, least)]]}

    def _is_behind(self, value: str, other: str | None) -> bool:
        """Whether one value of the growing column comes behind another; times compare as they are written."""
        if other is None:
            return True
        if self.place.kind in ("smallint", "integer", "bigint", "numeric"):
            # To PostgreSQL, what is no number comes behind all others.
            return Decimal(value).is_nan() or Decimal(value) > Decimal(other)
        return value > other

    def _reach(self, connection: Any, cursor: Cursor, rows: int, last: str | None) -> Cursor:
        if last is None or last == cursor["after"]:
            return cursor
        by, where = self.place.by, self.place.between(cursor["after"], last)
        # All rows of a value, or none.
        inner = (
            f"SELECT {by} AS v FROM {self.place.table}{where} ORDER BY 1 FETCH FIRST {rows:d} ROWS WITH TIES"
        )
        found, reached = connection.execute(f"SELECT count(*), max(v)::text FROM ({inner}) q").fetchone()
        return {"row": cursor["row"] + found, "after": reached} if found else cursor

    def finished(self, cursor: Cursor) -> bool:
        return not self.follow and (self.last is None or self.advance(cursor, 1) == cursor)

    def waiting(self, cursor: Cursor) -> int | None:
        """Of whole numbers, how far it is to the newest one, as if none were missing."""
        newest = _asking_of(self).bounds.bound if self.follow else self.last
        if (
            self.place.kind not in ("smallint", "integer", "bigint")
            or newest is None
            or cursor["after"] is None
        ):
            return None
        return max(int(newest) - int(cursor["after"]), 0)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        rows = end["row"] - start["row"]
        if not rows:
            return []
        share = max(1, -(-rows // number))
        by, where = self.place.by, self.place.between(start["after"], end["after"])
        part = f"(rank() OVER (ORDER BY {by}) - 1) / {share:d} AS part"
        inner = f"SELECT {by} AS v, {part} FROM {self.place.table}{where}"
        query = f"SELECT max(v)::text, count(*) FROM ({inner}) q GROUP BY part ORDER BY part"
        parts = repeat(self._what, self.address, lambda connection: connection.execute(query).fetchall())
        found = sum(count for _, count in parts)
        if found != rows:
            raise explain_change(self._what, self.address, rows, found)
        pieces: list[Piece] = []
        after, row = start["after"], start["row"]
        for last, count in parts:
            pieces.append(
                PostgresPiece(
                    self._what, self.address, self.schema, self.columns, self.place, after, last, count, row
                )
            )
            after, row = last, row + count
        return date_rows(pieces, end)


@dataclass
class _Asking:
    """What is known of a table in this process, and when it is to be asked next."""

    bounds: Bounds
    next: float = 0.0
    waiting: Waiting | None = None
    # Bounds that are not reached yet, and when each was first seen.
    seen: list[tuple[str, int]] = field(default_factory=list)

    def find(self, connection: Any) -> str | None:
        found = self.bounds.find(connection)
        if found is not None and (not self.seen or self.seen[-1][0] != found):
            self.seen.append((found, self.bounds.seen))
        return found

    def come(self, is_left: Callable[[str], bool]) -> int:
        """Return when the first rows of a batch were seen: by the first bound that lies behind its start."""
        while len(self.seen) > 1 and not is_left(self.seen[0][0]):
            del self.seen[0]
        return self.seen[0][1]

    def tell(self, what: str) -> None:
        """Say that rows wait for those who write, or no more."""
        if not self.bounds.waits:
            if self.waiting is not None:
                waits.end(self.waiting)
            self.waiting = None
        elif self.waiting is None:
            self.waiting = waits.begin(what, "the run waits for it with the rows behind it")


_askings: dict[PostgresTable, _Asking] = {}


def _asking_of(source: PostgresTable) -> _Asking:
    if source not in _askings:
        place = source.place
        bounds = Bounds(source.oid, place.table, place.column, source.address.lag or 0.0)
        _askings[source] = _Asking(bounds)
    return _askings[source]
