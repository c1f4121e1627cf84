"""Wait: holds tuples back until another stream has gone past their value (the thesis's Wait-for)."""

from dataclasses import dataclass, replace

import numpy as np

from aurora.algebra.groups import first_not_before
from aurora.algebra.join import check_reach, later
from aurora.algebra.operator import Partition
from aurora.algebra.order import Order, admit, to_values, with_order_value
from aurora.algebra.schema import Schema
from aurora.algebra.train import LAST, Train
from aurora.algebra.turn import Turn
from aurora.errors import AuroraError

__all__ = ["Wait"]


@dataclass(frozen=True)
class Wait:
    """A tuple leaves when no tuple with a value up to its own can come on the watched stream any more.

    `order` is that of the watched stream; where it has groups, a tuple waits for the group that its fields of the
    same names give. The end of the input lets everything go.
    """

    schema: Schema
    on: str
    watched: Schema
    order: Order

    @classmethod
    def of(cls, on: str, order: Order, schema: Schema, watched: Schema, where: str = "wait") -> "Wait":
        order.check(watched, f"{where}, for")
        own = Order(on, group_by=order.group_by)
        own.check(schema, where)
        check_reach(0, (own, schema), (order, watched), where)
        for name in order.group_by:
            if schema[name] != watched[name]:
                raise AuroraError(f"{where}: field {name} has two types, {schema[name]} and {watched[name]}")
        return cls(schema, on, watched, order)

    @property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.schema}

    @property
    def partition(self) -> Partition | None:
        return self.order.group_by, self.order.group_by

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        train = with_order_value(inputs[0].deepened(depth), self.on, turn)
        passing = admit(self.order, inputs[1].deepened(depth), replace(turn, counts=False), "watched ")
        stored = turn.state.get("held")
        old = 0 if stored is None else stored.num_rows
        if stored is not None:
            train = Train.concat([Train.unpacked(stored), train])
        value = to_values(train.rows.column(self.on))
        group = passing.groups.find(train.rows, self.order.group_by)
        low = np.searchsorted(passing.group, group, side="left")
        high = np.searchsorted(passing.group, group, side="right")
        floor = -np.inf if passing.bound.dtype.kind == "f" else np.iinfo(np.int64).min
        bound = np.where(passing.bounded, passing.bound, floor)
        cause = first_not_before(bound, low, high, value, after=True)
        before, known = passing.before
        passed = np.zeros(len(train), bool)
        if len(before):
            passed = (group >= 0) & known[group] & (before[group] > value)
        released = passed | (cause < high) | turn.moment.end
        keys = np.full(train.keys.shape, LAST, np.int64)
        found = cause < high
        keys[:, found] = passing.train.keys[:, cause[found]]
        keys[:, passed] = train.keys[:, passed]
        keys = np.where(later(train.keys, keys), train.keys, keys)
        if old != len(train) or released.any():
            turn.state.put("held", train.filter(~released).packed())
        own = train.keys[0]
        keys = np.concatenate([keys, own[None]])
        return {"1": Train(train.rows, train.arrived, keys).filter(released).arranged()}
