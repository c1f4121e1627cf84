"""Functions that add up: counts, sums, means, and how far values lie from their mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.functions.function import Function, add_runs, to_floats, to_ints, to_valid
from aurora.algebra.windows.functions.rests import add_with_rest
from aurora.algebra.windows.functions.scans import Ranges, accumulate_runs, add_up_runs

__all__ = ["Count", "RealSum", "Spread", "Sum", "WholeMean"]

LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class Count(Function):
    """count(*), count(x), count_if(p)."""

    of: str

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        if self.of == "rows":
            return [pa.array(np.ones(rows, np.int64))]
        column = arguments[0]
        return [pa.array(to_valid(column) if self.of == "values" else to_ints(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_runs(columns[0].to_numpy(), starts))]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(_add_up(columns[0].to_numpy(), starts))]

    def over_ranges(self, arguments: list[pa.Array], ranges: Ranges) -> pa.Array:
        if self.of == "rows":
            return pa.array(ranges.high - ranges.low)
        (ones,) = self.lift(arguments, len(arguments[0]))
        return pa.array(_add_ranges(ones, ranges))


@dataclass(frozen=True)
class Sum(Function):
    """sum(x) of whole numbers, which may wrap around, and avg(x) of small ones; null over no value."""

    width: ClassVar[int] = 2
    mean: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [pa.array(to_ints(arguments[0])), pa.array(to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_runs(column.to_numpy(), starts)) for column in columns]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        total, count = columns[0].to_numpy(), columns[1].to_numpy()
        if self.mean:
            total = total / np.maximum(count, 1)
        return pa.array(total, mask=count == 0)

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(_add_up(column.to_numpy(), starts)) for column in columns]

    def over_ranges(self, arguments: list[pa.Array], ranges: Ranges) -> pa.Array:
        lifted = self.lift(arguments, len(arguments[0]))
        return self.finish([pa.array(_add_ranges(column, ranges)) for column in lifted])


@dataclass(frozen=True)
class RealSum(Function):
    """sum(x) and avg(x) of doubles; null over no value.

    Kept are the sum, what it lacks of the exact one, and how many values there are. So the sum that is rounded in the
    end does not depend on the pieces in which values were added.
    """

    width: ClassVar[int] = 3
    mean: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        values = to_floats(arguments[0])
        return [pa.array(values), pa.array(np.zeros(rows)), pa.array(to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        total, lacking, count = (column.to_numpy() for column in columns)
        if lacking.any():
            both = np.stack([total, lacking], axis=1).ravel()
            high, low = add_with_rest(both, 2 * starts)
        else:
            high, low = add_with_rest(total, starts)
        return [pa.array(high), pa.array(low), pa.array(add_runs(count, starts))]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        total, count = columns[0].to_numpy(), columns[2].to_numpy()
        return pa.array(total / np.maximum(count, 1) if self.mean else total + 0.0, mask=count == 0)

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """One value after the other: each row has the sum before it and its own value."""
        total, lacking, count = (column.to_numpy() for column in columns)
        added = _add_up(total, starts), np.zeros(len(lacking)), _add_up(count, starts)
        return [pa.array(column) for column in added]


@dataclass(frozen=True)
class WholeMean(Function):
    """avg(x) of whole numbers, exact in whatever order they are added.

    Kept are the sums of the upper and of the lower 32 bits, and how many there are: two billion values fit.
    """

    width: ClassVar[int] = 3

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        values = to_ints(arguments[0])
        return [pa.array(values >> 32), pa.array(values & LOW), pa.array(to_valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_runs(column.to_numpy(), starts)) for column in columns]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(_add_up(column.to_numpy(), starts)) for column in columns]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        upper, lower, count = (column.to_numpy() for column in columns)
        return pa.array((upper * 2.0**32 + lower) / np.maximum(count, 1), mask=count == 0)


@dataclass(frozen=True)
class Spread(Function):
    """Variance and standard deviation.

    Kept are a value near the others (the first), how many there are, and the sums of the distances from it and of
    their squares: they add up like any sum, and lose no digits where the values are large and lie close together.
    """

    width: ClassVar[int] = 4
    exact: ClassVar[bool] = False
    root: bool
    sample: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        zeros = pa.array(np.zeros(rows))
        return [pa.array(to_floats(arguments[0])), pa.array(to_valid(arguments[0])), zeros, zeros]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        base, *sums = self._around(columns, starts)
        return [pa.array(base), *(pa.array(add_runs(each, starts)) for each in sums)]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        base, *sums = self._around(columns, starts)
        sizes = np.diff(np.append(starts, len(columns[0])))
        return [pa.array(np.repeat(base, sizes)), *(pa.array(_add_up(each, starts)) for each in sums)]

    def _around(self, columns: list[pa.Array], starts: Ints) -> tuple[Values, Ints, Values, Values]:
        """A value of each run, and of each row the count and the sums of distances from it and of their squares."""
        near, count, total, squares = (column.to_numpy() for column in columns)
        sizes = np.diff(np.append(starts, len(near)))
        # The first row of each run that has values; any one where none has.
        filled = np.append(np.flatnonzero(count), len(count))
        first = filled[np.searchsorted(filled, starts)]
        base = near[np.where(first < starts + sizes, first, starts)]
        apart = np.where(count > 0, near - np.repeat(base, sizes), 0.0)
        return base, count, total + count * apart, squares + apart * (2 * total + count * apart)

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        _, count, total, squares = (column.to_numpy() for column in columns)
        below = count - 1 if self.sample else count
        around = squares - total * total / np.maximum(count, 1)
        # Rounding may leave a tiny negative number; NaN stays.
        result = np.where(around < 0, 0.0, around) / np.where(below > 0, below, 1)
        return pa.array(np.sqrt(result) if self.root else result, mask=below <= 0)


def _add_up(values: Values, starts: Ints) -> Values:
    """As `add_runs`, up to each row; a sum begins with 0.0, so that there is no -0.0."""
    return (
        accumulate_runs(np.add, values + 0.0, starts)
        if values.dtype.kind == "f"
        else add_up_runs(values, starts)
    )


def _add_ranges(column: pa.Array, ranges: Ranges) -> Ints:
    """The sums of whole numbers over ranges, which may wrap around."""
    total = np.concatenate([[0], np.cumsum(ranges.arrange(column).to_numpy())])
    return np.asarray(total[ranges.high] - total[ranges.low])
