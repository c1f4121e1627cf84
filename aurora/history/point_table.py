"""The history of a connection point as a table: what it kept when a query came, looked up by its storage key."""

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.hashing import hash_rows
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.history.log import Log
from aurora.history.segments import Segment, find_keys, read_segment

__all__ = ["PointTable"]


@dataclass(frozen=True)
class PointTable:
    """The rows of a log, which has this mark, from `first` to `stop`; only those are read that are asked for."""

    folder: str
    key: tuple[str, ...]
    schema: Schema
    first: int
    stop: int
    mark: str = ""

    @property
    def place(self) -> None:
        """No file of the user's."""
        return None

    @property
    def size(self) -> int:
        return sum(segment.size for _, segment in self._segments())

    def identity(self) -> str:
        return f"point:{os.path.basename(self.folder)}:{self.first}:{self.stop}"

    def fetch(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The rows whose keys hash like one of these, in their order."""
        wanted = np.unique(hash_rows(list(keys.columns), keys.num_rows))
        rows, places = [pa.RecordBatch.from_pylist([], self.schema.arrow())], [np.empty(0, np.int64)]
        for path, segment in self._segments():
            found = find_keys(path, segment, wanted)
            found = found[(found >= self.first - segment.row) & (found < self.stop - segment.row)]
            if len(found):
                chosen = read_segment(path, segment)[0].select(list(self.schema.names)).take(pa.array(found))
                rows.append(chosen.cast(self.schema.arrow()))
                places.append(found + segment.row - self.first)
        return pa.concat_batches(rows), np.concatenate(places)

    def read(self) -> pa.RecordBatch:
        rows = [pa.RecordBatch.from_pylist([], self.schema.arrow())]
        for path, segment in self._segments():
            low, high = max(self.first - segment.row, 0), min(self.stop - segment.row, segment.rows)
            part = read_segment(path, segment)[0].select(list(self.schema.names)).slice(low, high - low)
            rows.append(part.cast(self.schema.arrow()))
        return pa.concat_batches(rows)

    def _segments(self) -> list[tuple[str, Segment]]:
        return _found(self.folder, self.first, self.stop, self.mark)


@lru_cache(maxsize=32)
def _found(folder: str, first: int, stop: int, mark: str) -> list[tuple[str, Segment]]:
    """What lies between two rows of a log does not change."""
    log = Log(folder)
    return log.segments(first, stop, log.published())
