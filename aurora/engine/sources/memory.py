"""Tuples in memory: for tests, notebooks and examples."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import from_bytes, to_bytes
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


@dataclass(frozen=True)
class Memory:
    """Rows in memory; with `moments` a virtual clock: (milliseconds, rows that arrived by then), one batch each."""

    schema: Schema
    rows: pa.RecordBatch
    moments: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, schema: str | Schema, rows: Any) -> "Memory":
        """`rows`: a list of dicts, a pandas DataFrame, or a RecordBatch or Table of pyarrow."""
        schema = schema if isinstance(schema, Schema) else Schema.parse(schema)
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        return cls(schema, _one_batch(_table(rows, schema), schema))

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
        return False

    def identity(self) -> str:
        return f"memory:{self.rows.num_rows}:{zlib.crc32(to_bytes(self.rows)):08x}:{len(self.moments)}"

    def begin(self) -> Cursor:
        return {"row": 0, "moment": 0} if self.moments else {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return advance_rows(cursor, rows, self.rows.num_rows, self.moments)

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["row"] >= self.rows.num_rows and cursor.get("moment", 0) >= len(self.moments))

    def waiting(self, cursor: Cursor) -> int:
        return max(int(self.rows.num_rows) - int(cursor["row"]), 0)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        places = range(start["row"], end["row"], share)
        return [_MemoryPiece(to_bytes(self.rows.slice(at, min(share, end["row"] - at))), at) for at in places]

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
    if isinstance(rows, pa.Table):
        table = rows
    elif hasattr(rows, "columns") and hasattr(rows, "iloc"):
        there = [name for name in names if name in rows.columns]
        try:
            table = pa.Table.from_pandas(rows[there], preserve_index=False)
        except pa.ArrowException as fault:
            raise AuroraError(f"the rows of the DataFrame do not fit ({schema}): {fault.args[0]}") from None
    else:
        given = list(rows) if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) else [None]
        if not all(isinstance(row, Mapping) for row in given):
            raise AuroraError(
                f"rows are a list of dicts, a pandas DataFrame or a pyarrow Table, found {_kind(rows)}: "
                f"give for example [{{'{names[0]}': ..}}, ..]"
            )
        unknown = next((name for row in given for name in row or () if name not in schema), None)
        if unknown is not None:
            raise AuroraError(
                f"the rows have a field {unknown}{did_you_mean(unknown, names)}; the schema is ({schema})"
            )
        try:
            return pa.Table.from_pylist([dict(row) for row in given if row is not None], schema.arrow())
        except (pa.ArrowException, TypeError, OverflowError) as fault:
            raise AuroraError(f"the rows do not fit ({schema}): {str(fault).splitlines()[0]}") from None
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise AuroraError(
            f"the rows have no field {', '.join(missing)}; their fields are {', '.join(table.column_names)}"
        )
    return table.select(names)


def _kind(rows: Any) -> str:
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and len(rows):
        return f"a {type(rows).__name__} of {type(rows[0]).__name__}"
    return f"a {type(rows).__name__}"


def _one_batch(table: pa.Table, schema: Schema) -> pa.RecordBatch:
    try:
        batches = table.cast(schema.arrow()).combine_chunks().to_batches()
    except pa.ArrowException as fault:
        raise AuroraError(f"the rows do not fit ({schema}): {str(fault).splitlines()[0]}") from None
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema.arrow())
