"""Functions that choose one of the values: the smallest and largest, the first and last, that of the best tuple."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.values import from_values, order_codes, orderable, to_values
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.function import Function, add_runs, fill_nulls, to_valid

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
        valid = to_valid(column)
        values = to_values(fill_nulls(column))
        pick: np.ufunc = np.maximum if self.largest else np.minimum
        if values.dtype.kind == "f":
            values = np.where(valid == 1, values, -np.inf if self.largest else np.nan)
            pick = np.maximum if self.largest else np.fmin
        else:
            limits = np.iinfo(np.int64)
            values = np.where(valid == 1, values, limits.min if self.largest else limits.max)
        none = add_runs(valid, starts) == 0
        best = np.where(none, 0, pick.reduceat(values, starts))
        chosen = from_values(best, column.type)
        return [pc.if_else(pa.array(none), pa.scalar(None, column.type), chosen) if none.any() else chosen]


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


@dataclass(frozen=True)
class By(Function):
    """min_by(x, y) and max_by(x, y): the best y so far, and its x."""

    width: ClassVar[int] = 2
    ordered: ClassVar[bool] = True
    largest: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return arguments

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
