"""What every window function can do: be lifted from tuples, combined over runs of rows, and finished.

For windows that run along with their tuples there are two shorter ways: `so_far` and `over_ranges`.

Batches show in no digit of a sum of doubles: it is kept with twice the digits (`RealSum`), or one value is added after
the other, never chunk by chunk.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.values import from_values
from aurora.algebra.tuples.train import Ints, Values
from aurora.algebra.windows.functions.scans import Ranges, run_ends, scan_by_doubling

__all__ = ["Function", "add_runs", "fill_nulls", "to_floats", "to_ints", "to_valid"]


class Function(ABC):
    """An aggregate that can be kept as a few values per run of rows, `width` of them."""

    width: ClassVar[int] = 1
    # Whether it matters in which order the tuples of a window come.
    ordered: ClassVar[bool] = False
    # Whether runs may be combined piece by piece, in any pieces: otherwise the last digit may show where they were cut.
    exact: ClassVar[bool] = True

    @abstractmethod
    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        """The columns that stand for single tuples."""

    @abstractmethod
    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """The columns that stand for runs of rows, each run beginning at one of `starts`."""

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        return columns[0]

    def over(self, arguments: list[pa.Array], starts: Ints, rows: int) -> pa.Array:
        return self.finish(self.combine(self.lift(arguments, rows), starts))

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        """The columns that stand, for each row, for its run up to it."""
        return scan_by_doubling(self.combine, columns, starts)

    def so_far(self, columns: list[pa.Array], starts: Ints) -> tuple[pa.Array, list[pa.Array]]:
        """For each row the result over its run up to it; and the columns that stand for the runs."""
        found = self.scan(columns, starts)
        ends = pa.array(run_ends(starts, len(found[0])))
        return self.finish(found), [column.take(ends) for column in found]

    def over_ranges(self, arguments: list[pa.Array], ranges: Ranges) -> pa.Array:
        """The results for ranges of tuples, which may overlap, from their arguments."""
        return pa.concat_arrays(
            [
                self.over([argument.take(pa.array(place)) for argument in arguments], starts, len(place))
                for place, starts in ranges.write_out()
            ]
        )


def to_ints(column: pa.Array) -> Ints:
    column = column.cast(pa.int64())
    return np.asarray((column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False))


def to_floats(column: pa.Array) -> Values:
    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False))


def to_valid(column: pa.Array) -> Ints:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False)).astype(np.int64)


def add_runs(values: Values, starts: Ints) -> Values:
    if len(starts) == 0:
        return values[:0]
    if values.dtype.kind == "f":
        runs = np.zeros(len(values), np.int64)
        runs[starts[1:]] = 1
        return np.bincount(np.cumsum(runs), weights=values, minlength=len(starts))
    return np.add.reduceat(values, starts)


def fill_nulls(column: pa.Array) -> pa.Array:
    """The column with some value in place of each null."""
    if column.null_count == 0:
        return column
    return pc.if_else(column.is_valid(), column, from_values(np.zeros(len(column), np.int64), column.type))
