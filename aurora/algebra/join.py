"""Join(P, Size s, Left Assuming O1, Right Assuming O2): pairs of tuples near each other that satisfy P."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.needs import Needs, merge, needs_of_order, needs_of_sides
from aurora.algebra.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.admission import Admitted, Bounds, admit, read_bounds, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.pairs import (
    are_complete,
    equal_fields,
    joined_schema,
    match_near,
    pair_predicate,
)
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.values import beyond, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train

__all__ = ["Join"]

SIDES = ("left", "right")


@dataclass(frozen=True)
class Join:
    """For tuples in order, t of the left and u of the right: t ++ u where |t.A - u.B| <= size and P.

    A pair comes out when the later of the two arrives. `equal` are the fields that P wants equal; a tuple is
    forgotten when no tuple of the other side that may still come can be near it.

    >>> reports = Schema.parse("Sid int, Time int, Pos int")
    >>> order = Order("Time")
    >>> pairs = Join.of("left.Pos = right.Pos", 10, order, order, reports, reports)
    >>> x = pa.record_batch({"Sid": [1, 1], "Time": [120, 125], "Pos": [3, 4]}, reports.arrow())
    >>> y = pa.record_batch({"Sid": [10, 11], "Time": [115, 140], "Pos": [3, 4]}, reports.arrow())
    >>> left, right = (Train(rows, np.zeros(2, int), np.arange(2)[None]) for rows in (x, y))
    >>> pairs.call((left, right), Turn())["1"].rows.to_pylist()
    [{'Sid': 1, 'Time': 120, 'Pos': 3, 'Sid_right': 10, 'Time_right': 115, 'Pos_right': 3}]
    """

    left: Schema
    right: Schema
    predicate: Expression
    size: Any
    left_order: Order
    right_order: Order

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
    ) -> "Join":
        left_order.check(left, f"{where}, left")
        right_order.check(right, f"{where}, right")
        check_reach(size, (left_order, left), (right_order, right), where)
        return cls(left, right, pair_predicate(predicate, left, right, where), size, left_order, right_order)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": joined_schema(self.left, self.right)}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        pairs = [
            (left, right)
            for left, right in self.equal
            if left in self.left_order.group_by and right in self.right_order.group_by
        ]
        return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)

    @property
    def traits(self) -> Traits:
        return Traits()

    def keeps(self, port: str) -> Keeps:
        names = self.outputs[port].names
        sides = (self.left.names, names[: len(self.left)]), (self.right.names, names[len(self.left) :])
        return tuple(dict(zip(own, given, strict=True)) for own, given in sides)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        left, right = needs_of_sides(self.left, self.right, self.predicate, given)
        return merge(left, needs_of_order(self.left_order)), merge(right, needs_of_order(self.right_order))

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * max(inputs) + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        trains = [
            with_order_value(train.at_input(number, depth), order.on, turn)
            for number, (train, order) in enumerate(zip(inputs, self._orders, strict=True))
        ]
        admitted = [self._admit(side, trains, turn) for side in (0, 1)]
        # What P wants equal and is null matches nothing: such tuples need not be kept.
        new = [
            each.train.filter(are_complete(each.train.rows, self._pairing_fields(side)))
            for side, each in enumerate(admitted)
        ]
        pairing = self._pairing_groups(new, turn)
        sides = [_Side.of(side, new[side], pairing) for side in (0, 1)]
        left, right = sides
        found = [self._pairs(left.new, right.all), self._pairs(left.old, right.new)]
        for side in (0, 1):
            alive = self._are_alive(side, sides[side].all, pairing, admitted[1 - side])
            sides[side].all.filter(alive & (not turn.moment.end)).store(pairing, SIDES[side])
        return {"1": Train.concat(found).arrange()}

    @property
    def _orders(self) -> tuple[Order, Order]:
        return self.left_order, self.right_order

    def _admit(self, side: int, trains: list[Train], turn: Turn) -> Admitted:
        """Lets the tuples of a side in; the groups that those of the other side wait for are looked up too."""
        order, fields = self._orders[side], self._fields(1 - side)
        streams: list[Any] = [trains[side].rows]
        if fields is not None:
            streams.append((trains[1 - side].rows, fields))
        groups = turn.state.groups(f"{SIDES[side]} groups", order.group_by, *streams)
        return admit(order, trains[side], groups, groups.numbers[0], turn)

    def _pairing_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    def _pairing_groups(self, new: list[Train], turn: Turn) -> Groups:
        """The tuples of both sides by the fields that P wants equal."""
        names = [self._pairing_fields(side) for side in (0, 1)]
        streams = [(train.rows, own) for train, own in zip(new, names, strict=True)]

        sweep = {SIDES[side]: partial(self._are_needed, side, turn) for side in (0, 1)}
        return turn.state.groups("tuples", names[0], *streams, sweep=sweep)

    def _pairs(self, lefts: "_Tuples", rights: "_Tuples") -> Train:
        """All matches, each at the place of the one that came later, then of the other."""
        left, right = lefts.train, rights.train
        if len(left) == 0 or len(right) == 0:
            return Train.empty(self.outputs["1"].arrow(), 2 * left.depth - 1)
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
            [*rows_left.columns, *rows_right.columns], schema=self.outputs["1"].arrow()
        )
        # Of one arrival, the left tuples come before the right ones.
        later = left.keys[0, i] > right.keys[0, j]
        cause = np.where(later, left.keys[:, i], right.keys[:, j])
        partner = np.where(later, right.keys[:, j], left.keys[:, i])
        arrived = np.minimum(left.arrived[i], right.arrived[j])
        # The line that names the input is the same for all partners.
        return Train(rows, arrived, np.concatenate([cause, np.delete(partner, 1, axis=0)]))

    def _fields(self, side: int) -> tuple[str, ...] | None:
        """The fields of this side that name the group of the other, where P fixes all of them."""
        other = self._orders[1 - side].group_by
        named = {pair[1 - side]: pair[side] for pair in self.equal}
        return tuple(named[field] for field in other) if all(field in named for field in other) else None

    def _are_alive(self, side: int, tuples: "_Tuples", pairing: Groups, other: Admitted) -> Mask:
        """Which tuples of a side a later one of the other side could still match."""
        fields = self._fields(side)
        if fields is None or len(tuples) == 0:
            return np.ones(len(tuples), bool)
        places = [self._pairing_fields(side).index(field) for field in fields]
        group = other.groups.find([pairing.keys[place] for place in places])
        if not fields:
            group = np.zeros(len(pairing), np.int64)
        return self._within_reach(side, tuples.train.rows, group[tuples.group], other.after)

    def _within_reach(self, side: int, rows: pa.RecordBatch, group: Ints, bounds: Bounds) -> Mask:
        bound, known = bounds
        if len(bound) == 0:
            return np.ones(rows.num_rows, bool)
        value = to_values(rows.column(self._orders[side].on))
        return ~((group >= 0) & known[group] & beyond(bound[group], value, self.size))

    def _are_needed(self, side: int, turn: Turn, rows: pa.RecordBatch) -> Mask:
        """Which rows of a side the other one had not passed when the turn began.

        What it passes in this turn may still meet tuples of this turn.
        """
        fields, order = self._fields(side), self._orders[1 - side]
        if fields is None:
            return np.ones(rows.num_rows, bool)
        stored = turn.state.as_stored()
        other = stored.groups(f"{SIDES[1 - side]} groups", order.group_by, (rows, fields))
        return self._within_reach(side, rows, other.numbers[0], read_bounds(order, other))


@dataclass(frozen=True)
class _Tuples:
    """Tuples of one side, and for each the number of its pairing group."""

    train: Train
    group: Ints

    def __len__(self) -> int:
        return len(self.group)

    def filter(self, mask: Mask) -> "_Tuples":
        return self if mask.all() else _Tuples(self.train.filter(mask), self.group[mask])

    def store(self, groups: Groups, part: str) -> None:
        groups.put(part, self.group, self.train.pack())


@dataclass(frozen=True)
class _Side:
    """The tuples of one side: those kept so far, those of this turn, and all of them."""

    old: _Tuples
    new: _Tuples
    all: _Tuples

    @staticmethod
    def of(side: int, train: Train, pairing: Groups) -> "_Side":
        new = _Tuples(train, pairing.numbers[side])
        stored = pairing.rows(SIDES[side])
        if stored is None:
            return _Side(_Tuples(train.filter(np.zeros(len(train), bool)), new.group[:0]), new, new)
        old = _Tuples(Train.unpack(stored[1]), stored[0])
        both = Train.concat([old.train, train])
        return _Side(old, new, _Tuples(both, np.concatenate([old.group, new.group])))
