"""Linear Road's tables in an embedded DuckDB, in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from aurora.errors import AuroraError
from aurora.linear_road.records import FIELDS
from aurora.linear_road.rivals.database import BadLines
from aurora.linear_road.rivals.history_rows import history_queries
from aurora.linear_road.rivals.tables import TABLES, VIEWS
from aurora.linear_road.stored_histories import Histories

__all__ = ["DuckDatabase"]

_COLUMNS = "{" + ", ".join(f"'{field.lower()}': 'bigint'" for field in FIELDS) + "}"


class DuckDatabase:
    name = "duckdb"

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")
        for table, columns in TABLES.items():
            self._connection.execute(f"create table {table} {columns}")
        for view, query in VIEWS.items():
            self._connection.execute(f"create view {view} as {query}")

    def remember(self, histories: Histories, today: int) -> None:
        for table in ("toll_history", "segment_means"):
            self._connection.execute(f"truncate {table}")
        for table, query in history_queries(histories, today).items():
            try:
                self._connection.execute(f"insert into {table} {query}")
            except duckdb.Error as fault:
                raise AuroraError(f"cannot load the {table}: {str(fault).splitlines()[0]}") from None

    def load(self, files: Sequence[Path]) -> None:
        listed = "[" + ", ".join("'" + str(file).replace("'", "''") + "'" for file in files) + "]"
        try:
            self._connection.execute("truncate arrived")
            self._connection.execute(
                f"insert into arrived select * from read_csv({listed}, header = false, auto_detect = false, "
                f"delim = ',', columns = {_COLUMNS})"
            )
        except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.ConstraintException):
            raise BadLines from None

    def run(self, name: str, statement: str) -> None:
        self._connection.execute(statement)

    def ask(self, name: str, query: str) -> Any:
        row = self._connection.execute(query).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        self._connection.close()
