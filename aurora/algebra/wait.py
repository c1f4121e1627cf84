"""Wait: holds tuples back until another stream has gone past their value (the thesis's Wait-for)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.admission import Admitted, admit, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import least, to_values
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import first_not_before
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train, at_the_end, make_clock_keys
from aurora.errors import AuroraError

__all__ = ["Wait"]


@dataclass(frozen=True)
class Wait:
    """A tuple leaves when no tuple with a value up to its own can come on the watched stream any more.

    `order` is that of the watched stream; where it has groups, a tuple waits for the group that its fields of the
    same names give, or by a clock for all alike. The end of the input lets everything go.

    >>> import pyarrow as pa
    >>> minute = Schema.parse("Minute int")
    >>> wait = Wait.of("Minute", Order("Minute"), minute, minute)
    >>> asked, done = (pa.record_batch({"Minute": values}, minute.arrow()) for values in ([1, 2], [1, 1, 2]))
    >>> trains = Train(asked, np.zeros(2, int), np.arange(2)[None]), Train(done, np.zeros(3, int), np.arange(3)[None])
    >>> wait.call(trains, Turn())["1"].rows.to_pylist()
    [{'Minute': 1}]
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

    @property
    def traits(self) -> Traits:
        return Traits(passes=True, clocks=self.order.clocks(1))

    def keeps(self, port: str) -> Keeps:
        return keeps_fields(self.schema.names), {}

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        own = Order(self.on, group_by=self.order.group_by)
        return merge(given, needs_of_order(own)), needs_of_order(self.order)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * max(inputs) + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        train = with_order_value(inputs[0].deepen(depth), self.on, turn)
        uncounted = replace(turn, counts=False)
        watched = with_order_value(inputs[1].at_input(1, depth), self.order.on, uncounted)
        clock = turn.clocks[0].lag(self.order.span) if self.order.clocked else None
        by = self.order.group_by if clock is None else ()
        groups = turn.state.groups("groups", by, watched.rows, train.rows, everything=turn.moment.end)
        passing = admit(self.order, watched, groups, groups.numbers[0], uncounted, clock)
        group = groups.numbers[1]
        stored = groups.rows("held")
        old = 0 if stored is None else len(stored[0])
        if stored is not None:
            train = Train.concat([Train.unpack(stored[1]), train])
            group = np.concatenate([stored[0], group])
        released, keys = self._released(train, group, old, passing, turn)
        groups.put("held", group[~released], train.filter(~released).pack())
        keys = np.concatenate([keys, train.keys])
        return {"1": Train(train.rows, train.arrived, keys).filter(released).arrange()}

    def _released(
        self, train: Train, group: Ints, old: int, passing: Admitted, turn: Turn
    ) -> tuple[Mask, Ints]:
        """Which tuples leave, and the keys of the arrivals that let them go; the first `old` waited before."""
        value = to_values(train.rows.column(self.on))
        if passing.clock is not None:
            keys = make_clock_keys(passing.clock.find_positions(value, above=True), train.depth + 1, True)
            own = passing.clock.at(train.keys[0]) > value
            keys[:, own] = train.at_input(0, train.depth).keys[:, own]
            return (passing.clock.after > value) | turn.moment.end, keys
        low = np.searchsorted(passing.group, group, side="left")
        high = np.searchsorted(passing.group, group, side="right")
        bound = np.where(passing.bounded, passing.bound, least(passing.bound.dtype))
        cause = first_not_before(bound, low, high, value, after=True)
        found = cause < high
        keys = at_the_end(train.depth + 1, len(train))
        keys[:, found] = passing.train.keys[:, cause[found]]
        before, known = passing.before
        passed = np.zeros(len(train), bool)
        if len(before):
            passed = (group >= 0) & known[group] & (before[group] > value)
        # A tuple that comes after the one that frees it leaves at its own arrival.
        own = passed | (found & (np.arange(len(train)) >= old) & (train.keys[0] > keys[0]))
        keys[:, own] = train.at_input(0, train.depth).keys[:, own]
        return passed | found | turn.moment.end, keys
