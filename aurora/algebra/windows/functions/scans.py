"""Algorithms on runs and ranges of rows: what is true of a run up to each of its rows, or of a range inside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.arrays import expand
from aurora.algebra.tuples.train import Ints, Values

__all__ = [
    "Ranges",
    "accumulate_runs",
    "add_up_runs",
    "extremes_of_ranges",
    "run_ends",
    "scan_by_doubling",
    "smallest_of_ranges",
    "starts_by_row",
]

# So many rows are written out at once where ranges overlap.
MOST_ROWS = 1 << 20


@dataclass(frozen=True)
class Ranges:
    """The rows low..high-1, one or more for each range, of what columns are when they are brought in this order."""

    order: Ints
    low: Ints
    high: Ints

    def arrange(self, column: pa.Array) -> pa.Array:
        return column.take(pa.array(self.order))

    def take_first(self, column: pa.Array) -> pa.Array:
        return column.take(pa.array(self.order[self.low]))

    def take_last(self, column: pa.Array) -> pa.Array:
        return column.take(pa.array(self.order[self.high - 1]))

    def write_out(self) -> Iterator[tuple[Ints, Ints]]:
        """The ranges one behind the other, as many at a time as fit: the rows, and where each range starts."""
        lengths = self.high - self.low
        ends = np.cumsum(lengths)
        first = 0
        while first < len(ends):
            before = int(ends[first - 1]) if first else 0
            past = max(int(np.searchsorted(ends, before + MOST_ROWS, side="right")), first + 1)
            place, _ = expand(self.low[first:past], self.high[first:past])
            yield self.order[place], ends[first:past] - lengths[first:past] - before
            first = past


def run_ends(starts: Ints, rows: int) -> Ints:
    """The last row of each run."""
    return np.append(starts[1:], rows) - 1 if len(starts) else starts


def starts_by_row(starts: Ints, rows: int) -> Ints:
    """For each row the start of its run."""
    return np.repeat(starts, np.diff(np.append(starts, rows)))


def add_up_runs(values: Ints, starts: Ints) -> Ints:
    """For each row the sum of its run up to it, of whole numbers, which may wrap around."""
    total = np.cumsum(values)
    return total - (total - values)[starts_by_row(starts, len(values))]


def accumulate_runs(function: np.ufunc, values: Values, starts: Ints) -> Values:
    """For each row the function over its run up to it, one value after the other from the first.

    Long runs go one by one, short ones all together, a row of each at a time: so neither many runs nor long ones
    cost many steps.

    >>> accumulate_runs(np.add, np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([0, 3])).tolist()
    [1.0, 3.0, 7.0, 8.0, 24.0]
    """
    found = values.copy()
    lengths = np.diff(np.append(starts, len(values)))
    by_length = np.argsort(-lengths, kind="stable")
    first, length = starts[by_length], lengths[by_length]
    long = int(np.argmin(np.arange(len(length) + 1) + np.append(length, 0)))
    with np.errstate(all="ignore"):
        for start, size in zip(first[:long].tolist(), length[:long].tolist(), strict=True):
            found[start : start + size] = function.accumulate(values[start : start + size])
        first, length = first[long:], length[long:]
        for step in range(1, int(length.max(initial=0))):
            row = first[: int(np.searchsorted(-length, -step, side="left"))] + step
            found[row] = function(found[row - 1], values[row])
    return found


def scan_by_doubling(
    combine: Callable[[list[pa.Array], Ints], list[pa.Array]], columns: Sequence[pa.Array], starts: Ints
) -> list[pa.Array]:
    """For each row what `combine` makes of its run up to it: each round takes in twice as many rows."""
    found = list(columns)
    rows = len(found[0])
    inside = np.arange(rows) - starts_by_row(starts, rows)
    reach = 1
    while reach <= int(inside.max(initial=0)):
        later = np.flatnonzero(inside >= reach)
        pairs = pa.array(np.stack([later - reach, later], axis=1).ravel())
        wider = combine([column.take(pairs) for column in found], np.arange(0, 2 * len(later), 2))
        place = np.arange(rows)
        place[later] = rows + np.arange(len(later))
        found = [pa.concat_arrays(pair).take(pa.array(place)) for pair in zip(found, wider, strict=True)]
        reach *= 2
    return found


def extremes_of_ranges(pick: np.ufunc, values: Values, low: Ints, high: Ints) -> Values:
    """The extreme value of each range, none of them empty: that of the two halves, overlapping, of its length.

    >>> extremes_of_ranges(np.maximum, np.array([3, 1, 2, 5]), np.array([0, 1, 0]), np.array([1, 3, 4])).tolist()
    [3, 2, 5]
    """
    lengths = high - low
    found = np.empty(len(low), values.dtype)
    width = 1
    while width <= int(lengths.max(initial=0)):
        those = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        found[those] = pick(values[low[those]], values[high[those] - width])
        values = pick(values[:-width], values[width:])
        width *= 2
    return found


def smallest_of_ranges(rank: Ints, low: Ints, high: Ints, number: Ints) -> Ints:
    """The rank that has so many smaller ones in its range; ranks are 0, 1, .., each once.

    Bit by bit from the highest: the ranks without the bit go before those with it, and each range follows its own.
    """
    found = np.zeros(len(low), np.int64)
    for bit in reversed(range(max(len(rank) - 1, 0).bit_length())):
        unset = (rank >> bit) & 1 == 0
        before = np.concatenate([[0], np.cumsum(unset)])
        without = before[high] - before[low]
        chosen = number >= without
        found |= chosen.astype(np.int64) << bit
        low, high = (np.where(chosen, before[-1] + edge - before[edge], before[edge]) for edge in (low, high))
        number = np.where(chosen, number - without, number)
        rank = np.concatenate([rank[unset], rank[~unset]])
    return found
