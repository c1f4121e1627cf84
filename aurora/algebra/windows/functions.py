"""Window functions: how each SQL aggregate is lifted from tuples, combined over runs of rows, and finished.

Sums of doubles add one value after the other, never chunk by chunk: the last digit does not depend on batches.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import AggregateCall
from aurora.algebra.ordering.values import from_values, order_codes, orderable, to_values
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.train import Ints, Values

__all__ = ["Function", "function_of"]


class Function(ABC):
    """An aggregate that can be kept as a few values per run of rows, `width` of them."""

    width: ClassVar[int] = 1

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


def _ints(column: pa.Array) -> Ints:
    column = column.cast(pa.int64())
    return np.asarray((column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False))


def _floats(column: pa.Array) -> Values:
    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False))


def _valid(column: pa.Array) -> Ints:
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False)).astype(np.int64)


def _add(values: Values, starts: Ints) -> Values:
    if len(starts) == 0:
        return values[:0]
    if values.dtype.kind == "f":
        runs = np.zeros(len(values), np.int64)
        runs[starts[1:]] = 1
        return np.bincount(np.cumsum(runs), weights=values, minlength=len(starts))
    return np.add.reduceat(values, starts)


@dataclass(frozen=True)
class Count(Function):
    """count(*), count(x), count_if(p)."""

    of: str

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        if self.of == "rows":
            return [pa.array(np.ones(rows, np.int64))]
        column = arguments[0]
        return [pa.array(_valid(column) if self.of == "values" else _ints(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(_add(columns[0].to_numpy(), starts))]


@dataclass(frozen=True)
class Sum(Function):
    """sum(x) and avg(x); null over no value."""

    width: ClassVar[int] = 2
    whole: bool
    mean: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column = arguments[0]
        return [pa.array(_ints(column) if self.whole else _floats(column)), pa.array(_valid(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(_add(column.to_numpy(), starts)) for column in columns]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        total, count = columns[0].to_numpy(), columns[1].to_numpy()
        if self.mean:
            total = total / np.maximum(count, 1)
        return pa.array(total, mask=count == 0)


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
        valid = _valid(column)
        values = to_values(_filled(column))
        pick: np.ufunc = np.maximum if self.largest else np.minimum
        if values.dtype.kind == "f":
            values = np.where(valid == 1, values, -np.inf if self.largest else np.nan)
            pick = np.maximum if self.largest else np.fmin
        else:
            limits = np.iinfo(np.int64)
            values = np.where(valid == 1, values, limits.min if self.largest else limits.max)
        none = _add(valid, starts) == 0
        best = np.where(none, 0, pick.reduceat(values, starts))
        chosen = from_values(best, column.type)
        return [pc.if_else(pa.array(none), pa.scalar(None, column.type), chosen) if none.any() else chosen]


@dataclass(frozen=True)
class Edge(Function):
    """first(x) and last(x) in the order of the window."""

    last: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [arguments[0]]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        ends = np.append(starts[1:], len(columns[0])) - 1 if len(starts) else starts
        return [columns[0].take(pa.array(ends if self.last else starts))]


def winners(column: pa.Array, starts: Ints, largest: bool) -> pa.Array:
    """For each run the row with the extreme value (the first of equals), null where all values are null."""
    rows = len(column)
    if len(starts) == 0:
        return pa.array(starts)
    if orderable(column.type):
        codes = order_codes(to_values(_filled(column)))
    else:
        codes = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    run = np.zeros(rows, np.int64)
    run[starts[1:]] = 1
    run = np.cumsum(run)
    valid = _valid(column) == 1
    # By run, valid rows first, best value first, earliest first: the winner leads its run.
    order = np.lexsort((np.arange(rows), ~codes if largest else codes, ~valid, run))
    leaders = order[starts]
    return pa.array(leaders, mask=~valid[leaders])


def _filled(column: pa.Array) -> pa.Array:
    """The column with some value in place of each null."""
    if column.null_count == 0:
        return column
    return pc.if_else(column.is_valid(), column, from_values(np.zeros(len(column), np.int64), column.type))


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
        return [pa.array(_floats(arguments[0])), pa.array(_valid(arguments[0])), zeros, zeros]

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
        return [pa.array(c) for c in (base, _add(count, starts), _add(moved, starts), _add(spread, starts))]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        _, count, total, squares = (column.to_numpy() for column in columns)
        below = count - 1 if self.sample else count
        around = squares - total * total / np.maximum(count, 1)
        # Rounding may leave a tiny negative number; NaN stays.
        result = np.where(around < 0, 0.0, around) / np.where(below > 0, below, 1)
        return pa.array(np.sqrt(result) if self.root else result, mask=below <= 0)


@dataclass(frozen=True)
class Median(Function):
    """The values of each run, as a list."""

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return [_single_lists(pa.array(_floats(arguments[0])), _valid(arguments[0]))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [_join_lists(columns[0], starts)]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, owner, lengths = _from_lists(columns[0])
        numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        order = np.lexsort((order_codes(numbers), owner))
        begins = np.cumsum(lengths) - lengths
        some = np.flatnonzero(lengths)
        low = order[begins[some] + (lengths[some] - 1) // 2]
        high = order[begins[some] + lengths[some] // 2]
        middle = np.zeros(len(lengths))
        middle[some] = np.where(low == high, numbers[low], numbers[low] / 2 + numbers[high] / 2)
        return pa.array(middle, mask=lengths == 0)


@dataclass(frozen=True)
class Distinct(Function):
    """count(distinct x), sum(distinct x) and avg(distinct x): the different values of each run, as a list."""

    of: Function

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column = arguments[0]
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0.0, column.type))
        return [_single_lists(_filled(column) if orderable(column.type) else column, _valid(column))]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        lists = _join_lists(columns[0], starts)
        values, owner, _ = _from_lists(lists)
        codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
        order = np.lexsort((codes, owner))
        firsts, _ = find_runs(owner[order], codes[order])
        if len(firsts) == len(order):
            return [lists]
        # The sort keeps the order of equals, so that the first of them stays.
        kept = np.sort(order[firsts])
        return [_to_lists(values.take(pa.array(kept)), owner[kept], len(lists))]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        values, _, lengths = _from_lists(columns[0])
        if isinstance(self.of, Count):
            return pa.array(lengths)
        some = lengths > 0
        starts = (np.cumsum(lengths) - lengths)[some]
        places = np.where(some, np.cumsum(some) - 1, 0)
        return self.of.over([values], starts, len(values)).take(pa.array(places, mask=~some))


@dataclass(frozen=True)
class By(Function):
    """min_by(x, y) and max_by(x, y): the best y so far, and its x."""

    width: ClassVar[int] = 2
    largest: bool

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return arguments

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        best = winners(columns[1], starts, self.largest)
        return [column.take(best) for column in columns]


def _single_lists(values: pa.Array, valid: Ints) -> pa.Array:
    """Each value as a list of one, of none where it is not valid."""
    offsets = np.concatenate([[0], np.cumsum(valid)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(pa.array(valid == 1)))


def _join_lists(lists: pa.Array, starts: Ints) -> pa.Array:
    """The lists of each run as one."""
    values, _, lengths = _from_lists(lists)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    offsets = np.append(ends[starts], ends[-1]) if len(starts) else np.zeros(1)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


def _from_lists(lists: pa.Array) -> tuple[pa.Array, Ints, Ints]:
    """The values of all lists, the list of each, and how many each has."""
    lengths = np.asarray(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)
    return lists.flatten(), np.repeat(np.arange(len(lengths)), lengths), lengths


def _to_lists(values: pa.Array, owner: Ints, lists: int) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=lists))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def function_of(call: AggregateCall) -> Function:
    if call.function in ("count", "count_if", "sum", "avg"):
        added = _added(call)
        return Distinct(added) if call.distinct else added
    match call.function:
        case "min" | "bool_and":
            return Extreme(largest=False)
        case "max" | "bool_or":
            return Extreme(largest=True)
        case "first" | "last":
            return Edge(last=call.function == "last")
        case "stddev" | "variance":
            return Spread(root=call.function == "stddev", sample=True)
        case "stddev_pop" | "var_pop":
            return Spread(root=call.function == "stddev_pop", sample=False)
        case "median":
            return Median()
        case "min_by" | "max_by":
            return By(largest=call.function == "max_by")
    raise ValueError(f"no window function computes {call.function}")


def _added(call: AggregateCall) -> Function:
    if call.argument is None:
        return Count("rows")
    if call.function == "sum":
        return Sum(whole=pa.types.is_integer(call.argument.type), mean=False)
    if call.function == "avg":
        return Sum(whole=False, mean=True)
    return Count("truths" if call.function == "count_if" else "values")
