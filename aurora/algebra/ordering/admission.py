"""Admission: which tuples of a train are in order, and which values may still come after each of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import has_room_below, least, shift, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import starts_of, value_order
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask, Train, Values

__all__ = ["Admitted", "Bounds", "admit", "are_in_order", "out_of_order", "read_bounds", "with_order_value"]

# The bound of each group, and whether it has one.
Bounds = tuple[Values, Mask]


@dataclass(frozen=True)
class Admitted:
    """The tuples in order, group by group and inside a group as they came.

    `bound` is, after each of them, the smallest value that a later tuple of its group may still have (where
    `bounded`). `before` and `after` are the bounds of the groups at the two ends of the train.
    """

    groups: Groups
    train: Train
    group: Ints
    value: Values
    bound: Values
    bounded: Mask
    before: Bounds
    after: Bounds
    # The bound of all groups alike, where the order goes by a clock.
    clock: Progress | None = None


def admit(
    order: Order, train: Train, groups: Groups, group: Ints, turn: Turn, clock: Progress | None = None
) -> Admitted:
    """Lets the tuples in that are in order, counts the others, and remembers each group's largest values.

    `group` has the group of each tuple of the train, all of which have an order value. An order that goes by a clock
    needs to remember nothing.
    """
    if clock is not None:
        return _admit_by_clock(train, groups, group, to_values(train.rows.column(order.on)), turn, clock)
    if order.on == ARRIVAL:
        return _count(groups, train, group)
    value = to_values(train.rows.column(order.on))
    count = len(groups)
    depth = 1 if order.span is not None else order.slack + 1
    old_group, old_value = _tops(groups, value.dtype)
    before = _bounds(order, old_group, old_value, count, depth)
    if len(train) == 0:
        nothing = np.empty(0, bool)
        return Admitted(groups, train, group, value, value, nothing, before, before)

    # Per group: the largest values so far, then the arrivals.
    old = len(old_group)
    all_group, all_value = np.concatenate([old_group, group]), np.concatenate([old_value, value])
    sequence = stable_order(all_group)
    in_value = value_order(all_group[sequence], all_value[sequence])
    rank = np.empty(len(in_value), np.int64)
    rank[in_value] = np.arange(len(in_value))
    sorted_value = all_value[sequence][in_value]
    if order.span is None:
        late = out_of_order(rank, order.slack)
    else:
        largest = np.maximum.accumulate(rank)
        earlier = np.concatenate([[-1], largest[:-1]])
        group_start = starts_of(all_group[sequence])
        late = (earlier >= group_start) & (
            all_value[sequence] < shift(sorted_value[np.maximum(earlier, group_start)], -order.span)
        )
    turn.discard("out of order", int(late.sum()))

    kept = sequence[~late]
    kept_group, kept_value = all_group[kept], all_value[kept]
    start = starts_of(kept_group)
    place = np.arange(len(kept)) - start
    by_value = kept_value[value_order(kept_group, kept_value)]
    if order.span is None:
        bounded = place >= order.slack
        bound = by_value[np.where(bounded, start + place - order.slack, 0)]
    else:
        ranks = np.empty(len(kept), np.int64)
        ranks[value_order(kept_group, kept_value)] = np.arange(len(kept))
        largest = by_value[np.maximum.accumulate(ranks)]
        bound = shift(largest, -order.span)
        bounded = has_room_below(largest, order.span)

    size = np.bincount(kept_group, minlength=count)
    from_end = (start + size[kept_group]) - np.arange(len(kept))
    top = from_end <= depth
    touched = np.zeros(count, bool)
    touched[group] = True
    groups.put("tops", kept_group[top], pa.record_batch({"value": by_value[top]}), touched)
    fresh = kept >= old
    index = kept[fresh] - old
    return Admitted(
        groups,
        train.take(index),
        kept_group[fresh],
        kept_value[fresh],
        bound[fresh],
        bounded[fresh],
        before,
        _bounds(order, kept_group[top], by_value[top], count, depth),
    )


def are_in_order(train: Train, value: Values, clock: Progress, turn: Turn) -> Mask:
    """Which tuples the clock had not passed when they came; the others are counted."""
    late = value < clock.at(train.keys[0])
    turn.discard("out of order", int(late.sum()))
    return ~late


def _admit_by_clock(
    train: Train, groups: Groups, group: Ints, value: Values, turn: Turn, clock: Progress
) -> Admitted:
    in_order = are_in_order(train, value, clock, turn)
    if not in_order.all():
        train, group, value = train.filter(in_order), group[in_order], value[in_order]
    sequence = stable_order(group)
    train, group, value = train.take(sequence), group[sequence], value[sequence]
    bound = clock.at(train.keys[0] + 1)
    lowest = least(bound.dtype)
    before, after = (
        (np.full(len(groups), limit, bound.dtype), np.full(len(groups), limit > lowest))
        for limit in (clock.before, clock.after)
    )
    return Admitted(groups, train, group, value, bound, bound > lowest, before, after, clock)


def with_order_value(train: Train, on: str, turn: Turn) -> Train:
    """Leaves out the tuples whose order field has no place on a line: null, NaN, infinite."""
    column = train.rows.column(on)
    if pa.types.is_floating(column.type):
        valid = pc.fill_null(pc.is_finite(column), False).to_numpy(zero_copy_only=False)
    elif column.null_count:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
    else:
        return train
    turn.discard("no order value", int((~valid).sum()))
    return train.filter(valid)


def _count(groups: Groups, train: Train, group: Ints) -> Admitted:
    """Tup#: each group counts from 1, nothing is ever out of order."""
    total = np.zeros(len(groups), np.int64)
    stored = groups.rows("count")
    if stored is not None:
        total[stored[0]] = stored[1].column("count").to_numpy()
    known = total > 0
    before = (total + 1, known)
    sequence = stable_order(group)
    by_group = group[sequence]
    value = total[by_group] + 1 + np.arange(len(group)) - starts_of(by_group)
    more = np.bincount(group, minlength=len(groups))
    total = total + more
    if len(train):
        counted = np.flatnonzero(total > 0)
        groups.put("count", counted, pa.record_batch({"count": total[counted]}), more > 0)
    every = np.ones(len(group), bool)
    return Admitted(
        groups,
        train.take(sequence),
        by_group,
        value,
        value + 1,
        every,
        before,
        (total + 1, total > 0),
    )


