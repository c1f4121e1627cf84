"""Aggregate over sessions: tuples of a group that are less than a gap apart belong together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_reducer
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.admission import Admitted, admit, with_order_value
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import from_values, order_codes, shift, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.slices import call_in_slices
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import find_runs, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train, Values
from aurora.algebra.windows.causes import find_causes
from aurora.algebra.windows.due import Due
from aurora.algebra.windows.reducer import Reducer, WindowFunction
from aurora.algebra.windows.rows import WindowRows
from aurora.algebra.windows.slack import release
from aurora.errors import AuroraError

__all__ = ["Sessions"]

# Groups are looked at this part of a gap too early at most.
PARTS = 16


@dataclass(frozen=True)
class Sessions:
    """A row for each session: group fields, its start, the functions' values; it ends a gap behind its last tuple.

    >>> visits = Sessions.of({"n": "count(*)"}, Order("T", group_by=("g",)), 10, Schema.parse("g int, T int"))
    >>> rows = pa.record_batch({"g": [1, 2, 1, 1, 1], "T": [0, 3, 9, 12, 30]}, visits.input.arrow())
    >>> visits.call((Train(rows, np.zeros(5, int), np.arange(5)[None]),), Turn())["1"].rows.to_pylist()
    [{'g': 1, 'T': 0, 'n': 3}]
    """

    input: Schema
    reducer: Reducer
    order: Order
    gap: Any

    @classmethod
    def of(
        cls,
        functions: Mapping[str, str] | WindowFunction,
        order: Order,
        gap: Any,
        schema: Schema,
        where: str = "aggregate",
    ) -> "Sessions":
        order.check(schema, where)
        if order.on == ARRIVAL:
            raise AuroraError(f"{where}: a gap needs an order field, not '#'")
        if gap <= 0:
            raise AuroraError(f"{where}: gap must be above 0, found {gap}")
        if not pa.types.is_floating(order.type(schema)) and int(gap) != gap:
            raise AuroraError(f"{where}: {order.on} counts in whole numbers, found gap {gap}")
        reducer = Reducer.of(functions, schema, where)
        for name in reducer.outputs:
            if name in (*order.group_by, order.on):
                raise AuroraError(
                    f"{where}: function {name} has the name of a field of the window; rename it"
                )
        return cls(schema, reducer, order, gap)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        fields = {name: self.input[name] for name in (*self.order.group_by, self.order.on)}
        return {"1": Schema.of({**fields, **self.reducer.outputs})}

    @property
    def partition(self) -> Partition | None:
        return (self.order.group_by,)

    @property
    def traits(self) -> Traits:
        return Traits(functions=self.reducer.user_functions, clocks=self.order.clocks())

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.order.group_by),)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (merge(needs_of_reducer(self.reducer), needs_of_order(self.order)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        # A session that has long been open may have any start.
        return {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + 1

    @cached_property
    def _fields(self) -> frozenset[str]:
        return self.reducer.fields | {*self.order.group_by, self.order.on}

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        train = inputs[0].select(self._fields)
        return {"1": call_in_slices(self._work, train, "groups", self.order.group_by, turn)}

    def _work(self, train: Train, turn: Turn) -> Train:
        train = with_order_value(train, self.order.on, turn)
        clock = turn.clocks[0].lag(self.order.span) if self.order.clocked else None
        due = [] if clock is None else self._due.take(clock.after, turn)
        groups = turn.state.groups(
            "groups", self.order.group_by, train.rows, *due, everything=turn.moment.end
        )
        admitted = admit(self.order, train, groups, groups.numbers[0], turn, clock)
        rows = WindowRows(
            admitted.group,
            admitted.value,
            admitted.train.arrived,
            None,
            None,
            self.reducer.arguments(admitted.train.rows),
        )
        if self.reducer.ordered:
            rows = release(self.order, rows, admitted.after, groups, turn.moment.end)
        sessions = self._merge(WindowRows.load(groups, "sessions"), rows)
        closed = self._are_closed(sessions, admitted, turn.moment.end)
        result = self._emit(sessions, closed, admitted)
        rest = sessions.rows.filter(~closed[sessions.number])
        rest.store(groups, "sessions")
        if clock is not None and not turn.moment.end:
            self._note(rest, groups, clock, turn)
        return result.arrange()

    @property
    def _due(self) -> Due:
        step = self.gap / PARTS if isinstance(self.gap, float) else max(self.gap // PARTS, 1)
        return Due(self.order.group_by, step)

    def _note(self, rest: WindowRows, groups: Groups, clock: Progress, turn: Turn) -> None:
        group, ends = rest.group, shift(to_values(rest.columns[0]), self.gap)
        held = WindowRows.load(groups, "held")
        if held is not None:
            group = np.concatenate([group, held.group])
            ends = np.concatenate([ends, shift(held.value, self.gap)])
        self._due.note(groups, group, ends, clock.after, turn)

    def _merge(self, stored: WindowRows | None, rows: WindowRows) -> "_Sessions":
        """What open sessions hold: the first column is the last value, then what the functions made of the tuples."""
        lifted = rows.columns
        if not self.reducer.whole:
            lifted = self.reducer.lift(rows.columns, len(rows))
        rows = rows.replace(rows.value, [pa.array(rows.value), *lifted])
        rows = rows if stored is None else WindowRows.concat([stored, rows])
        rows = rows.take(value_order(rows.group, rows.value))
        begins, number = self._split(rows)
        last = to_values(rows.columns[0])
        if len(begins):
            last = np.maximum.reduceat(last, begins)
        if self.reducer.whole or len(rows) == 0:
            return _Sessions(rows, begins, number, last)
        merged = rows.reduce(begins, [pa.array(last), *self.reducer.combine(rows.columns[1:], begins)])
        each = np.arange(len(begins))
        return _Sessions(merged, each, each, last)

    def _split(self, rows: WindowRows) -> tuple[Ints, Ints]:
        """Where sessions begin: at a gap behind everything of the group that starts before."""
        if len(rows) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        last = to_values(rows.columns[0])
        # By group and last value: the largest so far is then the largest of the group.
        by_last = value_order(rows.group, last)
        rank = np.empty(len(rows), np.int64)
        rank[by_last] = np.arange(len(rows))
        latest = last[by_last][np.maximum.accumulate(rank)]
        limit = shift(latest[:-1], self.gap)
        apart = (rows.value[1:] >= limit) & (limit > latest[:-1])
        begins, _ = find_runs(rows.group)
        starts = np.concatenate([[True], apart])
        starts[begins] = True
        return np.flatnonzero(starts), np.cumsum(starts) - 1

    def _are_closed(self, sessions: "_Sessions", admitted: Admitted, end: bool) -> Mask:
        if end:
            return np.ones(len(sessions.begins), bool)
        bound, known = admitted.after
        group = sessions.rows.group[sessions.begins]
        limit = shift(sessions.last, self.gap)
        return np.asarray(known[group] & (bound[group] >= limit) & (limit > sessions.last), bool)

    def _emit(self, sessions: "_Sessions", closed: Mask, admitted: Admitted) -> Train:
        rows = sessions.rows.filter(closed[sessions.number])
        depth = admitted.train.depth
        if len(rows) == 0:
            return Train.empty(self.outputs["1"].arrow(), depth + 1)
        begins, _ = find_runs(sessions.number[closed[sessions.number]])
        if self.reducer.whole:
            values = self.reducer.over(rows.columns[1:], begins, len(rows))
        else:
            values = self.reducer.finish(rows.columns[1:], len(rows))
        group, start, last = rows.group[begins], rows.value[begins], sessions.last[closed]
        limit = shift(last, self.gap)
        keys = find_causes(group, limit, limit <= last, admitted)
        columns = [*admitted.groups.columns(group), from_values(start, self.input[self.order.on]), *values]
        result = pa.RecordBatch.from_arrays(columns, schema=self.outputs["1"].arrow())
        arrived = np.minimum.reduceat(rows.arrived, begins)
        return Train(result, arrived, np.concatenate([keys, order_codes(start)[None]]))


@dataclass(frozen=True)
class _Sessions:
    """Rows by session: where each begins, the session of each row, and the last value of each."""

    rows: WindowRows
    begins: Ints
    number: Ints
    last: Values
