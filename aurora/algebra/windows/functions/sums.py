"""Functions that add up: counts, sums, means, and how far values lie from their mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.function import Function, add_runs, to_floats, to_ints, to_valid

__all__ = ["Count", "Spread", "Sum"]


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


@dataclass(frozen=True)
class Sum(Function):
    """sum(x) and avg(x); null over no value."""

    width: ClassVar[int] = 2
    whole: bool
    mean: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column = arguments[0]
        return [pa.array(to_ints(column) if self.whole else to_floats(column)), pa.array(to_valid(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_runs(column.to_numpy(), starts)) for column in columns]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        total, count = columns[0].to_numpy(), columns[1].to_numpy()
        if self.mean:
            total = total / np.maximum(count, 1)
        return pa.array(total, mask=count == 0)


@dataclass(frozen=True)
class Spread(Function):
    """Variance and standard deviation.

    Kept are a value near the others (the first), how many there are, and the sums of the distances from it and of
    their squares: they add up like any sum, and lose no digits where the values are large and lie close together.
    """

    width: ClassVar[int] = 4
    root: bool
    sample: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        zeros = pa.array(np.zeros(rows))
        return [pa.array(to_floats(arguments[0])), pa.array(to_valid(arguments[0])), zeros, zeros]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        near, count, total, squares = (column.to_numpy() for column in columns)
        sizes = np.diff(np.append(starts, len(near)))
        # The first row of each run that has values; any one where none has.
        filled = np.append(np.flatnonzero(count), len(count))
        first = filled[np.searchsorted(filled, starts)]
        base = near[np.where(first < starts + sizes, first, starts)]
        apart = np.where(count > 0, near - np.repeat(base, sizes), 0.0)
        moved = total + count * apart
        spread = squares + apart * (2 * total + count * apart)
        return [
            pa.array(c)
            for c in (base, add_runs(count, starts), add_runs(moved, starts), add_runs(spread, starts))
        ]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        _, count, total, squares = (column.to_numpy() for column in columns)
        below = count - 1 if self.sample else count
        around = squares - total * total / np.maximum(count, 1)
        # Rounding may leave a tiny negative number; NaN stays.
        result = np.where(around < 0, 0.0, around) / np.where(below > 0, below, 1)
        return pa.array(np.sqrt(result) if self.root else result, mask=below <= 0)
