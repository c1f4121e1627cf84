"""Resample(F, Size s, Left Assuming O1, Right Assuming O2): values of the right around each tuple of the left."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_reducer
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.admission import Admitted, admit, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.progress import Progress, join_progress
from aurora.algebra.ordering.values import beyond, least, order_codes, shift, to_values
from aurora.algebra.state.runs import Sweep
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import expand, find_runs, first_not_before, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask, Train, Values, at_the_end, make_clock_keys
from aurora.algebra.windows.reducer import Reducer, WindowFunction
from aurora.algebra.windows.rows import WindowRows
from aurora.errors import AuroraError

__all__ = ["Resample"]


@dataclass(frozen=True)
class Resample:
    """For each left tuple and each right group with tuples within `size`: group fields, left order field, F.

    A row comes out when the group can have no further tuple within reach. Where the right has groups, left tuples are
    kept, because a group that comes later may still have tuples near them; right tuples go as soon as no left tuple
    can reach them. By a clock all groups are complete at once, and left tuples go with their rows.

    >>> beats, reports = Schema.parse("Time int"), Schema.parse("Sid int, Time int, Pos int")
    >>> by_soldier = Order("Time", group_by=("Sid",))
    >>> at = Resample.of({"pos": "avg(Pos)"}, 10, Order("Time"), by_soldier, beats, reports)
    >>> x = pa.record_batch({"Time": [120]}, beats.arrow())
    >>> y = {"Sid": [1, 2, 2, 1, 1], "Time": [120, 120, 135, 130, 140], "Pos": [10, 20, 30, 14, 18]}
    >>> left = Train(x, np.zeros(1, int), np.zeros((1, 1), int))
    >>> right = Train(pa.record_batch(y, reports.arrow()), np.zeros(5, int), np.arange(1, 6)[None])
    >>> at.call((left, right), Turn())["1"].rows.to_pylist()
    [{'Sid': 2, 'Time': 120, 'pos': 20.0}, {'Sid': 1, 'Time': 120, 'pos': 12.0}]
    """

    left: Schema
    right: Schema
    reducer: Reducer
    size: Any
    left_order: Order
    right_order: Order

    @classmethod
    def of(
        cls,
        functions: Mapping[str, str] | WindowFunction,
        size: Any,
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        where: str = "resample",
    ) -> "Resample":
        left_order.check(left, f"{where}, left")
        right_order.check(right, f"{where}, right")
        check_reach(size, (left_order, left), (right_order, right), where)
        reducer = Reducer.of(functions, right, where)
        taken = [*right_order.group_by, left_order.on]
        twice = [name for name in [*taken, *reducer.outputs] if [*taken, *reducer.outputs].count(name) > 1]
        if twice:
            raise AuroraError(f"{where}: two fields of the result are called {twice[0]}; rename one")
        return cls(left, right, reducer, size, left_order, right_order)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        fields = {name: self.right[name] for name in self.right_order.group_by}
        on = self.left_order.on
        return {"1": Schema.of({**fields, on: self.left[on], **self.reducer.outputs})}

    @property
    def partition(self) -> Partition | None:
        return None, self.right_order.group_by

    @property
    def traits(self) -> Traits:
        clocks = self.left_order.clocks(0) + self.right_order.clocks(1)
        return Traits(functions=self.reducer.user_functions, clocks=clocks)

    def keeps(self, port: str) -> Keeps:
        return {}, keeps_fields(self.right_order.group_by)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        right = merge(needs_of_reducer(self.reducer), needs_of_order(self.right_order))
        return needs_of_order(self.left_order), right

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        if not (self.left_order.clocked and self.right_order.clocked):
            return {}
        left, right = clocks[0].lag(self.left_order.span), clocks[1].lag(self.right_order.span)
        # A left tuple that still waits is not further behind the right clock than the size.
        return {self.left_order.on: join_progress(left, right.lag(self.size))}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + 2

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        left, right = (train.at_input(number, depth) for number, train in enumerate(inputs))
        left = left.select({self.left_order.on, *self.left_order.group_by})
        right = right.select(self.reducer.fields | {self.right_order.on, *self.right_order.group_by})
        seen_by_all = replace(turn, counts=turn.primary)
        left = with_order_value(left, self.left_order.on, seen_by_all)
        right = with_order_value(right, self.right_order.on, turn)
        left_clock, right_clock = (self._clock(side, turn) for side in (0, 1))
        by = () if left_clock else self.left_order.group_by
        left_groups = turn.state.groups("left groups", by, left.rows)
        ticks = admit(self.left_order, left, left_groups, left_groups.numbers[0], seen_by_all, left_clock)
        beats, old = self._beats(ticks, turn)
        value = to_values(beats.rows.column(self.left_order.on))
        # Any group may have tuples near a left one that is new or, by a clock, complete now.
        concerned = ~old
        if right_clock is not None:
            concerned = beyond(np.broadcast_to(right_clock.after, len(value)), value, self.size)
        groups = turn.state.groups(
            "right groups",
            self.right_order.group_by,
            right.rows,
            everything=turn.moment.end or bool(concerned.any()),
            sweep=self._sweep(value[old], left_clock),
        )
        reports = admit(self.right_order, right, groups, groups.numbers[0], turn, right_clock)
        rows = self._reports(reports)
        due, group = self._due(value, old, reports, turn)
        result = self._results(beats, old, value, due, group, rows, reports)
        self._store(beats, value, rows, ticks, reports, turn)
        return {"1": result.arrange()}

    def _clock(self, side: int, turn: Turn) -> Progress | None:
        order = self.right_order if side else self.left_order
        if not order.clocked:
            return None
        return turn.clocks[side if self.left_order.clocked else 0].lag(order.span)

    def _sweep(self, waiting: Values, clock: Progress | None) -> Sweep:
        """Which right tuples a left one that waits, or that the left clock still lets in, may reach."""
        if clock is None:
            return {}
        earliest = np.append(waiting[:1], clock.before).min()
        return {"reports": lambda rows: shift(rows.column("#value").to_numpy(), self.size) >= earliest}

    def _beats(self, ticks: Admitted, turn: Turn) -> tuple[Train, Mask]:
        """All left tuples by value, and which of them came in earlier turns."""
        new = ticks.train.select({self.left_order.on})
        stored = turn.state.get("beats")
        parts = [new] if stored is None else [Train.unpack(stored), new]
        beats = Train.concat(parts)
        order = stable_order(to_values(beats.rows.column(self.left_order.on)))
        return beats.take(order), order < len(beats) - len(new)

    def _reports(self, reports: Admitted) -> WindowRows:
        columns = self.reducer.arguments(reports.train.rows)
        new = WindowRows(reports.group, reports.value, reports.train.arrived, None, None, columns)
        stored = WindowRows.load(reports.groups, "reports")
        rows = new if stored is None else WindowRows.concat([stored, new])
        return rows.take(value_order(rows.group, rows.value))

    def _due(self, value: Values, old: Mask, reports: Admitted, turn: Turn) -> tuple[Ints, Ints]:
        """Pairs of left tuple and right group that are complete now and were not before."""
        count = len(reports.groups)
        (bound_before, known_before), (bound, known) = reports.before, reports.after
        zero, end = np.zeros(count, np.int64), np.full(count, len(value))
        reach = shift(value, self.size)
        done = end if turn.moment.end else np.where(known, np.searchsorted(reach, bound), 0)
        was_done = np.where(known_before, np.searchsorted(reach, bound_before), 0)
        # What the group passed in this turn, and the new left tuples that it had passed already.
        beat, group = expand(was_done, done)
        new = np.flatnonzero(~old)
        place, passed = expand(zero, np.searchsorted(new, np.minimum(was_done, done)))
        return np.concatenate([beat, new[place]]), np.concatenate([group, passed])

    def _results(
        self,
        beats: Train,
        old: Mask,
        value: Values,
        due: Ints,
        group: Ints,
        rows: WindowRows,
        reports: Admitted,
    ) -> Train:
        low = np.searchsorted(rows.group, group, side="left")
        high = np.searchsorted(rows.group, group, side="right")
        first = first_not_before(rows.value, low, high, shift(value[due], -self.size))
        past = first_not_before(rows.value, low, high, shift(value[due], self.size), after=True)
        some = np.flatnonzero(past > first)
        if len(some) == 0:
            return Train.empty(self.outputs["1"].arrow(), beats.depth + 1)
        due, group, first, past = due[some], group[some], first[some], past[some]
        place, owner = expand(first, past)
        starts, _ = find_runs(owner)
        columns = [column.take(pa.array(place)) for column in rows.columns]
        values = self.reducer.over(columns, starts, len(place))
        chosen = beats.take(due)
        fields = [*reports.groups.columns(group), chosen.rows.column(0), *values]
        arrived = np.minimum(chosen.arrived, np.minimum.reduceat(rows.arrived[place], starts))
        keys = self._causes(chosen, old[due], value[due], group, reports)
        codes = order_codes(value[due])[None]
        out = pa.RecordBatch.from_arrays(fields, schema=self.outputs["1"].arrow())
        return Train(out, arrived, np.concatenate([keys, codes]))

    def _causes(self, chosen: Train, old: Mask, value: Values, group: Ints, reports: Admitted) -> Ints:
        """A pair is complete at the later of the beat's arrival and what passed its reach, a report or the clock."""
        if reports.clock is not None:
            reach = shift(value, self.size)
            keys = make_clock_keys(reports.clock.find_positions(reach, above=True), chosen.depth, True)
            own = ~old & (reports.clock.at(chosen.keys[0]) > reach)
            keys[:, own] = chosen.keys[:, own]
            return keys
        bound = np.where(reports.bounded, reports.bound, least(reports.bound.dtype))
        low = np.searchsorted(reports.group, group, side="left")
        high = np.searchsorted(reports.group, group, side="right")
        cause = first_not_before(bound, low, high, shift(value, self.size), after=True)
        found = cause < high
        keys = at_the_end(chosen.depth, len(group))
        keys[:, found] = reports.train.keys[:, cause[found]]
        before, known = reports.before
        own = known[group] & beyond(before[group], value, self.size)
        own |= found & ~old & (chosen.keys[0] > keys[0])
        keys[:, own] = chosen.keys[:, own]
        return keys

    def _store(
        self, beats: Train, value: Values, rows: WindowRows, ticks: Admitted, reports: Admitted, turn: Turn
    ) -> None:
        if turn.moment.end:
            turn.state.put("beats", None)
            return
        self._store_beats(beats, value, ticks, reports, turn)
        bound, known = ticks.after
        if (self.left_order.group_by and not self.left_order.clocked) or not known.any() or len(rows) == 0:
            rows.store(reports.groups, "reports")
            return
        # A report goes when no left tuple to come reaches it, and none that still waits for its group does.
        passed = beyond(np.broadcast_to(bound[0], len(rows)), rows.value, self.size)
        group_bound, group_known = reports.after
        waits_from = np.where(
            group_known[rows.group],
            np.maximum(shift(group_bound[rows.group], -self.size), shift(rows.value, -self.size)),
            shift(rows.value, -self.size),
        )
        first = np.searchsorted(value, waits_from)
        past = np.searchsorted(value, shift(rows.value, self.size), side="right")
        rows.filter(~passed | (past > first)).store(reports.groups, "reports")

    def _store_beats(
        self, beats: Train, value: Values, ticks: Admitted, reports: Admitted, turn: Turn
    ) -> None:
        alive = np.ones(len(beats), bool)
        bound, known = reports.after
        if reports.clock is not None:
            alive = ~beyond(np.broadcast_to(reports.clock.after, len(beats)), value, self.size)
        elif not self.right_order.group_by and known[0]:
            # Only one group, and what it has passed is done.
            alive = ~beyond(np.broadcast_to(bound[0], len(beats)), value, self.size)
        if len(ticks.train) or not alive.all():
            turn.state.put("beats", beats.filter(alive).pack())
