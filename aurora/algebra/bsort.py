"""BSort(Assuming O): an approximate sort that holds back `slack` tuples of each group."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.admission import out_of_order, with_order_value
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import least, order_codes, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.slices import call_in_slices
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import first_not_before, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import LAST, Ints, Train, Values, at_the_end, make_clock_keys
from aurora.algebra.windows.due import Due
from aurora.errors import AuroraError

__all__ = ["BSort"]

# Groups that hold tuples back are looked at so many times while the clock goes on by the slack.
HELD = 16


@dataclass(frozen=True)
class BSort:
    """A buffer of slack + 1 tuples a group; when it is full, its smallest leaves (first come on ties).

    No tuple is lost: one that comes too late for the buffer goes straight through. With slack as a span, a tuple
    leaves as soon as nothing smaller can be in order, by the tuples of its group or by the clock.

    >>> sort = BSort.of(Order("A", slack=2), Schema.parse("A int"))
    >>> rows = pa.record_batch({"A": [1, 3, 1, 2, 4, 4, 8, 3, 4, 4]}, sort.schema.arrow())
    >>> turn = Turn()
    >>> sort.call((Train(rows, np.zeros(10, int), np.arange(10)[None]),), turn)["1"].rows["A"].to_pylist()
    [1, 1, 2, 3, 4, 3, 4, 4]
    >>> from aurora.algebra.state.turn import Moment
    >>> end = Turn(turn.state, Moment(end=True))
    >>> sort.call((Train.empty(rows.schema),), end)["1"].rows["A"].to_pylist()
    [4, 8]

    By a clock that lags 2 behind the largest of the stream:

    >>> from aurora.algebra.ordering.progress import find_rises
    >>> sort = BSort.of(Order("A", span=2, clock="stream"), sort.schema)
    >>> rows = pa.record_batch({"A": [1, 4, 3, 2, 6]}, sort.schema.arrow())
    >>> train = Train(rows, np.zeros(5, int), np.array([[1, 3, 5, 7, 9]]))
    >>> sort.call((train,), Turn(clocks=(find_rises(train, "A"),)))["1"].rows["A"].to_pylist()
    [1, 2, 3, 4]
    """

    schema: Schema
    order: Order

    @classmethod
    def of(cls, order: Order, schema: Schema, where: str = "bsort") -> "BSort":
        order.check(schema, where)
        if order.on == ARRIVAL:
            raise AuroraError(f"{where}: tuples already come in the order of '#': name a field to sort on")
        return cls(schema, order)

    @property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.schema}

    @property
    def partition(self) -> Partition | None:
        return (self.order.group_by,)

    @property
    def traits(self) -> Traits:
        return Traits(passes=True, clocks=self.order.clocks())

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.schema.names),)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (merge(given, needs_of_order(self.order)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return {self.order.on: clocks[0].lag(self.order.span)} if self.order.clocked else {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * inputs[0] + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        return {"1": call_in_slices(self._work, inputs[0], "groups", self.order.group_by, turn)}

    def _work(self, train: Train, turn: Turn) -> Train:
        depth = train.depth
        train = with_order_value(train, self.order.on, turn)
        clock = turn.clocks[0].lag(self.order.span) if self.order.clocked else None
        due = [] if clock is None else self._due.take(clock.after, turn)
        groups = turn.state.groups(
            "groups", self.order.group_by, train.rows, *due, everything=turn.moment.end
        )
        group = groups.numbers[0]
        stored = groups.rows("held")
        if stored is not None:
            group = np.concatenate([stored[0], group])
            train = Train.concat([Train.unpack(stored[1]), train])
        if len(train) == 0:
            return Train.empty(self.schema.arrow(), self.depth((depth,)))
        sequence = stable_order(group)
        train, group = train.take(sequence), group[sequence]
        value = to_values(train.rows.column(self.order.on))
        if clock is not None:
            emitted, stays = self._by_clock(train, value, clock)
        else:
            leaves, cause, stays = (
                self._by_count(group, value)
                if self.order.span is None
                else self._by_span(groups, group, value)
            )
            emitted = self._emit(train, value, leaves, train.keys.take(cause, axis=1))
        if turn.moment.end:
            rest = self._emit(train, value, stays, at_the_end(train.depth, len(stays)))
            emitted, stays = Train.concat([emitted, rest]), stays[:0]
        # What stays goes back in the order in which it came.
        stays = np.sort(stays)
        groups.put("held", group[stays], train.take(stays).pack())
        if clock is not None and not turn.moment.end:
            self._due.note(groups, group[stays], value[stays], clock.after, turn)
        return emitted.arrange()

    @property
    def _due(self) -> Due:
        return Due(self.order.group_by, max((self.order.span or 0) / HELD, 1) // 1)

    def _by_clock(self, train: Train, value: Values, clock: Progress) -> tuple[Train, Ints]:
        """What leaves when the clock reaches it, or at its own arrival where it comes too late, and what stays."""
        late = value <= clock.at(train.keys[0])
        positions = clock.find_positions(value)
        waits = ~late & (positions == LAST)
        keys = make_clock_keys(positions, train.depth, True)
        keys[:, late] = train.keys[:, late]
        leaves = np.flatnonzero(~waits)
        return self._emit(train, value, leaves, keys[:, leaves]), np.flatnonzero(waits)

    def _by_count(self, group: Ints, value: Values) -> tuple[Ints, Ints, Ints]:
        """Which tuples leave, at whose arrival, and which stay; positions in the sequence of the groups."""
        slack = self.order.slack
        by_value = value_order(group, value)
        rank = np.empty(len(group), np.int64)
        rank[by_value] = np.arange(len(group))
        late = out_of_order(rank, slack)
        # A late tuple leaves at its own arrival; each other one makes the smallest in order leave, `slack` behind.
        ordered = by_value[~late[by_value]]
        arrivals = np.flatnonzero(~late)
        of_group = group[ordered]
        last = np.searchsorted(of_group, of_group, side="right")
        leaving = np.arange(len(ordered)) + slack < last
        causes = arrivals[np.flatnonzero(leaving) + slack]
        direct = np.flatnonzero(late)
        return np.concatenate([ordered[leaving], direct]), np.concatenate([causes, direct]), ordered[~leaving]

    def _by_span(self, groups: Groups, group: Ints, value: Values) -> tuple[Ints, Ints, Ints]:
        """As `_by_count`; what was held before never leaves at its own arrival again, so only maxima matter."""
        span = self.order.span
        assert span is not None
        floor = np.full(len(groups), least(value.dtype), value.dtype)
        tops = groups.rows("top")
        if tops is not None:
            floor[tops[0]] = tops[1].column("value").to_numpy()
        by_value = value_order(group, value)
        rank = np.empty(len(group), np.int64)
        rank[by_value] = np.arange(len(group))
        largest = np.maximum(value[by_value][np.maximum.accumulate(rank)], floor[group])
        # The first arrival of the group, not before the tuple's own, whose bound reaches it.
        starts = np.searchsorted(group, group, side="left")
        ends = np.searchsorted(group, group, side="right")
        if value.dtype.kind == "f":
            cause = first_not_before(largest - span, starts, ends, value)
        else:
            due = value + np.int64(span)
            cause = np.where(due < value, ends, first_not_before(largest, starts, ends, due))
        cause = np.maximum(cause, np.arange(len(group)))
        leaving = np.flatnonzero(cause < ends)
        top = floor.copy()
        np.maximum.at(top, group, value)
        groups.put("top", np.arange(len(groups)), pa.record_batch({"value": top}))
        return leaving, cause[leaving], np.flatnonzero(cause >= ends)

    def _emit(self, train: Train, value: Values, leaves: Ints, keys: Ints) -> Train:
        """What leaves, each tuple at the place of what made it leave."""
        own = train.take(leaves)
        return Train(
            own.rows, own.arrived, np.concatenate([keys, order_codes(value[leaves])[None], own.keys])
        )
