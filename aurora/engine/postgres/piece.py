"""The part of a table that one task reads: the rows between two values of its growing column."""

from dataclasses import dataclass, replace
from typing import Any

from aurora.algebra.tuples.schema import Schema
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.client import in_utc, quote_names, repeat
from aurora.engine.postgres.fetch import Columns, fetch_lines, parse_lines, select_list
from aurora.engine.sources.source import Portion
from aurora.errors import AuroraError

__all__ = ["Place", "PostgresPiece", "explain_change"]


@dataclass(frozen=True)
class Place:
    """A table and its growing column, as SQL has them, and in which order its rows come."""

    table: str
    column: str
    kind: str
    unique: bool

    @property
    def by(self) -> str:
        return quote_names(self.column)

    @property
    def order(self) -> str:
        # Rows with the same value come in the order in which they lie there.
        return self.by if self.unique else f"{self.by}, tableoid, ctid"

    def between(self, after: str | None, last: str | None) -> str:
        """The clause for the rows behind one value and up to another."""
        bounds = [(">", after), ("<=", last)]
        parts = [f"{self.by} {sign} {self.literal(value)}" for sign, value in bounds if value is not None]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def literal(self, value: str) -> str:
        text = value.replace("'", "''")
        return f"'{text}'::{self.kind}"


def explain_change(what: str, address: PostgresAddress, rows: int, found: int) -> AuroraError:
    return AuroraError(
        f"{what}: {address.place} had {rows:,} rows for a batch, and has {found:,} now: rows that were read are not to "
        "be removed or added to while a run may read them again; put them back, or start over with --fresh"
    )


@dataclass(frozen=True)
class PostgresPiece:
    what: str
    address: PostgresAddress
    declared: Schema
    columns: Columns
    place: Place
    after: str | None
    last: str
    rows: int
    number: int

    def read(self, schema: Schema) -> Portion:
        # Whether a row is good must show even where no field of it is wanted.
        wanted = schema if len(schema) else self.declared
        portion = repeat(self.what, self.address, lambda connection: self._read(connection, wanted))
        if portion.rejects:
            lines = repeat(self.what, self.address, self._values)
            rejects = tuple(replace(bad, line=lines[bad.line]) for bad in portion.rejects)
            portion = replace(portion, rejects=rejects)
        return portion

    def _rest(self) -> str:
        return (
            f"FROM {self.place.table}{self.place.between(self.after, self.last)} ORDER BY {self.place.order}"
        )

    def _read(self, connection: Any, schema: Schema) -> Portion:
        query = f"SELECT {select_list(self.columns, schema)} {self._rest()}"
        with in_utc(connection):
            lines = list(fetch_lines(connection, schema, query))
        if len(lines) != self.rows:
            raise explain_change(self.what, self.address, self.rows, len(lines))
        return parse_lines(lines, schema, self.number, self.address.place)

    def _values(self, connection: Any) -> list[int]:
        """What is told as the line of a bad row: its value in the growing column, where that is a whole number."""
        if self.place.kind not in ("smallint", "integer", "bigint"):
            return [self.number + place + 1 for place in range(self.rows)]
        return [int(value) for (value,) in connection.execute(f"SELECT {self.place.by} {self._rest()}")]
