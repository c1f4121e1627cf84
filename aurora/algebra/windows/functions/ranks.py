"""Functions that choose a value by its rank or by how often it comes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.values import order_codes, orderable, to_values
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.collections import from_lists, join_lists, single_lists, to_lists
from aurora.algebra.windows.functions.function import Function, add_runs, to_valid
from aurora.algebra.windows.functions.scans import smallest_of_ranges, starts_by_row

__all__ = ["Discrete", "Mode"]


@dataclass(frozen=True)
class Discrete(Function):
    """percentile_approx(x, p), exact: the smallest of the values that at least a share p of them does not exceed."""

    share: float

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [single_lists(normalise(arguments[0]), to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [join_lists(columns[0], starts)]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, owner, lengths = from_lists(columns[0])
        order = np.lexsort((order_codes(to_values(values)), owner))
        begins = np.cumsum(lengths) - lengths
        return self._taken(values, order, begins + self._rank(lengths), lengths == 0)

    def so_far(self, columns: list[pa.Array], starts: Ints) -> tuple[pa.Array, list[pa.Array]]:
        values, _, lengths = from_lists(columns[0])
        ends = np.cumsum(lengths)
        begins = (ends - lengths)[starts_by_row(starts, len(lengths))]
        some = np.flatnonzero(ends > begins)
        order = np.argsort(order_codes(to_values(values)), kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        first, past = begins[some], ends[some]
        place = np.zeros(len(lengths), np.int64)
        place[some] = smallest_of_ranges(rank, first, past, self._rank(past - first))
        return self._taken(values, order, place, ends == begins), self.combine(columns, starts)

    def _rank(self, counts: Ints) -> Ints:
        return np.asarray(np.maximum(np.ceil(self.share * counts).astype(np.int64), 1) - 1)

    def _taken(self, values: pa.Array, order: Ints, place: Ints, none: Ints) -> pa.Array:
        if not len(values):
            return pa.nulls(len(place), values.type)
        return values.take(pa.array(order[np.where(none, 0, place)], mask=none))


@dataclass(frozen=True)
class Mode(Function):
    """mode(x): the value that comes most often, of equals the smallest; kept are the values and their numbers."""

    width: ClassVar[int] = 2

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column, valid = normalise(arguments[0]), to_valid(arguments[0])
        return [single_lists(column, valid), single_lists(pa.array(np.ones(rows, np.int64)), valid)]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        values, owner, _ = from_lists(join_lists(columns[0], starts))
        numbers = join_lists(columns[1], starts).flatten().to_numpy()
        codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
        order = np.lexsort((codes, owner))
        firsts, _ = find_runs(owner[order], codes[order])
        kept = order[firsts]
        counts = add_runs(numbers[order], firsts)
        return [
            to_lists(values.take(pa.array(kept)), owner[kept], len(starts)),
            to_lists(pa.array(counts), owner[kept], len(starts)),
        ]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, owner, lengths = from_lists(columns[0])
        if not len(values):
            return pa.nulls(len(lengths), values.type)
        numbers = columns[1].flatten().to_numpy()
        order = np.lexsort((_codes(values), -numbers, owner))
        begins = np.cumsum(lengths) - lengths
        return values.take(pa.array(order[np.where(lengths > 0, begins, 0)], mask=lengths == 0))


def _codes(values: pa.Array) -> Ints:
    """Numbers in the order of the values."""
    if orderable(values.type):
        return order_codes(to_values(values))
    return np.asarray(pc.rank(values, tiebreaker="dense").to_numpy()).astype(np.int64)
