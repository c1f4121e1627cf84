"""The best tuples of a window: a reducer whose value is not a field but a list of whole tuples, the best first."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import SortKey
from aurora.algebra.tuples.arrays import find_runs, value_order
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.collections import from_lists, to_lists
from aurora.algebra.windows.reducer import Reducer

__all__ = ["ARRIVED", "Best"]

# The arrival time rides along with each tuple.
ARRIVED = "#ts"


@dataclass(frozen=True)
class Best(Reducer):
    """Keeps `k` tuples of each run of rows, with `ties` also those that are as good as the last of them.

    Rows come in the order of their window, lists are sorted, and all sorts here are stable. So of equals the earlier
    one stands first wherever panes are put together, and nothing more need be remembered of when it came.
    """

    k: int = 1
    by: tuple[SortKey, ...] = ()
    ties: bool = False

    @property
    def outputs(self) -> dict[str, pa.DataType]:
        return {}

    @property
    def ordered(self) -> bool:
        return True

    @cached_property
    def fields(self) -> frozenset[str]:
        return frozenset(self.schema.names)

    def arguments(self, rows: pa.RecordBatch) -> list[pa.Array]:
        return [rows.column(name) for name in self.schema.names]

    def lift(self, columns: list[pa.Array], rows: int) -> list[pa.Array]:
        """Each tuple as a list of one."""
        tuples = pa.StructArray.from_arrays(columns, [*self.schema.names, ARRIVED])
        return [pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32)), tuples)]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        (lists,) = columns
        if len(starts) == len(lists):
            return columns
        tuples, owner, _ = from_lists(lists)
        run = np.searchsorted(starts, owner, side="right") - 1
        chosen = self._choose(self.codes(pa.RecordBatch.from_struct_array(tuples)), run)
        return [to_lists(tuples.take(pa.array(chosen)), run[chosen], len(starts))]

    def candidates(self, columns: list[pa.Array], run: Ints) -> Ints:
        """The tuples, not lifted yet, that are among the best of their run, in the order in which they stand."""
        names = self.schema.names
        codes = self.codes(pa.RecordBatch.from_arrays(columns[: len(names)], names=list(names)))
        if self.k > 1:
            return np.sort(self._choose(codes, run))
        left = np.arange(len(run))
        for code in codes:
            starts, number = find_runs(run[left])
            least = np.minimum.reduceat(code[left], starts) if len(starts) else code[:0]
            left = left[code[left] == least[number]]
        return left if self.ties else left[find_runs(run[left])[0]]

    def codes(self, rows: pa.RecordBatch) -> list[Ints]:
        """Numbers by which tuples compare, the smallest the best."""
        return [code for key in self.by for code in key.codes(rows)]

    def ranks(self, codes: list[Ints], run: Ints) -> Ints:
        """For tuples by run, the best first: how many of the run stand before each, or, with ties, are better."""
        starts, number = find_runs(run)
        place = np.arange(len(run))
        if self.ties:
            firsts, block = find_runs(run, *codes)
            place = firsts[block]
        return place - starts[number]

    def _choose(self, codes: list[Ints], run: Ints) -> Ints:
        """The best of each run, by run, the best first; `run` ascends."""
        order = value_order(run, codes[0]) if len(codes) == 1 else np.lexsort((*codes[::-1], run))
        # Sorting by run first leaves the runs where they are.
        return order[self.ranks([code[order] for code in codes], run) < self.k]
