"""skewness(x) and kurtosis(x): how a distribution leans, and how heavy its tails are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.functions.function import Function, add_runs, to_floats, to_valid
from aurora.algebra.windows.functions.scans import accumulate_runs, add_up_runs

__all__ = ["Shape"]


@dataclass(frozen=True)
class Shape(Function):
    """Null where all values are equal.

    Kept are a value near the others (the first), how many there are, and the sums of the first four powers of the
    distances from it: they add up like any sum, and lose no digits where the values are large and lie close together.
    """

    width: ClassVar[int] = 6
    exact: ClassVar[bool] = False
    tails: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        zeros = pa.array(np.zeros(rows))
        return [pa.array(to_floats(arguments[0])), pa.array(to_valid(arguments[0])), *[zeros] * 4]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        base, *sums = self._around(columns, starts)
        return [pa.array(base), *(pa.array(add_runs(each, starts)) for each in sums)]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        base, count, *sums = self._around(columns, starts)
        sizes = np.diff(np.append(starts, len(columns[0])))
        added = [pa.array(accumulate_runs(np.add, each + 0.0, starts)) for each in sums]
        counted = pa.array(add_up_runs(count.astype(np.int64), starts))
        return [pa.array(np.repeat(base, sizes)), counted, *added]

    def _around(self, columns: list[pa.Array], starts: Ints) -> tuple[Values, ...]:
        """A value of each run, and of each row the count and the sums of powers of the distances from it."""
        near, count, one, two, three, four = (column.to_numpy() for column in columns)
        sizes = np.diff(np.append(starts, len(near)))
        filled = np.append(np.flatnonzero(count), len(count))
        first = filled[np.searchsorted(filled, starts)]
        base = near[np.where(first < starts + sizes, first, starts)]
        with np.errstate(all="ignore"):
            apart = np.where(count > 0, near - np.repeat(base, sizes), 0.0)
            square = apart * apart
            return (
                base,
                count,
                one + count * apart,
                two + 2 * apart * one + count * square,
                three + 3 * apart * two + 3 * square * one + count * square * apart,
                four
                + 4 * apart * three
                + 6 * square * two
                + 4 * square * apart * one
                + count * square * square,
            )

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        _, count, one, two, three, four = (column.to_numpy() for column in columns)
        with np.errstate(all="ignore"):
            mean = one / np.maximum(count, 1)
            second = two - mean * one
            third = three - 3 * mean * two + 2 * count * mean**3
            fourth = four - 4 * mean * three + 6 * mean * mean * two - 3 * count * mean**4
            flat = second <= 0
            below = np.where(flat, 1.0, second)
            if self.tails:
                result = count * fourth / (below * below) - 3.0
            else:
                result = np.sqrt(count) * third / np.sqrt(below * below * below)
        return pa.array(result, mask=(count == 0) | flat)
