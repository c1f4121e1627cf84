"""Groups, pairs and sums of columns of whole numbers."""

import numpy as np

from aurora.nexmark.queries.clock import Ints, Mask

__all__ = ["among", "counted", "equal_pairs", "found_in", "ranks"]

# Cells of a table of all combinations that may be there for each row that is counted.
CELLS = 4


def counted(outer: Ints, inner: Ints, num: Ints) -> tuple[Ints, Ints, Ints]:
    """The sum of `num` for each pair of keys that occurs, by the outer key and then the inner one.

    >>> [column.tolist() for column in counted(*np.array([[2, 1, 2, 1], [7, 7, 7, 5], [1, 1, 1, 4]]))]
    [[1, 1, 2], [5, 7, 7], [4, 1, 2]]
    """
    if len(outer) == 0:
        return outer, inner, num
    low_outer, low_inner = int(outer.min()), int(inner.min())
    height, width = int(outer.max()) - low_outer + 1, int(inner.max()) - low_inner + 1
    if height * width <= CELLS * len(outer) + 1_000_000:
        cell = (outer - low_outer) * width + (inner - low_inner)
        # Sums of whole numbers below 2^53 are exact in doubles.
        sums = np.bincount(cell, weights=num).astype(np.int64)
        used = np.flatnonzero(sums)
        return used // width + low_outer, used % width + low_inner, sums[used]
    order = np.lexsort((inner, outer))
    outer, inner, num = outer[order], inner[order], num[order]
    starts = np.flatnonzero(np.concatenate([[True], (outer[1:] != outer[:-1]) | (inner[1:] != inner[:-1])]))
    return outer[starts], inner[starts], np.add.reduceat(num, starts)


def found_in(known: Ints, wanted: Ints) -> Ints:
    """The place of each wanted number among known ones, which ascend and differ; -1 where it is not there."""
    if len(known) == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1)
    low, width = int(known[0]), int(known[-1]) - int(known[0]) + 1
    if width <= CELLS * (len(known) + len(wanted)):
        table = np.full(width + 1, -1)
        table[known - low] = np.arange(len(known))
        inside = (wanted >= low) & (wanted <= known[-1])
        return table[np.where(inside, wanted - low, width)]
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


def equal_pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """All places of left and right that hold equal numbers.

    >>> [places.tolist() for places in equal_pairs(np.array([3, 5, 3]), np.array([5, 3, 4, 3]))]
    [[0, 0, 1, 2, 2], [1, 3, 0, 1, 3]]
    """
    order = np.argsort(right, kind="stable")
    ascending = right[order]
    low, high = np.searchsorted(ascending, left, side="left"), np.searchsorted(ascending, left, side="right")
    owner = np.repeat(np.arange(len(left)), high - low)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    return owner, order[low[owner] + nth]


def among(outer: Ints, inner: Ints, known_outer: Ints, known_inner: Ints) -> Mask:
    """Which pairs of keys are among the known ones."""
    count = len(known_outer)
    _, one = np.unique(np.concatenate([known_outer, outer]), return_inverse=True)
    _, two = np.unique(np.concatenate([known_inner, inner]), return_inverse=True)
    code = one * (len(two) + 1) + two
    found: Mask = np.isin(code[count:], code[:count])
    return found


def ranks(group: Ints) -> tuple[Ints, Ints, Ints]:
    """The permutation that brings groups together, where each group starts in it, and the rank of each in its group.

    >>> [column.tolist() for column in ranks(np.array([7, 5, 7, 7]))]
    [[1, 0, 2, 3], [0, 1, 1, 1], [0, 0, 1, 2]]
    """
    order = np.argsort(group, kind="stable")
    together = group[order]
    changed = np.concatenate([[True], together[1:] != together[:-1]])[: len(group)]
    start = np.maximum.accumulate(np.where(changed, np.arange(len(group)), 0))
    return order, start, np.arange(len(group)) - start
