"""Tuples in memory: for tests, notebooks and examples."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import from_bytes, to_bytes
from aurora.engine.showing import html_rows, text_rows
from aurora.engine.sources.in_memory.given_rows import as_dicts, as_table, is_frame
from aurora.engine.sources.in_memory.inferred_schema import infer_schema
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Memory", "advance_rows"]


@dataclass(frozen=True)
class _MemoryPiece:
    data: bytes
    number: int

    def read(self, schema: Schema) -> Portion:
        rows = from_bytes(self.data)
        return Portion(rows, np.arange(self.number, self.number + rows.num_rows, dtype=np.int64))


@dataclass(frozen=True, repr=False)
class Memory:
    """Rows in memory; with `moments` a virtual clock: (milliseconds, rows that arrived by then), one batch each."""

    schema: Schema
    rows: pa.RecordBatch
    moments: tuple[tuple[int, int], ...] = ()
    # Where nobody gave a schema: whether the rows may have more fields than the input that takes them.
    wide: bool | None = None

    @classmethod
    def of(cls, schema: Any, rows: Any = None) -> "Memory":
        """`Memory.of("Sid int, Pos int", rows)`, or `Memory.of(rows)` with the schema that the rows have.

        Rows are a list of dicts, a DataFrame of pandas or Polars, or a RecordBatch or Table of pyarrow.
        """
        if rows is None and not isinstance(schema, str | Schema):
            table, wide = as_table(schema)
            found = infer_schema(table.schema)
            return cls(found, _one_batch(table, found), wide=wide)
        schema = schema if isinstance(schema, Schema) else Schema.parse(schema)
        return cls(schema, _one_batch(_table(rows, schema), schema))

    def fitted(self, name: str, schema: Schema) -> "Memory":
        """The same rows, cast to the schema of the input `name`; an error if they do not fit."""
        if schema == self.schema:
            return self
        if self.wide is None:
            raise AuroraError(f"source {name} has the schema ({self.schema}), but the input has ({schema})")
        try:
            table = pa.Table.from_batches([self.rows])
            if not self.wide:
                _check_known(self.schema.names, schema)
            return Memory(schema, _one_batch(_table(table, schema), schema), self.moments)
        except AuroraError as fault:
            raise AuroraError(f"source {name}: {fault}") from None

    @classmethod
    def timed(
        cls, schema: str | Schema, moments: Sequence[tuple[int, Sequence[Mapping[str, Any]]]]
    ) -> "Memory":
        """Rows that arrive at given milliseconds of a virtual clock."""
        source = cls.of(schema, [row for _, rows in moments for row in rows])
        ends = np.cumsum([len(rows) for _, rows in moments]).tolist()
        return cls(
            source.schema, source.rows, tuple((now, end) for (now, _), end in zip(moments, ends, strict=True))
        )

    @property
    def live(self) -> bool:
        """False: all rows are there from the start."""
        return False

    def uncut(self, cursor: Cursor) -> str:
        """Return why it cannot stop at any row: all rows of a moment come at once."""
        return "the rows of a virtual clock come when it says" if self.moments else ""

    def identity(self) -> str:
        """The number of rows and their checksum."""
        return f"memory:{self.rows.num_rows}:{zlib.crc32(to_bytes(self.rows)):08x}:{len(self.moments)}"

    def begin(self) -> Cursor:
        """The position before the first row."""
        return {"row": 0, "moment": 0} if self.moments else {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        """The position at most `rows` rows further; with `moments`, after the rows of the next moment."""
        return advance_rows(cursor, rows, self.rows.num_rows, self.moments)

    def finished(self, cursor: Cursor) -> bool:
        """Whether all rows lie before this position."""
        return bool(cursor["row"] >= self.rows.num_rows and cursor.get("moment", 0) >= len(self.moments))

    def waiting(self, cursor: Cursor) -> int:
        """The number of rows after this position."""
        return max(int(self.rows.num_rows) - int(cursor["row"]), 0)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        """About `number` pieces of equal length."""
        share = max(1, -(-(end["row"] - start["row"]) // number))
        places = range(start["row"], end["row"], share)
        return [_MemoryPiece(to_bytes(self.rows.slice(at, min(share, end["row"] - at))), at) for at in places]

    def __repr__(self) -> str:
        rows = self.rows.num_rows
        return text_rows(
            f"<Memory: {rows:,} {'row' if rows == 1 else 'rows'}>", pa.Table.from_batches([self.rows])
        )

    def _repr_html_(self) -> str:
        return html_rows("Memory", pa.Table.from_batches([self.rows]))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (self.schema, to_bytes(self.rows), self.moments)


def _restored(schema: Schema, data: bytes, moments: tuple[tuple[int, int], ...]) -> Memory:
    return Memory(schema, from_bytes(data), moments)


def advance_rows(cursor: Cursor, rows: int, count: int, moments: tuple[tuple[int, int], ...]) -> Cursor:
    """The place behind the rows of the next moment; without moments, at most `rows` further of `count`."""
    if moments:
        if cursor["moment"] == len(moments):
            return cursor
        now, end = moments[cursor["moment"]]
        return {"row": end, "moment": cursor["moment"] + 1, "now": now}
    return {"row": min(cursor["row"] + rows, count)}


def _table(rows: Any, schema: Schema) -> pa.Table:
    """Anything that has rows, as a table with at least the fields of the schema."""
    names = list(schema.names)
    if is_frame(rows):
        if hasattr(rows, "iloc"):
            # Other columns may hold what Arrow has no type for.
            rows = rows[[name for name in rows.columns if name in names or not names]]
        table = as_table(rows)[0]
    else:
        given = as_dicts(rows, names[0])
        _check_known((name for row in given for name in row), schema)
        try:
            return pa.Table.from_pylist([dict(row) for row in given], schema.arrow())
        except (pa.ArrowException, TypeError, OverflowError) as fault:
            raise AuroraError(f"the rows do not fit ({schema}): {str(fault).splitlines()[0]}") from None
    there = table.column_names
    missing = [f"{name}{did_you_mean(name, there)}" for name in names if name not in there]
    if missing:
        raise AuroraError(f"the rows have no field {', '.join(missing)}; their fields are {', '.join(there)}")
    return table.select(names)


def _check_known(names: Iterable[str], schema: Schema) -> None:
    unknown = next((name for name in names if name not in schema), None)
    if unknown is not None:
        near = did_you_mean(unknown, schema.names)
        raise AuroraError(f"the rows have a field {unknown}{near}; the schema is ({schema})")


def _one_batch(table: pa.Table, schema: Schema) -> pa.RecordBatch:
    try:
        batches = table.cast(schema.arrow()).combine_chunks().to_batches()
    except pa.ArrowException as fault:
        raise AuroraError(f"the rows do not fit ({schema}): {str(fault).splitlines()[0]}") from None
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema.arrow())
