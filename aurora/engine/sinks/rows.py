"""Rows of an output in memory, for notebooks: as a table to look at, and for pandas, Polars and Arrow."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.showing import html_rows, text_rows
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["Rows"]


class Rows:
    """A sink that keeps its rows in memory. You can look at it while the network runs.

    >>> rows = Rows()
    >>> rows.expect("alarms", pa.schema({"Time": pa.int32(), "Cnt": pa.int64()}))
    >>> note = rows.deliver(0, pa.record_batch({"Time": [1], "Cnt": [2]}, rows.schema), None, rows.open(None))
    >>> rows
    <Rows alarms: 1 row>
    Time  Cnt
    1     2
    """

    def __init__(self) -> None:
        self.name = ""
        self.schema = pa.schema([])
        self._batches: list[pa.RecordBatch] = []

    @property
    def place(self) -> None:
        """None: it writes no file."""
        return None

    def expect(self, name: str, schema: pa.Schema) -> None:
        """Sets the name and the fields of the output, before the first batch."""
        self.name, self.schema = name, schema

    def open(self, note: Note) -> Note:
        """Forgets the rows that came after `note`."""
        wanted = note or 0
        if wanted > len(self):
            raise AuroraError(
                f"sink {self.name}: {wanted:,} rows came in an earlier run, and {len(self):,} of them are in this "
                "memory: give the output a file as its sink, or start over with Settings(fresh=True)"
            )
        self._batches = self.to_arrow().slice(0, wanted).to_batches()
        return wanted

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints | None, note: Note) -> Note:
        """Adds the rows of a batch."""
        self._batches = [*self._batches, rows]
        return note + rows.num_rows

    def sync(self) -> None:
        """Does nothing: memory does not survive a power cut."""

    def finish(self) -> None:
        """Does nothing: all rows are part of the result."""

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            yield from batch.to_pylist()

    def to_arrow(self) -> pa.Table:
        """All rows so far as a pyarrow Table."""
        return pa.Table.from_batches(self._batches, self.schema)

    def to_pandas(self) -> Any:
        """All rows so far as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows so far as a Polars DataFrame; needs the package polars."""
        try:
            polars = import_module("polars")
        except ImportError:
            raise AuroraError("Polars is not installed; install it with: pip install polars") from None
        return polars.from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        title = f"<Rows {self.name}: {len(self):,} {'row' if len(self) == 1 else 'rows'}>"
        return text_rows(title, self.to_arrow())

    def _repr_html_(self) -> str:
        return html_rows(self.name, self.to_arrow())
