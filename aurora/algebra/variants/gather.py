"""Resample with bounds from the data: functions over the right tuples between two values that the left tuple names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_reducer, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.admission import are_in_order, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.pairs import are_complete, equal_fields, pair_predicate
from aurora.algebra.ordering.progress import Progress, join_progress
from aurora.algebra.ordering.sides import Tuples
from aurora.algebra.ordering.values import comparable, order_codes, orderable, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import expand, first_not_before, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import lexical_order
from aurora.algebra.tuples.train import Ints, Mask, Train, make_clock_keys
from aurora.algebra.tuples.types import type_name
from aurora.algebra.windows.due import Due
from aurora.algebra.windows.gathered import Gathered
from aurora.algebra.windows.reducer import Reducer
from aurora.errors import AuroraError

__all__ = ["Gather"]

# Left tuples are looked at so much too early at most: a quarter of a second of timestamps, or not at all.
STEP = 250_000


@dataclass(frozen=True)
class Gather:
    """For each left tuple with right ones of its key between its bounds, both included: its fields, then F over these.

    The row comes out when the clock of the right has passed the upper bound. What the functions have so far is kept
    with the left tuple; right tuples are kept only as long as a left one may still come for them.

    >>> sales, bids = Schema.parse("id int, T int, ends int"), Schema.parse("id int, T int, price int")
    >>> orders = Order("T", clock="stream"), Order("T", clock="stream")
    >>> best = {"price": "max(price)"}
    >>> box = Gather.of(best, "left.id = right.id", ["left.T", "left.ends"], *orders, sales, bids)
    >>> left = pa.record_batch({"id": [1], "T": [0], "ends": [5]}, sales.arrow())
    >>> right = pa.record_batch({"id": [1, 1, 1], "T": [2, 5, 6], "price": [7, 9, 8]}, bids.arrow())
    >>> left = Train(left, np.zeros(1, int), np.array([[1]]))
    >>> right = Train(right, np.zeros(3, int), np.array([[3, 5, 7]]))
    >>> from aurora.algebra.ordering.progress import find_rises
    >>> turn = Turn(clocks=(find_rises(left, "T"), find_rises(right, "T")))
    >>> box.call((left, right), turn)["1"].rows.to_pylist()
    [{'id': 1, 'T': 0, 'ends': 5, 'price': 9}]
    """

    left: Schema
    right: Schema
    reducer: Reducer
    predicate: Expression
    low: Expression
    high: Expression
    left_order: Order
    right_order: Order
    # Whether left tuples come out that have no right ones, too.
    outer: bool = False

    @classmethod
    def of(
        cls,
        functions: Mapping[str, str],
        match: str,
        between: Sequence[str],
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        where: str = "resample",
        outer: bool = False,
    ) -> "Gather":
        for order, schema, side in ((left_order, left, "left"), (right_order, right, "right")):
            order.check(schema, f"{where}, {side}")
            if not order.clocked:
                raise AuroraError(
                    f"{where}: between needs a clock; write clock: stream or clock: NAME in {side}_order"
                )
        check_reach(0, (left_order, left), (right_order, right), where)
        reducer = Reducer.of(functions, right, where)
        for name in reducer.outputs:
            if name in left:
                raise AuroraError(f"{where}: function {name} has the name of a left field; rename it")
        low, high = (_bound(text, left, right_order.type(right), where) for text in between)
        predicate = pair_predicate(match, left, right, where)
        return cls(left, right, reducer, predicate, low, high, left_order, right_order, outer)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        fields = {name: self.left[name] for name in self.left.names}
        return {"1": Schema.of({**fields, **self.reducer.outputs})}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        return self._pairing_fields(0), self._pairing_fields(1)

    @property
    def traits(self) -> Traits:
        return Traits(clocks=self.left_order.clocks(0) + self.right_order.clocks(1))

    def keeps(self, port: str) -> Keeps:
        return {name: name for name in self.left.names}, {right: left for left, right in self.equal}

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        wanted = None if given is None else {name: given[name] for name in given if name in self.left}
        left = merge(
            wanted,
            needs_of_order(self.left_order),
            needs_of_text([self.low, self.high]),
            needs_of_text([self.predicate], "left"),
        )
        right = merge(
            needs_of_reducer(self.reducer),
            needs_of_order(self.right_order),
            needs_of_text([self.predicate], "right"),
        )
        return left, right

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        # A left tuple that comes later has a later upper bound, if it has right tuples at all.
        if self.high.is_field is None or not self._from_left_order or self.outer:
            return {}
        left, right = (clock.lag(order.span) for clock, order in zip(clocks, self._orders, strict=True))
        return {self.high.is_field: join_progress(left, right)}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + 3

    @property
    def _orders(self) -> tuple[Order, Order]:
        return self.left_order, self.right_order

    @property
    def _from_left_order(self) -> bool:
        """Whether the lower bound of a left tuple is its place in the order: then none before the clock's will come."""
        return self.low.is_field == self.left_order.on

    def _pairing_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        clocks = [clock.lag(order.span) for clock, order in zip(turn.clocks, self._orders, strict=True)]
        left = with_order_value(inputs[0].at_input(0, depth), self.left_order.on, turn)
        left = self._with_bounds(left, turn)
        right = inputs[1].at_input(1, depth).select(self._right_fields)
        right = with_order_value(right, self.right_order.on, turn)
        new = [
            self._admit(side, train, clock, turn)
            for side, (train, clock) in enumerate(zip((left, right), clocks, strict=True))
        ]
        due = self._due.take(clocks[1].after, turn)
        names = [self._pairing_fields(side) for side in (0, 1)]
        streams = [(train.rows, own) for train, own in zip(new, names, strict=True)]
        streams += [(keys, names[0]) for keys in due]
        groups = turn.state.groups(
            "pairs",
            names[0],
            *streams,
            everything=turn.moment.end,
            sweep={"right": lambda rows: self._are_recent(rows, clocks[0].before)},
        )
        waiting = self._waiting(new[0], groups)
        fresh, old = self._right_tuples(new[1], groups, clocks, turn)
        waiting = self._fold(waiting, fresh, old)
        closed = waiting.high < clocks[1].after if not turn.moment.end else np.ones(len(waiting), bool)
        result = self._emit(waiting.filter(closed), clocks[1])
        rest = waiting.filter(~closed)
        rest.store(groups)
        if not turn.moment.end:
            self._due.note(groups, rest.group, rest.high, clocks[1].after, turn)
        return {"1": result.arrange()}

    @cached_property
    def _right_fields(self) -> frozenset[str]:
        used = {use.path[0] for use in self.predicate.uses if use.side == "right"}
        return self.reducer.fields | {self.right_order.on, *self._pairing_fields(1), *used}

    @property
    def _due(self) -> Due:
        step = STEP if pa.types.is_timestamp(self.right_order.type(self.right)) else 1
        return Due(self._pairing_fields(0), step)

    def _admit(self, side: int, train: Train, clock: Progress, turn: Turn) -> Train:
        """The tuples of a side that are in order, as they came; what P wants equal and is null matches nothing."""
        value = to_values(train.rows.column(self._orders[side].on))
        in_order = are_in_order(train, value, clock, turn)
        if side == 0 and self.outer:
            # What P wants equal and is null has no right tuples, but comes out.
            return train.filter(in_order)
        return train.filter(in_order & are_complete(train.rows, self._pairing_fields(side)))

    def _with_bounds(self, left: Train, turn: Turn) -> Train:
        """Leaves out the left tuples that have no bounds: null, NaN."""
        bounded = np.ones(len(left), bool)
        for expression in (self.low, self.high):
            column = expression.evaluate(left.rows)
            if pa.types.is_floating(column.type):
                bounded &= ~np.isnan(column.fill_null(np.nan).to_numpy(zero_copy_only=False))
            elif column.null_count:
                bounded &= column.is_valid().to_numpy(zero_copy_only=False)
        turn.discard("no bounds", int((~bounded).sum()))
        return left.filter(bounded)

    def _waiting(self, new: Train, groups: Groups) -> Gathered:
        """The left tuples that wait: those of earlier turns, and the new ones."""
        low, high = (to_values(expression.evaluate(new.rows)) for expression in (self.low, self.high))
        fresh = Gathered(
            new,
            groups.numbers[0],
            low,
            high,
            np.ones(len(new), bool),
            np.zeros(len(new), np.int64),
            new.arrived,
            self.reducer.lift_nothing(len(new)),
        )
        stored = groups.rows("left")
        return fresh if stored is None else Gathered.concat(Gathered.load(stored, len(fresh.columns)), fresh)

    def _right_tuples(
        self, new: Train, groups: Groups, clocks: list[Progress], turn: Turn
    ) -> tuple[Tuples, Tuples]:
        """The right tuples that are taken in now, and those that were before; what may be needed later stays."""
        fresh = Tuples(new, groups.numbers[1])
        old = Tuples.load(groups, "right", new)
        if self.reducer.ordered:
            # In the order of their values: each waits until none before it can come.
            fresh = Tuples.concat(Tuples.load(groups, "held", new), fresh)
            value = to_values(fresh.train.rows.column(self.right_order.on))
            waits = (value > clocks[1].after) & (not turn.moment.end)
            fresh.filter(waits).store(groups, "held")
            fresh = fresh.filter(~waits)
        recent = Tuples.concat(old, fresh)
        stays = self._are_recent(recent.train.rows, clocks[0].after) & (not turn.moment.end)
        recent.filter(stays).store(groups, "right")
        return fresh, old

    def _are_recent(self, rows: pa.RecordBatch, bound: Any) -> Mask:
        """Which right tuples a left one that comes later may still want."""
        value = to_values(rows.column(self.right_order.on))
        return value >= bound if self._from_left_order else np.ones(len(value), bool)

    def _fold(self, waiting: Gathered, fresh: Tuples, old: Tuples) -> Gathered:
        """Takes right tuples into what the left ones have: all the fresh ones, and for new left ones the old too."""
        new = np.flatnonzero(waiting.new)
        one, two = self._match(waiting, np.arange(len(waiting)), fresh), self._match(waiting, new, old)
        tuples = Tuples.concat(fresh, old).train
        left = np.concatenate([one[0], two[0]])
        right = np.concatenate([one[1], two[1] + len(fresh)])
        if len(left) == 0:
            return waiting
        fits = self.predicate.matches_pairs(
            waiting.train.rows.take(pa.array(left)), tuples.rows.take(pa.array(right))
        )
        left, right = left[fits], right[fits]
        value = to_values(tuples.rows.column(self.right_order.on))
        order = lexical_order(left, value[right], *tuples.keys[:, right])
        left, right = left[order], right[order]
        arguments = self.reducer.arguments(tuples.rows.take(pa.array(right)))
        return waiting.take_in(left, tuples.arrived[right], arguments, self.reducer)

    def _match(self, waiting: Gathered, chosen: Ints, tuples: Tuples) -> tuple[Ints, Ints]:
        """Pairs of the chosen left tuples and right ones of their groups between their bounds."""
        if len(chosen) == 0 or len(tuples) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        value = to_values(tuples.train.rows.column(self.right_order.on))
        order = value_order(tuples.group, value)
        group, value = tuples.group[order], value[order]
        start = np.searchsorted(group, waiting.group[chosen], side="left")
        stop = np.searchsorted(group, waiting.group[chosen], side="right")
        low = first_not_before(value, start, stop, waiting.low[chosen])
        high = first_not_before(value, start, stop, waiting.high[chosen], after=True)
        place, owner = expand(low, high)
        return chosen[owner], order[place]

    def _emit(self, closed: Gathered, clock: Progress) -> Train:
        if not self.outer:
            closed = closed.filter(closed.count > 0)
        train = closed.train
        keys = make_clock_keys(clock.find_positions(closed.high, above=True), train.depth, True)
        # One that comes when the clock has passed it already comes out at once.
        late = closed.new & (clock.at(train.keys[0]) > closed.high)
        keys[:, late] = train.keys[:, late]
        values = self.reducer.finish_some(closed.columns, closed.count > 0)
        rows = pa.RecordBatch.from_arrays([*train.rows.columns, *values], schema=self.outputs["1"].arrow())
        lines = order_codes(closed.high)[None], _first_field_codes(train.rows)[None]
        return Train(rows, closed.arrived, np.concatenate([keys, *lines]))


def _first_field_codes(rows: pa.RecordBatch) -> Ints:
    """The first field, where it is a number or a time, so that rows of one bound stay in its order; nulls come last."""
    column = rows.column(0)
    if not orderable(column.type) or pa.types.is_floating(column.type):
        return np.zeros(rows.num_rows, np.int64)
    codes = np.full(rows.num_rows, np.iinfo(np.int64).max)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    codes[valid] = to_values(column.drop_null())
    return codes


def _bound(text: str, left: Schema, kind: pa.DataType, where: str) -> Expression:
    """An expression over the left tuple, in the type of the right's order."""
    expression = Expression.parse(re.sub(r"\bleft\.", "", text), left, f"{where}: between")
    if not (orderable(expression.type) and comparable(expression.type, kind)):
        raise AuroraError(
            f"{where}: between '{text}' is {type_name(expression.type)}, the right's order is {type_name(kind)}; "
            "cast it, or take another field"
        )
    return expression
