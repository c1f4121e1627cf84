"""Rows into a table: all at once, and where that fails in halves, until the rows that it refuses stand alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aurora.engine.postgres.client import explain, psycopg, quote_names
from aurora.engine.postgres.encode import Encoded
from aurora.errors import AuroraError

__all__ = ["MOST_REFUSED", "Loading"]

# More rows than these of one batch are not refused one by one: something else is wrong.
MOST_REFUSED = 1000
CHUNK = 1 << 20
STAGED = "pg_temp.aurora_rows"
# Faults that are about a row: its values, a constraint, a trigger that raises, a value too large for an index.
ABOUT_ROWS = ("22", "23", "P0001", "54")


@dataclass(frozen=True)
class Loading:
    """`table` is written as SQL has it; with a `key`, rows replace those that have the same one."""

    what: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()

    def load(
        self, connection: Any, lines: Encoded, spans: Sequence[tuple[int, int]]
    ) -> list[tuple[int, str]]:
        """Writes spans of lines within the transaction that is open; gives the lines that were refused, and why."""
        if self.key:
            self._make_stage(connection)
        refused: list[tuple[int, str]] = []
        pending = [span for span in reversed(spans) if span[0] < span[1]]
        while pending:
            low, high = pending.pop()
            try:
                with connection.transaction():
                    self._write(connection, lines, low, high)
            except psycopg().Error as fault:
                if not str(fault.sqlstate or "").startswith(ABOUT_ROWS):
                    raise
                if high - low > 1:
                    middle = (low + high) // 2
                    pending += [(middle, high), (low, middle)]
                    continue
                refused.append((low, f"PostgreSQL refuses it: {explain(fault)}"))
                if len(refused) > MOST_REFUSED:
                    raise AuroraError(
                        f"{self.what}: PostgreSQL refuses more than {MOST_REFUSED:,} rows of one batch, the last one "
                        f"because: {explain(fault)}; change the table or the network, and give the same command again"
                    ) from None
        return refused

    def _write(self, connection: Any, lines: Encoded, low: int, high: int) -> None:
        names = ", ".join(map(quote_names, self.columns))
        target = STAGED if self.key else self.table
        with connection.cursor() as cursor, cursor.copy(f"COPY {target} ({names}) FROM STDIN") as copy:
            data = lines.part(low, high)
            for place in range(0, len(data), CHUNK):
                copy.write(data[place : place + CHUNK])
        if self.key:
            connection.execute(self._merge(names))
            connection.execute(f"TRUNCATE {STAGED}")

    def _number(self) -> str:
        """A column that no field has: the place of a row in the batch."""
        name = "n"
        while name in self.columns:
            name += "n"
        return quote_names(name)

    def _make_stage(self, connection: Any) -> None:
        names = ", ".join(map(quote_names, self.columns))
        connection.execute(
            f"CREATE TEMP TABLE aurora_rows ON COMMIT DROP AS SELECT {names} FROM {self.table} WITH NO DATA"
        )
        connection.execute(
            f"ALTER TABLE {STAGED} ADD COLUMN {self._number()} bigint GENERATED ALWAYS AS IDENTITY"
        )

    def _merge(self, names: str) -> str:
        """The last row of each key counts."""
        key = ", ".join(map(quote_names, self.key))
        last = f"SELECT DISTINCT ON ({key}) {names} FROM {STAGED} ORDER BY {key}, {self._number()} DESC"
        rest = [quote_names(name) for name in self.columns if name not in self.key]
        then = f"UPDATE SET {', '.join(f'{name} = EXCLUDED.{name}' for name in rest)}" if rest else "NOTHING"
        return f"INSERT INTO {self.table} ({names}) {last} ON CONFLICT ({key}) DO {then}"
