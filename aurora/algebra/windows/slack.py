"""The sorting buffer before a window: tuples leave it in order once no smaller one can follow."""

import numpy as np

from aurora.algebra.ordering.admission import Bounds
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.arrays import value_order
from aurora.algebra.windows.rows import WindowRows

__all__ = ["release"]


def release(order: Order, rows: WindowRows, bound: Bounds, groups: Groups, end: bool) -> WindowRows:
    """The rows that leave, by group and value; the others are held until the next turn."""
    if order.on == ARRIVAL or (order.span is None and order.slack == 0 and not order.clocked):
        return rows
    held = WindowRows.load(groups, "held")
    if held is not None:
        rows = WindowRows.concat([held, rows])
    rows = rows.take(value_order(rows.group, rows.value))
    if end:
        leaves = np.ones(len(rows), bool)
    elif order.span is None and not order.clocked:
        # All but the `slack` largest of each group.
        last = np.searchsorted(rows.group, rows.group, side="right")
        leaves = np.arange(len(rows)) + order.slack < last
    else:
        leaves = bound[1][rows.group] & (rows.value <= bound[0][rows.group])
    rows.filter(~leaves).store(groups, "held")
    return rows.filter(leaves)
