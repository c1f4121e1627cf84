"""Linear Road's tables in PostgreSQL."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv

from aurora.linear_road.rivals.database import BadLines
from aurora.linear_road.rivals.history_rows import history_batches
from aurora.linear_road.rivals.tables import TABLES, VIEWS
from aurora.linear_road.stored_histories import Histories

__all__ = ["PostgresDatabase"]

_INDEXES = {
    # Reports come and are asked for by time; so little is to be kept up.
    "reports_0": "(time)",
    "reports_1": "(time)",
}
_HISTORY_INDEXES = {"toll_history": "(vid, day, xway)", "segment_means": "(xway, dir, dow, seg, min)"}
# A few rows looked up in large tables. The planner has never seen the rows that have just come, and guesses: too many
# for these, and would hash the whole history; too few for all the rest, and would look them up one by one.
_LOOKUPS = frozenset({"expenditures", "journeys"})


class PostgresDatabase:
    name = "postgres"

    def __init__(self, address: str) -> None:
        self._lookups = psycopg.connect(address, autocommit=True)
        self._batches = psycopg.connect(address, autocommit=True)
        for connection, way in ((self._batches, "nestloop"), (self._lookups, "hashjoin")):
            connection.execute(f"set enable_{way} = off".encode())
            connection.execute("set enable_mergejoin = off")
        for table, columns in TABLES.items():
            self._batches.execute(f"create unlogged table {table} {columns}".encode())
        for table, columns in _INDEXES.items():
            self._batches.execute(f"create index on {table} {columns}".encode())
        for view, query in VIEWS.items():
            self._batches.execute(f"create view {view} as {query}".encode())

    def remember(self, histories: Histories, today: int) -> None:
        for table in _HISTORY_INDEXES:
            self.run("history", f"truncate {table}")
            self.run("history", f"drop index if exists {table}_key")
        for table, batch in history_batches(histories, today):
            lines = pa.BufferOutputStream()
            pyarrow.csv.write_csv(batch, lines, pyarrow.csv.WriteOptions(include_header=False))
            self._copy(table, [lines.getvalue().to_pybytes()])
        for table, columns in _HISTORY_INDEXES.items():
            self.run("history", f"create index {table}_key on {table} {columns}")
            self.run("history", f"analyze {table}")

    def load(self, files: Sequence[Path]) -> None:
        self._batches.execute("truncate arrived")
        try:
            self._copy("arrived", [file.read_bytes() for file in files])
        except (psycopg.DataError, psycopg.IntegrityError):
            raise BadLines from None

    def _copy(self, table: str, parts: Sequence[bytes]) -> None:
        with (
            self._batches.cursor() as cursor,
            cursor.copy(f"copy {table} from stdin (format csv)".encode()) as copy,
        ):
            for part in parts:
                copy.write(part)

    def run(self, name: str, statement: str) -> None:
        self._connection(name).execute(statement.encode())

    def ask(self, name: str, query: str) -> Any:
        row = self._connection(name).execute(query.encode()).fetchone()
        return row[0] if row else None

    def _connection(self, name: str) -> "psycopg.Connection[Any]":
        return self._lookups if name in _LOOKUPS else self._batches

    def close(self) -> None:
        self._lookups.close()
        self._batches.close()
