"""Functions that need all values, or all different ones: kept as a list for each run."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.values import order_codes, orderable
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.functions.function import Function, fill_nulls, to_floats, to_valid
from aurora.algebra.windows.functions.scans import smallest_of_ranges, starts_by_row
from aurora.algebra.windows.functions.sums import Count

__all__ = ["Distinct", "Percentile", "from_lists", "join_lists", "single_lists", "to_lists"]


@dataclass(frozen=True)
class Percentile(Function):
    """percentile(x, p), and median(x) as percentile(x, 0.5): the values of each run, as a list.

    What lies between two values is interpolated, as SQL's percentile_cont does.
    """

    share: float

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        # Plus 0.0 makes 0.0 of -0.0.
        return [single_lists(pa.array(to_floats(arguments[0]) + 0.0), to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [join_lists(columns[0], starts)]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, owner, lengths = from_lists(columns[0])
        numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        order = np.lexsort((order_codes(numbers), owner))
        some = np.flatnonzero(lengths)
        begins = (np.cumsum(lengths) - lengths)[some]
        place = (lengths[some] - 1) * self.share
        below, above = np.floor(place), np.ceil(place)
        low = numbers[order[begins + below.astype(np.int64)]]
        high = numbers[order[begins + above.astype(np.int64)]]
        result = np.zeros(len(lengths))
        result[some] = self._between(low, high, place)
        return pa.array(result, mask=lengths == 0)

    def so_far(self, columns: list[pa.Array], starts: Ints) -> tuple[pa.Array, list[pa.Array]]:
        values, _, lengths = from_lists(columns[0])
        ends = np.cumsum(lengths)
        begins = (ends - lengths)[starts_by_row(starts, len(lengths))]
        some = np.flatnonzero(ends > begins)
        numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        order = np.argsort(order_codes(numbers), kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        first, past = begins[some], ends[some]
        place = (past - first - 1) * self.share
        low, high = (
            numbers[order[smallest_of_ranges(rank, first, past, number.astype(np.int64))]]
            for number in (np.floor(place), np.ceil(place))
        )
        result = np.zeros(len(lengths))
        result[some] = self._between(low, high, place)
        return pa.array(result, mask=ends == begins), self.combine(columns, starts)

    def _between(self, low: Values, high: Values, place: Values) -> Values:
        """What lies at a place between the values of the whole places around it."""
        below, above = np.floor(place), np.ceil(place)
        # Infinite values that meet have no middle: NaN, and no warning.
        with np.errstate(invalid="ignore"):
            between = (above - place) * low + (place - below) * high
        return np.where((low == high) | (below == above), low, between)


@dataclass(frozen=True)
class Distinct(Function):
    """count(distinct x), sum(distinct x) and avg(distinct x): the different values of each run, as a list."""

    of: Function

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column = normalise(arguments[0])
        return [single_lists(fill_nulls(column) if orderable(column.type) else column, to_valid(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        lists = join_lists(columns[0], starts)
        values, owner, _ = from_lists(lists)
        kept = _find_firsts(values, owner)
        if len(kept) == len(owner):
            return [lists]
        return [to_lists(values.take(pa.array(kept)), owner[kept], len(lists))]

    def so_far(self, columns: list[pa.Array], starts: Ints) -> tuple[pa.Array, list[pa.Array]]:
        """Each value counts where it first comes in its run; a sum goes on from there."""
        values, owner, lengths = from_lists(columns[0])
        run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(lengths))))
        kept = _find_firsts(values, run[owner])
        values, owner = values.take(pa.array(kept)), owner[kept]
        begins, _ = find_runs(run[owner])
        sums = self.of.finish(self.of.scan(self.of.lift([values], len(values)), begins))
        past = np.searchsorted(owner, np.arange(len(lengths)), side="right")
        none = past == np.searchsorted(owner, starts_by_row(starts, len(lengths)), side="left")
        result = sums.take(pa.array(past - 1, mask=none))
        state = to_lists(values, run[owner], len(starts))
        return result.fill_null(0) if isinstance(self.of, Count) else result, [state]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, _, lengths = from_lists(columns[0])
        if isinstance(self.of, Count):
            return pa.array(lengths)
        some = lengths > 0
        starts = (np.cumsum(lengths) - lengths)[some]
        places = np.where(some, np.cumsum(some) - 1, 0)
        return self.of.over([values], starts, len(values)).take(pa.array(places, mask=~some))


def _find_firsts(values: pa.Array, owner: Ints) -> Ints:
    """Where each value comes for the first time in the list that owns it."""
    codes = _number(values)
    if len(owner) and owner[0] != owner[-1]:
        codes = _number(pa.array(owner * (codes.max() + 1) + codes))
    # Values are numbered as they come, so a new one has a larger number than all before.
    largest = np.maximum.accumulate(codes)
    return np.flatnonzero(np.concatenate([[True], largest[1:] > largest[:-1]]) if len(codes) else codes)


def _number(values: pa.Array) -> Ints:
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.asarray(codes, np.int64)


def single_lists(values: pa.Array, valid: Ints) -> pa.Array:
    """Each value as a list of one, of none where it is not valid."""
    offsets = np.concatenate([[0], np.cumsum(valid)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(pa.array(valid == 1)))


def join_lists(lists: pa.Array, starts: Ints) -> pa.Array:
    """The lists of each run as one."""
    values, _, lengths = from_lists(lists)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    offsets = np.append(ends[starts], ends[-1]) if len(starts) else np.zeros(1)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def from_lists(lists: pa.Array) -> tuple[pa.Array, Ints, Ints]:
    """The values of all lists, the list of each, and how many each has."""
    lengths = np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)
    return lists.flatten(), np.repeat(np.arange(len(lengths)), lengths), lengths


def to_lists(values: pa.Array, owner: Ints, lists: int) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=lists))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
