"""Order specifications: which tuples of a stream are in order, and which values may still come."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.state.groups import Groups, stable_order, value_order
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train, Values
from aurora.algebra.tuples.types import is_struct, type_name
from aurora.errors import AuroraError

__all__ = [
    "ARRIVAL",
    "Admitted",
    "Order",
    "admit",
    "from_values",
    "least",
    "orderable",
    "out_of_order",
    "smallest",
    "to_values",
    "with_order_value",
]

# `on: "#"` orders by the count of tuples in the group (the paper's Tup#).
ARRIVAL = "#"


@dataclass(frozen=True)
class Order:
    """Order(On, Slack, GroupBy). `span` is slack as a distance of values instead of a number of tuples."""

    on: str
    slack: int = 0
    span: int | float | None = None
    group_by: tuple[str, ...] = ()

    def check(self, schema: Schema, where: str) -> None:
        """Raises a fault unless the fields exist, can be ordered, and fit together."""
        for name in self.group_by:
            if name not in schema:
                raise AuroraError(
                    f"{where}: group_by has no field {name}; fields are {', '.join(schema.names)}"
                )
            if is_struct(schema[name]):
                raise AuroraError(f"{where}: group_by {name} is a struct; take its fields out with a map")
        if len(set(self.group_by)) < len(self.group_by):
            raise AuroraError(f"{where}: group_by names a field twice: {', '.join(self.group_by)}")
        if self.slack < 0 or (self.span is not None and self.span < 0):
            raise AuroraError(f"{where}: slack must be 0 or more, found {min(self.slack, self.span or 0)}")
        if self.on == ARRIVAL:
            if self.span is not None:
                raise AuroraError(f"{where}: slack as a span needs an order field, not '#'")
            return
        if self.on not in schema:
            raise AuroraError(
                f"{where}: order on {self.on}: no such field; fields are {', '.join(schema.names)}"
            )
        if self.on in self.group_by:
            raise AuroraError(f"{where}: {self.on} cannot be both the order field and a group field")
        if not orderable(schema[self.on]):
            raise AuroraError(
                f"{where}: order on {self.on}: {type_name(schema[self.on])} is neither a number nor a time"
            )

    def type(self, schema: Schema) -> pa.DataType:
        return pa.int64() if self.on == ARRIVAL else schema[self.on]


def orderable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
    )


def to_values(column: pa.Array) -> Values:
    """An order field as int64 or float64 (microseconds, days)."""
    if pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False)) + 0.0
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))


def from_values(values: Values, kind: pa.DataType) -> pa.Array:
    """The inverse of `to_values`."""
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32), pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values.astype(kind.to_pandas_dtype()), kind)


def smallest(kind: pa.DataType) -> int:
    """The smallest whole number that a field of this type holds, in the units of `to_values`."""
    return int(-(2 ** (kind.bit_width - 1)))


def least(kind: np.dtype[Any]) -> Any:
    """What lies below every bound."""
    return -np.inf if kind.kind == "f" else np.iinfo(np.int64).min


@dataclass(frozen=True)
class Admitted:
    """The tuples in order, group by group and inside a group as they came.

    `bound` is, after each of them, the smallest value that a later tuple of its group may still have (where
    `bounded`). `before` and `after` are the bounds of every group at the two ends of the train.
    """

    groups: Groups
    train: Train
    group: Ints
    value: Values
    bound: Values
    bounded: Mask
    before: tuple[Values, Mask]
    after: tuple[Values, Mask]


def admit(order: Order, train: Train, turn: Turn, name: str = "") -> Admitted:
    """Lets the tuples in that are in order, counts the others, and remembers each group's largest values."""
    groups = Groups(turn.state, name + "groups", order.group_by)
    if order.on == ARRIVAL:
        return _count(groups, train, turn, name)
    train = with_order_value(train, order.on, turn)
    group = groups.number(train.rows)
    value = to_values(train.rows.column(order.on))
    count = len(groups)
    depth = 1 if order.span is not None else order.slack + 1
    old_group, old_value = _tops(turn, name, value.dtype)
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
        group_start = _starts(all_group[sequence])
        late = (earlier >= group_start) & (
            all_value[sequence] < _minus(sorted_value[np.maximum(earlier, group_start)], order.span)
        )
    turn.discard("out of order", int(late.sum()))

    kept = sequence[~late]
    kept_group, kept_value = all_group[kept], all_value[kept]
    start = _starts(kept_group)
    place = np.arange(len(kept)) - start
    by_value = kept_value[value_order(kept_group, kept_value)]
    if order.span is None:
        bounded = place >= order.slack
        bound = by_value[np.where(bounded, start + place - order.slack, 0)]
    else:
        ranks = np.empty(len(kept), np.int64)
        ranks[value_order(kept_group, kept_value)] = np.arange(len(kept))
        largest = by_value[np.maximum.accumulate(ranks)]
        bound = _minus(largest, order.span)
        bounded = _fits(largest, order.span)

    size = np.bincount(kept_group, minlength=count)
    from_end = (start + size[kept_group]) - np.arange(len(kept))
    top = from_end <= depth
    _keep_tops(turn, name, kept_group[top], by_value[top])
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


