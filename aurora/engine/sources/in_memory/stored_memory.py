"""Rows of memory that are too many to travel with the query: they go through a file of the checkpoint."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import from_bytes, to_bytes
from aurora.engine.sources.in_memory.memory import Memory, advance_rows
from aurora.engine.sources.source import Cursor, Piece, Portion

__all__ = ["GROUP", "LARGEST", "StoredMemory", "store_if_large"]

# More bytes than these do not travel inside Spark's settings.
LARGEST = 4 << 20
GROUP = 65_536


@dataclass(frozen=True)
class _StoredPiece:
    path: str
    start: int
    rows: int

    def read(self, schema: Schema) -> Portion:
        with pa.memory_map(self.path) as data, pa.ipc.open_file(data) as file:
            groups = range(self.start // GROUP, (self.start + self.rows - 1) // GROUP + 1)
            table = pa.Table.from_batches([file.get_batch(group) for group in groups])
            part = table.slice(self.start - groups[0] * GROUP, self.rows).combine_chunks()
            rows = from_bytes(to_bytes(part.to_batches()[0]))
        return Portion(rows, np.arange(self.start, self.start + self.rows, dtype=np.int64))


@dataclass(frozen=True)
class StoredMemory:
    """The rows of a Memory in a file, which every task can open."""

    path: str
    count: int
    moments: tuple[tuple[int, int], ...]
    name: str
    live: bool = False

    def identity(self) -> str:
        return self.name

    def begin(self) -> Cursor:
        return {"row": 0, "moment": 0} if self.moments else {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        return advance_rows(cursor, rows, self.count, self.moments)

    def finished(self, cursor: Cursor) -> bool:
        return bool(cursor["row"] >= self.count and cursor.get("moment", 0) >= len(self.moments))

    def waiting(self, cursor: Cursor) -> int:
        return max(self.count - int(cursor["row"]), 0)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        places = range(start["row"], end["row"], share)
        return [_StoredPiece(self.path, at, min(share, end["row"] - at)) for at in places]


def store_if_large(memory: Memory, path: Path) -> Memory | StoredMemory:
    """The source itself, or one that has its rows in a file at `path`."""
    if memory.rows.nbytes <= LARGEST:
        return memory
    partial = path.with_name(path.name + ".partial")
    with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, memory.rows.schema) as writer:
        writer.write_table(pa.Table.from_batches([memory.rows]), max_chunksize=GROUP)
    partial.replace(path)
    return StoredMemory(str(path), memory.rows.num_rows, memory.moments, memory.identity())
