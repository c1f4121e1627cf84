"""Progress: how far a stream has come, arrival by arrival. Clocks are made of it.

A position is the first line of a train's keys. Arrivals have odd ones; what a clock brings forth stands at the even
one before the arrival that moved the clock, and so before the rows of that arrival itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.values import least, shift, to_values
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import LAST, Ints, Mask, Train, Values

__all__ = ["Progress", "find_rises", "join_progress", "keep_progress", "stands_before"]

VALUE = "value"
Given = tuple[Mapping[str, "Progress"], ...]


@dataclass(frozen=True)
class Progress:
    """Rows behind each position have at least its value; those of the position itself may have less.

    Positions and values ascend, and all values are above `before`, which held when the turn began.

    >>> minutes = Progress(np.int64(5), np.array([10, 14]), np.array([6, 9]))
    >>> minutes.at(np.array([10, 11, 15])).tolist(), int(minutes.after)
    ([5, 6, 9], 9)
    >>> minutes.find_positions(np.array([6, 7, 12])).tolist() == [10, 14, LAST]
    True
    """

    before: Any
    positions: Ints
    values: Values

    @staticmethod
    def none(kind: np.dtype[Any]) -> "Progress":
        """That of a stream without tuples."""
        return Progress(kind.type(least(kind)), np.empty(0, np.int64), np.empty(0, kind))

    @staticmethod
    def of(before: Any, positions: Ints, values: Values) -> "Progress":
        """From values in any order: only those that rise above all earlier ones matter."""
        if len(positions) == 0:
            return Progress(before, positions, values)
        order = stable_order(positions)
        positions, values = positions[order], np.maximum(np.maximum.accumulate(values[order]), before)
        # Of one position the largest value, which stands last.
        last = np.append(positions[1:] != positions[:-1], True)
        positions, values = positions[last], values[last]
        rises = values > np.concatenate([[before], values[:-1]])
        return Progress(before, positions[rises], values[rises])

    @cached_property
    def _all(self) -> Values:
        return np.concatenate([np.asarray([self.before], self.values.dtype), self.values])

    @property
    def after(self) -> Any:
        """What holds when the turn is over."""
        return self._all[-1]

    @property
    def bounds_before(self) -> tuple[Values, Mask]:
        """What held when the turn began, as the bound of one group."""
        return self._all[:1], self._all[:1] > least(self.values.dtype)

    def at(self, positions: Ints) -> Values:
        """The value that holds for the rows of each position."""
        return self._all[np.searchsorted(self.positions, positions, side="left")]

    def find_positions(self, wanted: Values, above: bool = False) -> Ints:
        """Where what waits for a value of at least (or above) the wanted one comes forth; LAST where it waits on."""
        places = np.searchsorted(self.values, wanted, side="right" if above else "left")
        return np.append(stands_before(self.positions), LAST)[places]

    def map(self, change: Callable[[Values], Values]) -> "Progress":
        """The progress of something that follows from this one; `change` never lets a larger value give a smaller."""
        changed = change(self._all)
        return Progress.of(changed[0], self.positions, changed[1:])

    def lag(self, by: Any) -> "Progress":
        """The same, so much behind."""
        return self if not by else self.map(lambda values: shift(values, -by))

    def to_train(self) -> Train:
        rows = pa.RecordBatch.from_arrays([pa.array(self.values)], names=[VALUE])
        return Train(rows, np.zeros(len(self.positions), np.int64), self.positions[None])

    @staticmethod
    def from_trains(before: Any, trains: Sequence[Train]) -> "Progress":
        positions = np.concatenate([train.keys[0] for train in trains])
        values = np.concatenate([train.rows.column(VALUE).to_numpy() for train in trains])
        return Progress.of(before, positions, values)


def find_rises(train: Train, field: str) -> Progress:
    """The progress that the tuples of a train show: that of the largest value of a field so far."""
    column = train.rows.column(field)
    if pa.types.is_floating(column.type):
        valid = pc.fill_null(pc.is_finite(column), False).to_numpy(zero_copy_only=False)
    else:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
    if not valid.all():
        column, positions = column.filter(pa.array(valid)), train.keys[0][valid]
    else:
        positions = train.keys[0]
    values = to_values(column)
    return Progress.of(least(values.dtype), positions, values)


def stands_before(positions: Ints) -> Ints:
    """Where what the clock brings forth at these positions stands: before the arrival that moved it."""
    return positions & ~np.int64(1)


def join_progress(one: Progress, other: Progress) -> Progress:
    """That of two streams as one: the smaller."""
    positions = np.union1d(one.positions, other.positions)
    values = np.minimum(one.at(positions + 1), other.at(positions + 1))
    return Progress.of(min(one.before, other.before), positions, values)


def keep_progress(keeps: Sequence[Mapping[str, str]], given: Given) -> dict[str, Progress]:
    """The progress of the fields that a box without state passes on from each of its inputs."""
    named = [
        {kept[field]: progress for field, progress in fields.items() if field in kept}
        for kept, fields in zip(keeps, given, strict=True)
    ]
    shared = set(named[0]).intersection(*named[1:]) if named else set()
    return {field: reduce(join_progress, (fields[field] for fields in named)) for field in shared}
