"""Aggregate(F, Assuming O, Size s, Advance i, Timeout t): functions over sliding windows of each group."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_reducer, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.admission import Admitted, Bounds, admit, with_order_value
from aurora.algebra.ordering.order import ARRIVAL, Order
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import from_values, order_codes, smallest
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.slices import call_in_slices
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import find_runs, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import lexical_order
from aurora.algebra.tuples.train import Ints, Mask, Train, Values
from aurora.algebra.tuples.types import type_name
from aurora.algebra.tuples.zones import find_zone, near_zones
from aurora.algebra.windows.causes import find_causes
from aurora.algebra.windows.due import find_due_keys, note_due_keys
from aurora.algebra.windows.local import HOUR, LocalWindows
from aurora.algebra.windows.panes import sum_up_panes
from aurora.algebra.windows.places import Windows
from aurora.algebra.windows.predicates import closing_windows, still_open
from aurora.algebra.windows.reducer import Reducer, WindowFunction
from aurora.algebra.windows.rows import WindowRows
from aurora.algebra.windows.slack import release
from aurora.algebra.windows.timeouts import count_late, find_expired_keys, forget_timed, note_keys, time_out
from aurora.errors import AuroraError

__all__ = ["Aggregate"]


@dataclass(frozen=True)
class Aggregate:
    """A row for each window that holds tuples: group fields, the window's start, the functions' values.

    >>> crowd = Aggregate.of({"n": "count(*)"}, Order("T", slack=1), 2, 2, Schema.parse("T int"))
    >>> rows = pa.record_batch({"T": [1, 3, 2, 4, 5]}, crowd.input.arrow())
    >>> crowd.call((Train(rows, np.zeros(5, int), np.arange(5)[None]),), Turn())["1"].rows.to_pylist()
    [{'T': 1, 'n': 2}]

    The clock of the stream closes the window of group 1, which has fallen silent:

    >>> from aurora.algebra.ordering.progress import find_rises
    >>> order = Order("T", group_by=("g",), clock="stream")
    >>> crowds = Aggregate.of({"n": "count(*)"}, order, 10, 10, Schema.parse("g int, T int"))
    >>> rows = pa.record_batch({"g": [1, 2, 2], "T": [0, 5, 12]}, crowds.input.arrow())
    >>> train = Train(rows, np.zeros(3, int), np.array([[1, 3, 5]]))
    >>> crowds.call((train,), Turn(clocks=(find_rises(train, "T"),)))["1"].rows.to_pylist()
    [{'g': 1, 'T': 0, 'n': 1}]
    """

    input: Schema
    reducer: Reducer
    order: Order
    windows: Windows
    timeout: int | None = None
    predicate: Expression | None = None

    @classmethod
    def of(
        cls,
        functions: Mapping[str, str] | WindowFunction | Reducer,
        order: Order,
        size: Any,
        advance: Any,
        schema: Schema,
        where: str = "aggregate",
        timeout: int | None = None,
        align: bool | str = False,
    ) -> "Aggregate":
        """`advance` is a number or the text of a predicate; `timeout` is in milliseconds; `align` may name a zone."""
        order.check(schema, where)
        predicate = None
        if isinstance(advance, str):
            predicate = Expression.parse(advance, schema, where)
            if predicate.type != pa.bool_():
                raise AuroraError(f"{where}: advance '{advance}' is neither a number nor a predicate")
            if align:
                raise AuroraError(f"{where}: align needs an advance that is a number")
            if timeout is not None:
                raise AuroraError(f"{where}: timeout needs an advance that is a number")
            advance = size
        if size <= 0 or advance <= 0:
            raise AuroraError(f"{where}: size and advance must be above 0, found {size} and {advance}")
        if timeout is not None and timeout <= 0:
            raise AuroraError(f"{where}: timeout must be above 0, found {timeout} ms")
        if not pa.types.is_floating(order.type(schema)) and (int(size) != size or int(advance) != advance):
            raise AuroraError(
                f"{where}: {order.on} counts in whole numbers, found size {size}, advance {advance}"
            )
        reducer = Reducer.of(functions, schema, where)
        windows = _windows(size, advance, align, order.type(schema), where)
        box = cls(schema, reducer, order, windows, timeout, predicate)
        taken = [*order.group_by, order.on]
        for name in reducer.outputs:
            if name in taken:
                raise AuroraError(
                    f"{where}: function {name} has the name of a field of the window; rename it"
                )
        return box

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        fields = {name: self.input[name] for name in self.order.group_by}
        return {
            "1": Schema.of({**fields, self.order.on: self.order.type(self.input), **self.reducer.outputs})
        }

    @property
    def partition(self) -> Partition | None:
        return (self.order.group_by,)

    @property
    def traits(self) -> Traits:
        return Traits(timeout=self.timeout, functions=self.reducer.user_functions, clocks=self.order.clocks())

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.order.group_by),)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        opening = needs_of_text([] if self.predicate is None else [self.predicate])
        return (merge(needs_of_reducer(self.reducer), opening, needs_of_order(self.order)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        if not self.order.clocked:
            return {}
        return {self.order.on: clocks[0].lag(self.order.span).map(self.windows.find_earliest_starts)}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + (1 if self.timeout is None else 2)

    @cached_property
    def _fields(self) -> frozenset[str]:
        """What is needed of a tuple."""
        opening = frozenset() if self.predicate is None else self.predicate.fields
        return self.reducer.fields | opening | {*self.order.group_by, self.order.on}

    @property
    def _in_panes(self) -> bool:
        """Whether tuples can be summed up before their windows close."""
        floating = self.order.on != ARRIVAL and pa.types.is_floating(self.input[self.order.on])
        return not (self.reducer.whole or floating or self.predicate)

    @property
    def _at_once(self) -> bool:
        """Whether tuples go into their windows as they come: where these lie, and their values, do not depend on it."""
        return self.windows.align and self._in_panes and not self.reducer.ordered

    @property
    def by_clock(self) -> bool:
        """Whether what comes is summed up by pane, and a clock closes the windows of all groups alike."""
        return self._at_once and self.order.clocked and self.timeout is None and self.reducer.exact

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        train = inputs[0].select(self._fields)
        if self.by_clock:
            return {"1": sum_up_panes(self, train, turn)}
        return {"1": call_in_slices(self._work, train, "groups", self.order.group_by, turn)}

    def _work(self, train: Train, turn: Turn) -> Train:
        if self.order.on != ARRIVAL:
            train = with_order_value(train, self.order.on, turn)
        timed = self.timeout is not None
        if timed:
            # One more line tells windows that time out from those that a clock closes before the first arrival.
            train = train.at_input(0, train.depth)
        clock = turn.clocks[0].lag(self.order.span) if self.order.clocked else None
        due = find_expired_keys(self, turn) if timed else []
        due += find_due_keys(self, clock, turn) if clock is not None else []
        groups = turn.state.groups(
            "groups", self.order.group_by, train.rows, *due, everything=turn.moment.end
        )
        early = time_out(self, train, groups, turn) if timed else []
        admitted = admit(self.order, train, groups, groups.numbers[0], turn, clock)
        rows = self._arguments(admitted, turn)
        if timed:
            count_late(self, admitted, rows, turn)
            note_keys(self, groups, turn)
        released = rows
        if not self._at_once:
            released = release(self.order, rows, admitted.after, groups, turn.moment.end)
        origin = self._origins(released, admitted)
        if timed and not self.windows.align:
            before = released.value < origin[released.group]
            turn.discard("before the first window", int(before.sum()))
            released = released.filter(~before)
        turn.discard("between windows", int(self._gaps(released, origin).sum()))
        kept = self.merge(WindowRows.load(groups, "windows"), released, origin)
        reached = None if turn.moment.end and self.order.on != ARRIVAL else admitted.after
        row, start = self._pairs(kept, released, origin, admitted.before, reached, groups)
        result = self._results(kept, row, start, admitted)
        kept = self._prune(kept, origin, admitted, turn)
        if clock is not None and not turn.moment.end:
            note_due_keys(self, kept, admitted, turn)
        return Train.concat([*early, result]).arrange()

    def lift_arrivals(self, train: Train, panes: Values) -> tuple[Train, Values, list[pa.Array]]:
        """What stands for the tuples of some panes before they are summed up, and the tuples and panes for which it
        does."""
        return train, panes, self.reducer.lift(self.reducer.arguments(train.rows), len(train))

    def _arguments(self, admitted: Admitted, turn: Turn) -> WindowRows:
        rows = admitted.train.rows
        columns = self.reducer.arguments(rows)
        opens = None if self.predicate is None else self.predicate.matches(rows)
        begun = None if self.timeout is None else np.full(len(rows), turn.moment.now, np.int64)
        return WindowRows(admitted.group, admitted.value, admitted.train.arrived, begun, opens, columns)

    def _origins(self, released: WindowRows, admitted: Admitted) -> Values:
        """The start of each group's first window: the first value that left the slack."""
        origin, known = self.load_origins(admitted.groups, admitted.value.dtype)
        if self.windows.align:
            return origin
        if len(released):
            firsts, _ = find_runs(released.group)
            fresh = firsts[~known[released.group[firsts]]]
            if len(fresh):
                origin[released.group[fresh]] = released.value[fresh]
                known[released.group[fresh]] = True
                self.store_origins(admitted.groups, origin, known)
        return origin

    def load_origins(self, groups: Groups, kind: np.dtype[Any]) -> Bounds:
        origin, known = np.zeros(len(groups), kind), np.zeros(len(groups), bool)
        stored = groups.rows("origin")
        if stored is not None:
            origin[stored[0]] = stored[1].column("value").to_numpy()
            known[stored[0]] = True
        return origin, known

    def store_origins(self, groups: Groups, origin: Values, known: Mask) -> None:
        group = np.flatnonzero(known)
        groups.put("origin", group, pa.record_batch({"value": origin[group]}))

    def _gaps(self, released: WindowRows, origin: Values) -> Any:
        if self.predicate is not None:
            return np.zeros(0, bool)
        return self.windows.in_gap(released.value, origin[released.group])

    def merge(self, stored: WindowRows | None, released: WindowRows, origin: Values) -> WindowRows:
        """What the open windows hold, by group and value; summed up by pane where that is possible."""
        if self._in_panes:
            panes = self.windows.panes(released.value, origin[released.group])
            released = released.replace(panes, self.reducer.lift(released.columns, len(released)))
        rows = released if stored is None else WindowRows.concat([stored, released])
        rows = rows.take(value_order(rows.group, rows.value))
        if not self._in_panes or len(rows) == 0:
            return rows
        starts, _ = find_runs(rows.group, rows.value)
        return rows.reduce(starts, self.reducer.combine(rows.columns, starts))

    def _pairs(
        self,
        kept: WindowRows,
        released: WindowRows,
        origin: Values,
        closed: Bounds,
        reached: Bounds | None,
        groups: Groups,
    ) -> tuple[Ints, Values]:
        """Which rows are in which of the windows that close now."""
        if self.predicate is not None:
            return closing_windows(self.windows.size, kept, released, origin, reached, groups)
        near = np.arange(len(kept))
        if reached is not None:
            # Most rows are in no window that closes: leave them out before counting steps.
            near = np.flatnonzero(reached[1][kept.group] & (reached[0][kept.group] > kept.value))
        row, start = self.windows.between(
            kept.value[near], origin[kept.group[near]], kept.group[near], closed, reached
        )
        return near[row], start

    def _results(self, kept: WindowRows, row: Ints, start: Values, admitted: Admitted) -> Train:
        row, start, begins = self.by_window(kept, row, start)
        group = kept.group[row[begins]]
        window = start[begins]
        if self.timeout is not None and len(begins):
            keep = ~forget_timed(group, window, admitted.groups)
            chosen = np.repeat(keep, np.diff(np.append(begins, len(row))))
            row, start = row[chosen], start[chosen]
            begins, _ = find_runs(kept.group[row], start)
            group, window = group[keep], window[keep]
        keys = self._causes(group, window, admitted)
        return self.emit(kept, row, begins, group, window, keys, admitted.groups)

    def by_window(self, kept: WindowRows, row: Ints, start: Values) -> tuple[Ints, Values, Ints]:
        order = lexical_order(kept.group[row], start, row)
        row, start = row[order], start[order]
        begins, _ = find_runs(kept.group[row], start)
        return row, start, begins

    def _causes(self, group: Ints, window: Values, admitted: Admitted) -> Ints:
        """The keys of the tuples whose arrival closed the windows; the end of the input closes the rest."""
        end = self.windows.ends(window)
        # Past the largest bigint nothing closes a window but the end of the input.
        never = end < window
        return find_causes(group, end, never, admitted)

    def emit(
        self,
        kept: WindowRows,
        row: Ints,
        begins: Ints,
        group: Ints,
        window: Values,
        keys: Ints,
        groups: Groups,
    ) -> Train:
        if len(begins) == 0:
            return Train.empty(self.outputs["1"].arrow(), len(keys) + 1)
        columns = [column.take(pa.array(row)) for column in kept.columns]
        if self._in_panes:
            values = self.reducer.finish(self.reducer.combine(columns, begins), len(begins))
        else:
            values = self.reducer.over(columns, begins, len(row))
        start = from_values(window, self.order.type(self.input))
        rows = pa.RecordBatch.from_arrays(
            [*groups.columns(group), start, *values], schema=self.outputs["1"].arrow()
        )
        arrived = np.minimum.reduceat(kept.arrived[row], begins)
        return Train(rows, arrived, np.concatenate([keys, order_codes(window)[None]]))

    def _prune(self, kept: WindowRows, origin: Values, admitted: Admitted, turn: Turn) -> WindowRows:
        """Forgets what no open window holds any more, and gives what they hold."""
        if turn.moment.end:
            alive = np.zeros(len(kept), bool)
        elif self.predicate is not None:
            alive = still_open(kept, admitted.groups)
        else:
            alive = self.windows.alive(kept.value, origin[kept.group], kept.group, admitted.after)
        kept = kept.filter(alive)
        kept.store(admitted.groups, "windows")
        return kept


def _windows(size: Any, advance: Any, align: bool | str, kind: pa.DataType, where: str) -> Windows:
    """Return where the windows lie; raise if they cannot go by the clocks of a zone."""
    if not isinstance(align, str):
        return Windows(size, advance, align, smallest(kind))
    zone = find_zone(align)
    if zone is None:
        raise AuroraError(
            f"{where}: align is true, false or a time zone such as Europe/Berlin; found '{align}'{near_zones(align)}"
        )
    if not pa.types.is_timestamp(kind):
        raise AuroraError(f"{where}: align: {align} needs an order on a timestamp, found {type_name(kind)}")
    if size % HOUR or advance % HOUR:
        raise AuroraError(
            f"{where}: align: {align} needs a size and an advance of whole hours or days; for shorter windows, which "
            "are the same in most zones, write align: true"
        )
    return LocalWindows(size, advance, True, smallest(kind), zone)
