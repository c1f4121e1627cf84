"""Rows of an output in memory, for notebooks: as a table to look at, and for pandas, Polars and Arrow."""

from collections.abc import Iterator
from html import escape
from importlib import import_module
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.algebra.tuples.types import type_name
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["Rows"]

# So many rows are shown, and so many letters of a value.
HTML, TEXT, LONGEST = 10, 5, 60


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
        return None

    def expect(self, name: str, schema: pa.Schema) -> None:
        """What will come, told before the first batch."""
        self.name, self.schema = name, schema

    def open(self, note: Note) -> Note:
        wanted = note or 0
        if wanted > len(self):
            raise AuroraError(
                f"sink {self.name}: {wanted:,} rows came in an earlier run, and {len(self):,} of them are in this "
                "memory: give the output a file as its sink, or start over with Settings(fresh=True)"
            )
        self._batches = self.to_arrow().slice(0, wanted).to_batches()
        return wanted

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints | None, note: Note) -> Note:
        self._batches = [*self._batches, rows]
        return note + rows.num_rows

    def sync(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            yield from batch.to_pylist()

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches(self._batches, self.schema)

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        try:
            polars = import_module("polars")
        except ImportError:
            raise AuroraError("Polars is not installed; install it with: pip install polars") from None
        return polars.from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        count = f"<Rows {self.name}: {len(self):,} {'row' if len(self) == 1 else 'rows'}>"
        names, rows = list(self.schema.names), self._first(TEXT)
        widths = [max(len(row[column]) for row in [names, *rows]) for column in range(len(names))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in [names, *rows]
        ]
        more = [".."] if len(self) > len(rows) else []
        return "\n".join([count, *(line.rstrip() for line in lines), *more])

    def _repr_html_(self) -> str:
        rows = self._first(HTML)
        head = "".join(
            f"<th>{escape(field.name)}<br><small>{escape(type_name(field.type))}</small></th>"
            for field in self.schema
        )
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        left = len(self) - len(rows)
        more = f"<p>and {left:,} more {'row' if left == 1 else 'rows'}</p>" if left else ""
        return f"<b>{escape(self.name)}</b><table><tr>{head}</tr>{body}</table>{more}"

    def _first(self, rows: int) -> list[list[str]]:
        """The first rows as text."""
        shown = self.to_arrow().slice(0, rows).to_pylist()
        return [[_text(row[name]) for name in self.schema.names] for row in shown]


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}.."
