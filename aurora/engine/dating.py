"""When a row's cause happened: the arrival that brought the row forth, and not the oldest tuple in it.

The position of a row says which arrival caused it, and all rows of one arrival have one time. So the time is looked up
once behind each box, whatever the box does: among the tuples that it was given, and among the steps of the clocks. What
no arrival causes, a timeout or the end of the input, happened when its batch began.
"""

from collections.abc import Sequence

import numpy as np

from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.arrays import find_starts
from aurora.algebra.tuples.train import LAST, Ints, Mask, Train, are_at_the_start

__all__ = ["date_rows"]


def date_rows(train: Train, causes: Sequence[Train], moment: Moment, timeouts: bool = False) -> Train:
    """Return the rows of a box, each with the time of its cause.

    `causes` are the tuples and the steps of clocks that the box went by. With `timeouts` the rows at the
    start of the batch come from one. A row whose cause is nowhere, as a user's kernel may make it, keeps the time that
    it has.
    """
    if len(train) == 0:
        return train
    starts = find_starts(train.keys[0])
    position = train.keys[0][starts]
    times = train.arrived[starts]
    found = _look_up(position, causes, times)
    # What a clock brings forth stands just before the arrival that moved it.
    moved = ~found & (position % 2 == 0) & (position != LAST)
    if moved.any():
        later = times[moved]
        hit = _look_up(position[moved] + 1, causes, later)
        times[moved] = later
        found[moved] = hit
    ends = position == LAST
    times[ends] = moment.wall
    found |= ends
    lengths = np.diff(np.append(starts, len(train)))
    arrived = np.repeat(times, lengths)
    if not found.all():
        known = np.repeat(found, lengths)
        arrived[~known] = train.arrived[~known]
    if timeouts:
        arrived[are_at_the_start(train.keys, moment.before)] = moment.wall
    return Train(train.rows, arrived, train.keys)


def _look_up(position: Ints, causes: Sequence[Train], times: Ints) -> Mask:
    """Write the times of these positions over `times`; return which of them are there. The latest of several counts."""
    found = np.zeros(len(position), bool)
    for cause in causes:
        own = cause.keys[0]
        if len(own) == 0:
            continue
        place = np.searchsorted(own, position, side="right") - 1
        hit = (place >= 0) & (own[place] == position)
        time = cause.arrived[place]
        times[:] = np.where(hit, np.where(found, np.maximum(times, time), time), times)
        found |= hit
    return found
