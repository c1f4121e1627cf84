"""The sorting buffer before a window: tuples leave it in order once no smaller one can follow."""

import numpy as np

from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.state.groups import value_order
from aurora.algebra.state.kept import Kept
from aurora.algebra.state.turn import Turn
from aurora.algebra.windows.places import Bounds

__all__ = ["release"]


def release(order: Order, rows: Kept, bound: Bounds, turn: Turn) -> Kept:
    """The rows that leave, by group and value; the others are held until the next turn."""
    if order.on == ARRIVAL or (order.span is None and order.slack == 0):
        return rows
    held = Kept.load(turn.state, "held")
    if held is not None:
        rows = Kept.concat([held, rows])
    rows = rows.take(value_order(rows.group, rows.value))
    if turn.moment.end:
        leaves = np.ones(len(rows), bool)
    elif order.span is None:
        # All but the `slack` largest of each group.
        last = np.searchsorted(rows.group, rows.group, side="right")
        leaves = np.arange(len(rows)) + order.slack < last
    else:
        leaves = bound[1][rows.group] & (rows.value <= bound[0][rows.group])
    rows.filter(~leaves).store(turn.state, "held")
    return rows.filter(leaves)
