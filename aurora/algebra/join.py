"""Join(P, Size s, Left Assuming O1, Right Assuming O2): pairs of tuples near each other that satisfy P."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_order
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.box.unmatched import PAIRS_ONLY, SIDES, Unmatched
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.admission import Admitted, admit, read_bounds, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.pairs import (
    are_complete,
    equal_fields,
    joined_schema,
    match_near,
    pair_predicate,
)
from aurora.algebra.ordering.passing import Waiting, are_passed
from aurora.algebra.ordering.progress import Progress, join_progress
from aurora.algebra.ordering.sides import Side, Tuples
from aurora.algebra.ordering.values import to_values
from aurora.algebra.ordering.waiting_list import WaitingList
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.runs import ByLookup
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train

__all__ = ["Join"]


@dataclass(frozen=True)
class Join:
    """For tuples in order, t of the left and u of the right: t ++ u where |t.A - u.B| <= size and P.

    A pair comes out when the later of the two arrives. `equal` are the fields that P wants equal; a tuple is
    forgotten when no tuple of the other side that may still come can be near it. If it has met none until then, it is
    `unmatched`, and comes out by the arrival that ruled a partner out, before the pairs of that arrival.

    >>> reports = Schema.parse("Sid int, Time int, Pos int")
    >>> order = Order("Time")
    >>> pairs = Join.of("left.Pos = right.Pos", 10, order, order, reports, reports)
    >>> x = pa.record_batch({"Sid": [1, 1], "Time": [120, 125], "Pos": [3, 4]}, reports.arrow())
    >>> y = pa.record_batch({"Sid": [10, 11], "Time": [115, 140], "Pos": [3, 4]}, reports.arrow())
    >>> left, right = (Train(rows, np.zeros(2, int), np.arange(2)[None]) for rows in (x, y))
    >>> pairs.call((left, right), Turn())["1"].rows.to_pylist()
    [{'Sid': 1, 'Time': 120, 'Pos': 3, 'Sid_right': 10, 'Time_right': 115, 'Pos_right': 3}]

    A left tuple without a partner comes out too with `outer`, and alone with `anti`:

    >>> def lone(unmatched):
    ...     box = Join.of("left.Pos = right.Pos", 10, order, order, reports, reports, unmatched=unmatched)
    ...     return [tuple(row.values()) for row in box.call((left, right), Turn())["1"].rows.to_pylist()]
    >>> lone(Unmatched.of("left", None, "join"))
    [(1, 120, 3, 10, 115, 3), (1, 125, 4, None, None, None)]
    >>> lone(Unmatched.of(None, "left", "join"))
    [(1, 125, 4)]
    """

    left: Schema
    right: Schema
    predicate: Expression
    size: Any
    left_order: Order
    right_order: Order
    unmatched: Unmatched = PAIRS_ONLY

    @classmethod
    def of(
        cls,
        predicate: str,
        size: Any,
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        where: str = "join",
        unmatched: Unmatched = PAIRS_ONLY,
    ) -> "Join":
        left_order.check(left, f"{where}, left")
        right_order.check(right, f"{where}, right")
        check_reach(size, (left_order, left), (right_order, right), where)
        parsed = pair_predicate(predicate, left, right, where)
        return cls(left, right, parsed, size, left_order, right_order, unmatched)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.unmatched.schema(self.left, self.right)}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        # Groups must not be torn apart; a side that goes by a clock has none.
        pairs = [
            (left, right)
            for left, right in self.equal
            if (self.left_order.clocked or left in self.left_order.group_by)
            and (self.right_order.clocked or right in self.right_order.group_by)
        ]
        return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)

    @property
    def traits(self) -> Traits:
        return Traits(clocks=self.left_order.clocks(0) + self.right_order.clocks(1))

    def keeps(self, port: str) -> Keeps:
        return self.unmatched.keeps(self.left, self.right)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        left, right = self.unmatched.needs(self.left, self.right, self.predicate, given)
        return merge(left, needs_of_order(self.left_order)), merge(right, needs_of_order(self.right_order))

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        if not (self.left_order.clocked and self.right_order.clocked):
            return {}
        bounds = [clock.lag(order.span) for clock, order in zip(clocks, self._orders, strict=True)]
        names = self._order_names()
        # A tuple that is kept is not further behind the other side than the size.
        return {
            name: join_progress(bounds[side], bounds[1 - side].lag(self.size))
            for side, name in enumerate(names)
            if name is not None
        }

    def _order_names(self) -> tuple[str | None, str | None]:
        """What the order fields of both sides are called in the output, where they are there in every row."""
        left, right = (kept.get(order.on) for kept, order in zip(self.keeps("1"), self._orders, strict=True))
        return left, right

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * max(inputs) + (3 if self.unmatched.sides else 1)

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        trains = [
            with_order_value(train.at_input(number, depth), order.on, turn)
            for number, (train, order) in enumerate(zip(inputs, self._orders, strict=True))
        ]
        admitted = [self._admit(side, trains, turn) for side in (0, 1)]
        # What P wants equal and is null matches nothing: such tuples need not be kept.
        complete = [
            are_complete(each.train.rows, self._pairing_fields(side)) for side, each in enumerate(admitted)
        ]
        new = [each.train.filter(mask) for each, mask in zip(admitted, complete, strict=True)]
        waiting_lists = [self._waiting_list(side, admitted[1 - side], turn) for side in (0, 1)]
        pairing = self._pairing_groups(new, waiting_lists, turn)
        left, right = sides = [
            Side.of(new[side], pairing.numbers[side], pairing.rows(SIDES[side]), self._watches(side))
            for side in (0, 1)
        ]
        found = self._meet(left, right)
        for side, own in enumerate(sides):
            found += self._let_go(side, own, pairing, admitted[1 - side], waiting_lists[side], turn)
            if own.watched and not complete[side].all():
                alone = admitted[side].train.filter(~complete[side])
                found.append(self._alone(side, alone, alone.keys))
        return {"1": Train.concat(found).arrange()}

    def _meet(self, left: Side, right: Side) -> list[Train]:
        """The pairs of which at least one tuple is new."""
        found = []
        for lefts, rights, from_left, from_right in (
            (left.new, right.all, len(left.old), 0),
            (left.old, right.new, 0, len(right.old)),
        ):
            pairs, i, j = self._pairs(lefts, rights)
            left.met[from_left + i] = True
            right.met[from_right + j] = True
            found.append(pairs)
        return [] if self.unmatched.alone else found

    def _let_go(
        self,
        side: int,
        own: Side,
        pairing: Groups,
        other: Admitted,
        waiting_list: WaitingList | None,
        turn: Turn,
    ) -> list[Train]:
        """Keeps the tuples of a side that may still meet a partner; gives the others, where they met none."""
        waiting = self._waiting(side, own, pairing, other)
        gone = waiting.are_in_vain(other, self.size) | turn.moment.end
        own.store(pairing, SIDES[side], ~gone)
        if waiting_list is not None:
            begin = waiting.old + np.flatnonzero(~(gone | own.met)[waiting.old :])
            keys = pairing.columns(own.all.group[begin])
            waiting_list.store(waiting.group[begin], keys, waiting.value[begin])
        if not own.watched:
            return []
        alone = np.flatnonzero(gone & ~own.met)
        return [self._alone(side, own.all.train.take(alone), waiting.since(alone, other, self.size))]

    @property
    def _orders(self) -> tuple[Order, Order]:
        return self.left_order, self.right_order

    def _admit(self, side: int, trains: list[Train], turn: Turn) -> Admitted:
        """Lets the tuples of a side in; the groups that those of the other side wait for are looked up too."""
        order, fields = self._orders[side], self._fields(1 - side)
        streams: list[Any] = [trains[side].rows]
        if fields is not None:
            streams.append((trains[1 - side].rows, fields))
        groups = turn.state.groups(f"{SIDES[side]} groups", self._groups_of(side), *streams)
        return admit(order, trains[side], groups, groups.numbers[0], turn, self._clock(side, turn))

    def _clock(self, side: int, turn: Turn) -> Progress | None:
        order = self._orders[side]
        if not order.clocked:
            return None
        return turn.clocks[side if self.left_order.clocked else 0].lag(order.span)

    def _groups_of(self, side: int) -> tuple[str, ...]:
        """The fields by which a side has come more or less far; by a clock all has come as far."""
        order = self._orders[side]
        return () if order.clocked else order.group_by

    def _pairing_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    def _watches(self, side: int) -> bool:
        return side in self.unmatched.sides

    def _waiting_list(self, side: int, other: Admitted, turn: Turn) -> WaitingList | None:
        """The waiting list of a side whose tuples must be called when a group of the other passes them.

        At the end all are looked at. A group that P ties to one key meets its tuples whenever it moves.
        """
        others, group_by = self._pairing_fields(1 - side), self._groups_of(1 - side)
        tied = len(others) == len(group_by) and set(others) == set(group_by)
        if tied or turn.moment.end or not self._watches(side) or self._fields(side) is None:
            return None
        return WaitingList.read(other, self.size)

    def _pairing_groups(
        self, new: list[Train], waiting_lists: list[WaitingList | None], turn: Turn
    ) -> Groups:
        """The tuples of both sides by the fields that P wants equal."""
        names = [self._pairing_fields(side) for side in (0, 1)]
        streams = [(train.rows, own) for train, own in zip(new, names, strict=True)]
        for waiting_list in waiting_lists:
            if waiting_list is not None and waiting_list.called is not None:
                streams.append((waiting_list.called, waiting_list.called.schema.names))
        # A tuple that has met nobody comes out in the turn that passes it, so it is never there to be swept.
        sweep = {SIDES[side]: self._sweep(side, turn) for side in (0, 1) if self._fields(side) is not None}
        everything = turn.moment.end and bool(self.unmatched.sides)
        return turn.state.groups("tuples", names[0], *streams, everything=everything, sweep=sweep)

    def _pairs(self, lefts: Tuples, rights: Tuples) -> tuple[Train, Ints, Ints]:
        """All matches, each at the place of the one that came later, then of the other; and their positions."""
        left, right = lefts.train, rights.train
        if len(left) == 0 or len(right) == 0:
            depth = 2 * left.depth + (1 if self.unmatched.sides else -1)
            none = np.empty(0, np.int64)
            return Train.empty(joined_schema(self.left, self.right).arrow(), depth), none, none
        i, j = match_near(
            (lefts.group, to_values(left.rows.column(self.left_order.on))),
            (rights.group, to_values(right.rows.column(self.right_order.on))),
            self.size,
        )
        rows_left, rows_right = left.rows.take(pa.array(i)), right.rows.take(pa.array(j))
        if len(i):
            fits = self.predicate.matches_pairs(rows_left, rows_right)
            if not fits.all():
                good = np.flatnonzero(fits)
                i, j = i[good], j[good]
                rows_left, rows_right = rows_left.take(pa.array(good)), rows_right.take(pa.array(good))
        rows = pa.RecordBatch.from_arrays(
            [*rows_left.columns, *rows_right.columns], schema=joined_schema(self.left, self.right).arrow()
        )
        # Of one arrival, the left tuples come before the right ones.
        later = left.keys[0, i] > right.keys[0, j]
        cause = np.where(later, left.keys.take(i, axis=1), right.keys.take(j, axis=1))
        partner = np.where(later, right.keys.take(j, axis=1), left.keys.take(i, axis=1))
        arrived = np.minimum(left.arrived[i], right.arrived[j])
        if self.unmatched.sides:
            return Train(rows, arrived, _placed(cause, 1, partner)), i, j
        # The line that names the input is the same for all partners.
        return Train(rows, arrived, np.concatenate([cause, np.delete(partner, 1, axis=0)])), i, j

    def _alone(self, side: int, train: Train, since: Ints) -> Train:
        """Tuples without a partner, each at the place of the arrival that ruled one out, then at its own."""
        rows = self.unmatched.rows(side, train.rows, self.left, self.right)
        return Train(rows, train.arrived, _placed(since, 0, train.keys))

    def _fields(self, side: int) -> tuple[str, ...] | None:
        """The fields of this side that name the group of the other, where P fixes all of them."""
        other = self._groups_of(1 - side)
        named = {pair[1 - side]: pair[side] for pair in self.equal}
        return tuple(named[field] for field in other) if all(field in named for field in other) else None

    def _waiting(self, side: int, own: Side, pairing: Groups, other: Admitted) -> Waiting:
        """The tuples of a side, each with the group of the other side that may bring its partners."""
        fields = self._fields(side)
        group = np.full(len(pairing), -1, np.int64)
        if fields is not None and len(own.all):
            places = [self._pairing_fields(side).index(field) for field in fields]
            found = other.groups.find([pairing.keys[place] for place in places])
            group = found if fields else np.zeros(len(pairing), np.int64)
        value = to_values(own.all.train.rows.column(self._orders[side].on))
        return Waiting(own.all.train, value, group[own.all.group], len(own.old))

    def _sweep(self, side: int, turn: Turn) -> Callable[[pa.RecordBatch], Mask]:
        stays = partial(self._are_needed, side, turn)
        return stays if self._orders[1 - side].clocked else ByLookup(stays)

    def _are_needed(self, side: int, turn: Turn, rows: pa.RecordBatch) -> Mask:
        """Which rows of a side the other one had not passed when the turn began.

        What it passes in this turn may still meet tuples of this turn.
        """
        fields, order = self._fields(side), self._orders[1 - side]
        assert fields is not None
        value = to_values(rows.column(self._orders[side].on))
        clock = self._clock(1 - side, turn)
        if clock is not None:
            return ~are_passed(value, np.zeros(len(value), np.int64), clock.bounds_before, self.size)
        stored = turn.state.as_stored()
        other = stored.groups(f"{SIDES[1 - side]} groups", order.group_by, (rows, fields))
        return ~are_passed(value, other.numbers[0], read_bounds(order, other), self.size)


def _placed(cause: Ints, line: int, own: Ints) -> Ints:
    """Keys of rows: what brought them forth, a line that tells pairs from others, and where they stand themselves."""
    return np.concatenate([cause, np.full((1, cause.shape[1]), line, np.int64), own])
