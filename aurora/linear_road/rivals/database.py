"""What a relational system must offer to run the rules, and making its tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from aurora.linear_road.rivals.tables import TABLES
from aurora.linear_road.stored_histories import Histories

__all__ = ["BadLines", "Database", "empty"]


class BadLines(Exception):
    """Some line is no tuple, by its types or by the constraints of the table; nothing was loaded."""


class Database(Protocol):
    """A system with the tables of tables.py. A statement comes with its name in rules.py."""

    name: str

    def remember(self, histories: Histories, today: int) -> None:
        """Loads the histories, in place of what was there."""

    def load(self, files: Sequence[Path]) -> None:
        """Replaces what is in `arrived` by the lines of these files, or raises BadLines."""

    def run(self, name: str, statement: str) -> None: ...

    def ask(self, name: str, query: str) -> Any:
        """The one value that a query gives."""

    def close(self) -> None: ...


_HISTORY = ("toll_history", "segment_means")


def empty(database: Database) -> None:
    """As before the first tuple; the histories stay."""
    for table in TABLES:
        if table not in _HISTORY:
            database.run("empty", f"truncate {table}")
