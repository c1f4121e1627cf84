"""Stored sets as sources of tables: what a run must know of one beside how its rows are fetched."""

from typing import Protocol, runtime_checkable

import pyarrow as pa

from aurora.algebra.box.pulled import Pulled

__all__ = ["KeyedSet"]


@runtime_checkable
class KeyedSet(Pulled, Protocol):
    """Rows on disk that every task can reach; it travels as a path."""

    @property
    def place(self) -> str | None:
        """The file, folder or pattern that its rows came from."""
        ...

    @property
    def size(self) -> int:
        """Its bytes in memory, if it were read whole."""
        ...

    def identity(self) -> str:
        """What tells it from sets with other rows: a run does not go on with another one."""
        ...

    def read(self) -> pa.RecordBatch:
        """All its rows."""
        ...
