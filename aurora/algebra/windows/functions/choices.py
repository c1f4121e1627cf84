"""Functions that choose one of the values: the smallest and largest, the first and last, that of the best tuple."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.values import from_values, order_codes, orderable, to_values
from aurora.algebra.tuples.train import Ints, Mask, Values
from aurora.algebra.windows.functions.function import Function, add_runs, fill_nulls, to_valid
from aurora.algebra.windows.functions.scans import (
    Ranges,
    accumulate_runs,
    add_up_runs,
    extremes_of_ranges,
    starts_by_row,
)

__all__ = ["By", "Edge", "Extreme"]


@dataclass(frozen=True)
class Extreme(Function):
    """min(x) and max(x); nulls do not count, NaN is the largest number."""

    largest: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [arguments[0]]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        column = columns[0]
        if len(starts) == 0 or not orderable(column.type):
            return [column.take(winners(column, starts, self.largest))]
        values, pick = self._comparable(column)
        none = column.null_count and add_runs(to_valid(column), starts) == 0
        return [_chosen(pick.reduceat(values, starts), none, column.type)]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        column = columns[0]
        if not orderable(column.type):
            return super().scan(columns, starts)
        values, pick = self._comparable(column)
        none = column.null_count and add_up_runs(to_valid(column), starts) == 0
        return [_chosen(accumulate_runs(pick, values, starts), none, column.type)]

    def over_ranges(self, arguments: list[pa.Array], ranges: Ranges) -> pa.Array:
        if not orderable(arguments[0].type):
            return super().over_ranges(arguments, ranges)
        column = ranges.arrange(arguments[0])
        values, pick = self._comparable(column)
        best = extremes_of_ranges(pick, values, ranges.low, ranges.high)
        none = column.null_count and (
            extremes_of_ranges(np.maximum, to_valid(column), ranges.low, ranges.high) == 0
        )
        return _chosen(best, none, column.type)

    def _comparable(self, column: pa.Array) -> tuple[Values, np.ufunc]:
        """The values, with one that never wins for a null, and how to choose of two."""
        values = to_values(fill_nulls(column))
        limits = np.iinfo(np.int64)
        loser: float = limits.min if self.largest else limits.max
        pick: np.ufunc = np.maximum if self.largest else np.minimum
        if values.dtype.kind == "f":
            # NaN is the largest: the maximum hands it on, and the minimum passes over it.
            loser = -np.inf if self.largest else np.nan
            pick = np.maximum if self.largest else np.fmin
        if column.null_count:
            values = np.where(to_valid(column) == 1, values, loser)
        return values, pick


def _chosen(best: Values, none: Mask | int, kind: pa.DataType) -> pa.Array:
    """The values as a column, null where there is none."""
    if not np.any(none):
        return from_values(best, kind)
    return pc.if_else(pa.array(none), pa.scalar(None, kind), from_values(np.where(none, 0, best), kind))


@dataclass(frozen=True)
class Edge(Function):
    """first(x) and last(x) in the order of the window."""

    ordered: ClassVar[bool] = True
    last: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [arguments[0]]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        ends = np.append(starts[1:], len(columns[0])) - 1 if len(starts) else starts
        return [columns[0].take(pa.array(ends if self.last else starts))]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        column = columns[0]
        return [column if self.last else column.take(pa.array(starts_by_row(starts, len(column))))]

    def over_ranges(self, arguments: list[pa.Array], ranges: Ranges) -> pa.Array:
        return (ranges.take_last if self.last else ranges.take_first)(arguments[0])


@dataclass(frozen=True)
class By(Function):
    """min_by(x, y) and max_by(x, y): the best y so far, and its x."""

    width: ClassVar[int] = 2
    ordered: ClassVar[bool] = True
    largest: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        value, by = arguments
        if by.null_count:
            # A tuple without a y does not count, not even where it is the only one.
            value = value.take(pa.array(np.arange(rows), mask=to_valid(by) == 0))
        return [value, by]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        best = winners(columns[1], starts, self.largest)
        return [column.take(best) for column in columns]


def winners(column: pa.Array, starts: Ints, largest: bool) -> pa.Array:
    """For each run the row with the extreme value (the first of equals), null where all values are null."""
    rows = len(column)
    if len(starts) == 0:
        return pa.array(starts)
    if orderable(column.type):
        codes = order_codes(to_values(fill_nulls(column)))
    else:
        codes = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    run = np.zeros(rows, np.int64)
    run[starts[1:]] = 1
    run = np.cumsum(run)
    valid = to_valid(column) == 1
    # By run, valid rows first, best value first, earliest first: the winner leads its run.
    order = np.lexsort((np.arange(rows), ~codes if largest else codes, ~valid, run))
    leaders = order[starts]
    return pa.array(leaders, mask=~valid[leaders])
