"""Tuples in memory: for tests, notebooks and examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import from_bytes, to_bytes
from aurora.engine.sources.source import Cursor, Piece, Portion

__all__ = ["Memory"]


@dataclass(frozen=True)
class _MemoryPiece:
    data: bytes
    number: int

    def read(self, schema: Schema) -> Portion:
        rows = from_bytes(self.data)
        return Portion(rows, np.arange(self.number, self.number + rows.num_rows, dtype=np.int64))


@dataclass(frozen=True)
class Memory:
    """Rows, or with `moments` a virtual clock: (milliseconds, rows that have come by then), one batch each."""

    schema: Schema
    rows: pa.RecordBatch
    moments: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, schema: str | Schema, rows: Sequence[Mapping[str, Any]] | pa.RecordBatch) -> "Memory":
        schema = schema if isinstance(schema, Schema) else Schema.parse(schema)
        if not isinstance(rows, pa.RecordBatch):
            rows = pa.RecordBatch.from_pylist([dict(row) for row in rows], schema.arrow())
        return cls(schema, rows)

    @classmethod
    def timed(
        cls, schema: str | Schema, moments: Sequence[tuple[int, Sequence[Mapping[str, Any]]]]
    ) -> "Memory":
        """Rows that come at given milliseconds of a virtual clock."""
        source = cls.of(schema, [row for _, rows in moments for row in rows])
        ends = np.cumsum([len(rows) for _, rows in moments]).tolist()
        return cls(
            source.schema, source.rows, tuple((now, end) for (now, _), end in zip(moments, ends, strict=True))
        )

    @property
    def live(self) -> bool:
        return False

    def begin(self) -> Cursor:
        return {"row": 0, "moment": 0} if self.moments else {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        if self.moments:
            if cursor["moment"] == len(self.moments):
                return cursor
            now, end = self.moments[cursor["moment"]]
            return {"row": end, "moment": cursor["moment"] + 1, "now": now}
        return {"row": min(cursor["row"] + rows, self.rows.num_rows)}

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["row"] >= self.rows.num_rows and cursor.get("moment", 0) >= len(self.moments))

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        places = range(start["row"], end["row"], share)
        return [_MemoryPiece(to_bytes(self.rows.slice(at, min(share, end["row"] - at))), at) for at in places]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (self.schema, to_bytes(self.rows), self.moments)


def _restored(schema: Schema, data: bytes, moments: tuple[tuple[int, int], ...]) -> Memory:
    return Memory(schema, from_bytes(data), moments)
