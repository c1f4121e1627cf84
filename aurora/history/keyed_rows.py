"""Rows on disk with an index by key: both are mapped into memory, so a fetch reads the pages that it touches."""

import os
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.arrays import expand
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.train import Ints
from aurora.errors import AuroraError

__all__ = ["ROWS", "StoredSet", "hashes_file", "places_file"]

ROWS = "rows.arrow"
OPEN = 32


def hashes_file(run: int) -> str:
    """The ascending hashes of the keys of a run of rows."""
    return f"hashes-{run}.npy"


def places_file(run: int) -> str:
    """For each hash the place of its row, counted from the first row of the run."""
    return f"places-{run}.npy"


@dataclass(frozen=True)
class StoredSet:
    """A folder with the rows of a stored set, `rows` of them, in batches of `group`, so that the place of a row says in
    which it is; `starts` are the first rows of the runs of its index.

    `mark` tells it from sets with other rows, `place` is where they came from, `size` their bytes.
    """

    path: str
    key: tuple[str, ...]
    rows: int
    size: int
    group: int
    starts: tuple[int, ...]
    mark: str
    place: str | None = None

    def identity(self) -> str:
        return self.mark

    def fetch(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The rows whose keys hash like one of these, in their order."""
        files = _open_files(self.path, len(self.starts))
        wanted = np.unique(hash_rows(list(keys.columns), keys.num_rows))
        found = [start + run.find(wanted) for start, run in zip(self.starts, files.runs, strict=True)]
        places = np.sort(np.concatenate([np.empty(0, np.int64), *found]))
        return files.take(places, self.group), places

    def read(self) -> pa.RecordBatch:
        files = _open_files(self.path, len(self.starts))
        return pa.concat_batches([files.none, *files.batches])


@dataclass(frozen=True)
class _Run:
    hashes: Hashes
    places: npt.NDArray[np.uint32]

    def find(self, wanted: Hashes) -> Ints:
        """The places of the rows with these hashes, which ascend."""
        low = np.searchsorted(self.hashes, wanted, side="left")
        high = np.searchsorted(self.hashes, wanted, side="right")
        at, _ = expand(low, high)
        return self.places[at].astype(np.int64)


@dataclass(frozen=True)
class _Files:
    batches: list[pa.RecordBatch]
    runs: list[_Run]
    none: pa.RecordBatch

    def take(self, places: Ints, group: int) -> pa.RecordBatch:
        """The rows at these places, which ascend, of batches of so many."""
        number, inside = np.divmod(places, group)
        cuts = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), len(places)]
        parts = [
            self.batches[int(number[low])].take(pa.array(inside[low:high]))
            for low, high in pairwise(cuts)
            if low < high
        ]
        return pa.concat_batches([self.none, *parts])


@lru_cache(maxsize=OPEN)
def _open_files(path: str, runs: int) -> _Files:
    """A folder never changes under its name, so what is open may be used again."""
    try:
        file = pa.ipc.open_file(pa.memory_map(os.path.join(path, ROWS)))
        batches = [file.get_batch(number) for number in range(file.num_record_batches)]
        index = [
            _Run(*(_mapped(os.path.join(path, name)) for name in (hashes_file(number), places_file(number))))
            for number in range(runs)
        ]
    except OSError as fault:
        raise AuroraError(
            f"the stored set in {path} cannot be read: {fault.strerror or fault}; every worker needs that folder, "
            "so give one that all of them can reach"
        ) from None
    return _Files(batches, index, pa.RecordBatch.from_pylist([], file.schema))


def _mapped(path: str) -> np.ndarray[Any, Any]:
    return np.asarray(np.load(path, mmap_mode="r"))