def out_of_order(rank: Ints, slack: int) -> Mask:
    """Which elements have more than `slack` larger ones before them; ranks are unique and rise from group to group."""
    if slack >= len(rank):
        return np.zeros(len(rank), bool)
    if slack > 24:
        return _larger_before(rank) > slack
    waiting = rank
    for _ in range(slack):
        largest = np.maximum.accumulate(waiting)
        waiting = np.concatenate([[-1], np.minimum(largest[:-1], waiting[1:])])
    bound = np.maximum.accumulate(waiting)
    return np.concatenate([[False], bound[:-1] > rank[1:]])


def _larger_before(rank: Ints) -> Ints:
    """For each element how many larger ones stand before it: a merge sort that counts, a level at a time."""
    count = len(rank)
    place = np.arange(count)
    larger = np.zeros(count, np.int64)
    width = 1
    while width < count:
        block = place // (2 * width)
        order = np.lexsort((rank, block))
        left = (place[order] // width) % 2 == 0
        seen = np.cumsum(left)
        block_start = starts_of(block[order])
        in_block = seen - np.concatenate([[0], seen])[block_start]
        total = np.bincount(block[order], weights=left)[block[order]].astype(np.int64)
        larger[order] += np.where(left, 0, total - in_block)
        width *= 2
    return larger


def read_bounds(order: Order, groups: Groups) -> Bounds:
    """The bounds of the groups as they are stored."""
    group, value = _tops(groups, np.dtype(np.int64))
    depth = 1 if order.span is not None else order.slack + 1
    return _bounds(order, group, value, len(groups), depth)


def _tops(groups: Groups, kind: np.dtype[Any]) -> tuple[Ints, Values]:
    """The largest values of each group so far, ascending."""
    stored = groups.rows("tops")
    if stored is None:
        return np.empty(0, np.int64), np.empty(0, kind)
    return stored[0], stored[1].column("value").to_numpy()


def _bounds(order: Order, group: Ints, value: Values, count: int, depth: int) -> Bounds:
    """The bound of each group from its largest values (ascending inside a group)."""
    size = np.bincount(group, minlength=count) if len(group) else np.zeros(count, np.int64)
    known = size >= depth
    bound = np.zeros(count, value.dtype)
    if len(group):
        first = np.concatenate([[0], np.cumsum(size)[:-1]])
        lowest = value[np.minimum(first, len(value) - 1)]
        bound = lowest
        if order.span is not None:
            bound = shift(lowest, -order.span)
            known &= has_room_below(lowest, order.span)
    return bound, known
