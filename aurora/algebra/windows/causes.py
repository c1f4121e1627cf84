"""What closes a window: the arrival that lets nothing more come before its end, of its group or of the clock."""

import numpy as np

from aurora.algebra.ordering.admission import Admitted
from aurora.algebra.ordering.values import least
from aurora.algebra.tuples.arrays import first_not_before
from aurora.algebra.tuples.train import LAST, Ints, Mask, Values, at_the_end, make_clock_keys

__all__ = ["find_causes"]


def find_causes(group: Ints, end: Values, never: Mask, admitted: Admitted) -> Ints:
    """The keys of what closes windows of these groups and ends; the end of the input closes the rest.

    `never` are those whose ends nothing can reach, past the largest bigint.
    """
    depth = admitted.train.depth
    if admitted.clock is not None:
        return make_clock_keys(np.where(never, LAST, admitted.clock.find_positions(end)), depth)
    bound = np.where(admitted.bounded, admitted.bound, least(admitted.bound.dtype))
    low = np.searchsorted(admitted.group, group, side="left")
    high = np.searchsorted(admitted.group, group, side="right")
    cause = first_not_before(bound, low, high, end)
    found = (cause < high) & ~never
    keys = at_the_end(depth, len(group))
    keys[:, found] = admitted.train.keys[:, cause[found]]
    return keys
