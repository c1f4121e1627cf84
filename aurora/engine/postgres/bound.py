"""Up to which value of its growing column all rows of a table are there: what is read up to it is never added to.

A transaction takes its numbers when it writes, and shows its rows when it ends, so a row may appear behind one with a
larger number. Whoever writes to a table holds a lock on it until the end of the transaction. So the largest value that
can be seen at a moment is a bound as soon as all who held such a lock right after that moment have ended: who comes
later takes larger numbers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aurora.engine.postgres.client import quote_names

__all__ = ["Bounds"]

# Partitions and children count, too; who reads, or waits for the lock, does not.
WRITERS = """
WITH RECURSIVE tree(oid) AS (
  SELECT %s::bigint::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid
)
SELECT DISTINCT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND relation IN (SELECT oid FROM tree) AND pid IS DISTINCT FROM pg_backend_pid()
"""


@dataclass
class Bounds:
    """The bound of one table; `lag` is how many seconds a value must be known before it is one."""

    oid: int
    table: str
    column: str
    lag: float = 0.0
    clock: Callable[[], float] = time.monotonic
    bound: str | None = None
    # When the bound was first seen, in milliseconds since 1970.
    seen: int = 0
    wall: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    # A value that will be the bound, when it was seen, and those who have yet to end.
    _next: tuple[str, float, int] | None = None
    _writers: frozenset[str] = field(default_factory=frozenset)

    def find(self, connection: Any) -> str | None:
        """The bound of now, as text; None where there is none yet."""
        if self._next is None:
            newest = self._newest(connection)
            if newest is None or newest == self.bound:
                return self.bound
            self._next = newest, self.clock(), self.wall()
            self._writers = self._writing(connection)
        elif self._writers:
            self._writers &= self._writing(connection)
        value, since, seen = self._next
        if not self._writers and self.clock() - since >= self.lag:
            self.bound, self.seen, self._next = value, seen, None
        return self.bound

    @property
    def waits(self) -> bool:
        """Whether somebody who writes is waited for."""
        return bool(self._writers)

    def _newest(self, connection: Any) -> str | None:
        found = connection.execute(
            f"SELECT max({quote_names(self.column)})::text FROM {self.table}"
        ).fetchone()
        return None if found is None or found[0] is None else str(found[0])

    def _writing(self, connection: Any) -> frozenset[str]:
        return frozenset(row[0] for row in connection.execute(WRITERS, [self.oid]))
