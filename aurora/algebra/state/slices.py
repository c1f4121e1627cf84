"""All groups at the end of the input, a part of them at a time: there may be more than fit into memory at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.hashing import hash_rows
from aurora.algebra.tuples.train import Train

__all__ = ["call_in_slices"]

# So many groups are looked at together.
GROUPS = 1 << 19


def call_in_slices(
    work: Callable[[Train, Turn], Train], train: Train, table: str, fields: Sequence[str], turn: Turn
) -> Train:
    """What `work` gives for the train; groups do not know of each other, so each slice is worked through by itself."""
    groups = turn.state.count(table) if turn.moment.end and fields else 0
    if groups <= GROUPS:
        return work(train, turn)
    hashes = hash_rows([train.rows.column(name) for name in fields], len(train))
    edges = [(2**64 * number) // (groups // GROUPS + 1) for number in range(groups // GROUPS + 2)]
    results = []
    for low, past in pairwise(edges):
        mine = (hashes >= np.uint64(low)) & (hashes <= np.uint64(past - 1))
        results.append(work(train.filter(mine), replace(turn, state=turn.state.in_slice(low, past - 1))))
    whole = Train.concat(results)
    # One copy less while it is put in order.
    results.clear()
    return whole.arrange()