def _count(groups: Groups, train: Train, turn: Turn, name: str) -> Admitted:
    """Tup#: each group counts from 1, nothing is ever out of order."""
    stored = turn.state.get(name + "counts")
    group = groups.number(train.rows)
    total = np.zeros(len(groups), np.int64)
    if stored is not None:
        total[: stored.num_rows] = stored.column("count").to_numpy()
    known = total > 0
    before = (total + 1, known)
    sequence = stable_order(group)
    by_group = group[sequence]
    value = total[by_group] + 1 + np.arange(len(group)) - _starts(by_group)
    total = total + np.bincount(group, minlength=len(groups))
    if len(train):
        turn.state.put(name + "counts", pa.record_batch({"count": total}))
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
        block_start = _starts(block[order])
        in_block = seen - np.concatenate([[0], seen])[block_start]
        total = np.bincount(block[order], weights=left)[block[order]].astype(np.int64)
        larger[order] += np.where(left, 0, total - in_block)
        width *= 2
    return larger


def _starts(sorted_groups: Ints) -> Ints:
    """For each element the position at which its group starts."""
    changed = np.concatenate([[True], sorted_groups[1:] != sorted_groups[:-1]])[: len(sorted_groups)]
    return np.maximum.accumulate(np.where(changed, np.arange(len(sorted_groups)), 0))


def _minus(values: Values, span: Any) -> Values:
    lower: Values = values - values.dtype.type(span)
    if values.dtype.kind == "i":
        lower = np.where(lower > values, np.iinfo(np.int64).min, lower)
    return lower


def _fits(values: Values, span: Any) -> Mask:
    """Where value - span is a value at all: below the smallest bigint there is no bound."""
    if values.dtype.kind == "f":
        return np.ones(len(values), bool)
    return np.asarray(values - np.int64(span) <= values)


def _tops(turn: Turn, name: str, kind: np.dtype[Any]) -> tuple[Ints, Values]:
    stored = turn.state.get(name + "tops")
    if stored is None:
        return np.empty(0, np.int64), np.empty(0, kind)
    return stored.column("group").to_numpy(), stored.column("value").to_numpy()


def _keep_tops(turn: Turn, name: str, group: Ints, value: Values) -> None:
    turn.state.put(name + "tops", pa.record_batch({"group": group, "value": value}))


def _bounds(order: Order, group: Ints, value: Values, count: int, depth: int) -> tuple[Values, Mask]:
    """The bound of each group from its largest values (ascending inside a group)."""
    size = np.bincount(group, minlength=count) if len(group) else np.zeros(count, np.int64)
    known = size >= depth
    bound = np.zeros(count, value.dtype)
    if len(group):
        first = np.concatenate([[0], np.cumsum(size)[:-1]])
        lowest = value[np.minimum(first, len(value) - 1)]
        bound = lowest
        if order.span is not None:
            bound = _minus(lowest, order.span)
            known &= _fits(lowest, order.span)
    return bound, known
