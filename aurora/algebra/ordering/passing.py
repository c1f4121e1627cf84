"""Tuples that wait for partners: which of them a group has passed, and the arrival by which it did."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from aurora.algebra.ordering.admission import Admitted, Bounds
from aurora.algebra.ordering.values import beyond, least, shift
from aurora.algebra.tuples.arrays import first_not_before
from aurora.algebra.tuples.train import Ints, Mask, Train, Values, at_the_end, make_clock_keys

__all__ = ["Waiting", "are_passed"]


def are_passed(value: Values, group: Ints, bounds: Bounds, size: Any) -> Mask:
    """Where the group that a value waits for has gone more than `size` beyond it; -1 stands for an unknown group."""
    bound, known = bounds
    if len(bound) == 0:
        return np.zeros(len(value), bool)
    return np.asarray((group >= 0) & known[group] & beyond(bound[group], value, size))


@dataclass(frozen=True)
class Waiting:
    """Tuples of a side, each with its value and the group of the other side that it waits for.

    The first `old` of them came in earlier turns, the others in this one.
    """

    train: Train
    value: Values
    group: Ints
    old: int

    def are_in_vain(self, other: Admitted, size: Any) -> Mask:
        """Which tuples can meet nobody any more when the turn is over."""
        return are_passed(self.value, self.group, other.after, size)

    def since(self, those: Ints, other: Admitted, size: Any) -> Ints:
        """Return the keys of the arrival that ruled a partner out, or of the tuple itself if it came after that.

        Those that are not passed wait until the input ends.
        """
        group, value, mine = self.group[those], self.value[those], self.train.keys[:, those]
        limit = shift(value, size)
        if other.clock is not None:
            # What the clock had passed before it came stands before all that the clock passes at that moment.
            own = other.clock.at(mine[0]) > limit
            keys = make_clock_keys(
                other.clock.find_positions(limit, above=True), self.train.depth, behind=True
            )
        else:
            keys = at_the_end(self.train.depth, len(those))
            bound = np.where(other.bounded, other.bound, least(other.bound.dtype))
            low = np.searchsorted(other.group, group, side="left")
            high = np.searchsorted(other.group, group, side="right")
            cause = first_not_before(bound, low, high, limit, after=True)
            found = cause < high
            keys[:, found] = other.train.keys[:, cause[found]]
            # Of one arrival, the tuples at the first input come first: the line behind the number says which.
            earlier = (keys[0] < mine[0]) | ((keys[0] == mine[0]) & (keys[1] < mine[1]))
            own = (those >= self.old) & (earlier | are_passed(value, group, other.before, size))
        return np.where(own, mine, keys)
