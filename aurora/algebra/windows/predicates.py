"""Windows that a predicate opens: one starts at the group's first value and at each tuple that satisfies it."""

from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.admission import Bounds
from aurora.algebra.ordering.values import narrow, wide
from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.arrays import expand, find_runs, first_not_before, value_order
from aurora.algebra.tuples.train import Ints, Mask, Values
from aurora.algebra.windows.rows import WindowRows

__all__ = ["closing_windows", "still_open"]


def closing_windows(
    size: Any, kept: WindowRows, released: WindowRows, origin: Values, reached: Bounds | None, groups: Groups
) -> tuple[Ints, Values]:
    """Opens the windows that start in `released`; gives pairs of row and window start for those that close."""
    assert released.opens is not None
    begins = released.opens | (released.value == origin[released.group])
    group, start = released.group[begins], released.value[begins]
    stored = groups.rows("open")
    if stored is not None:
        group = np.concatenate([stored[0], group])
        start = np.concatenate([stored[1].column("start").to_numpy(), start])
    order = value_order(group, start)
    group, start = group[order], start[order]
    firsts, _ = find_runs(group, start)
    group, start = group[firsts], start[firsts]
    (exact_start,) = wide(start, room=float(size))
    exact_end = exact_start + size
    if reached is None:
        closes = np.ones(len(group), bool)
    else:
        closes = np.asarray(reached[1][group] & (exact_end <= reached[0][group]), bool)
    groups.put("open", group[~closes], pa.record_batch({"start": start[~closes]}))
    group, start = group[closes], start[closes]
    low = np.searchsorted(kept.group, group, side="left")
    high = np.searchsorted(kept.group, group, side="right")
    end = narrow(np.minimum(exact_end[closes], np.iinfo(np.int64).max), start.dtype)
    past = first_not_before(kept.value, low, high, end)
    past = np.where(np.asarray(exact_end[closes] > end, bool), high, past)
    row, owner = expand(first_not_before(kept.value, low, high, start), past)
    return row, start[owner]


def still_open(kept: WindowRows, groups: Groups) -> Mask:
    """Which rows are in an open window, or could be in one that starts at the group's latest value."""
    if len(kept) == 0:
        return np.zeros(0, bool)
    ends = np.searchsorted(kept.group, kept.group, side="right") - 1
    earliest = kept.value[ends].copy()
    stored = groups.rows("open")
    if stored is not None:
        group, start = stored[0], stored[1].column("start").to_numpy()
        place = np.searchsorted(group, kept.group, side="left")
        has = (place < len(group)) & (group[np.minimum(place, len(group) - 1)] == kept.group)
        earliest = np.where(has, np.minimum(earliest, start[np.minimum(place, len(start) - 1)]), earliest)
    return np.asarray(kept.value >= earliest)
