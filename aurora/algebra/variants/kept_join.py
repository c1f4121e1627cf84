"""Join with `keep`: each side says how long its tuples wait for partners, by its own fields or for good."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_order, needs_of_sides, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.admission import are_in_order, with_order_value
from aurora.algebra.ordering.order import Order
from aurora.algebra.ordering.pairs import are_complete, equal_fields, joined_schema, pair_predicate
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.ordering.sides import Tuples
from aurora.algebra.ordering.values import comparable, least, orderable, to_values
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import expand
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Train, Values
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["KeptJoin"]

SIDES = ("left", "right")


@dataclass(frozen=True)
class KeptJoin:
    """t ++ u for tuples in order that satisfy P, when the later of the two arrives and the other is still kept.

    A tuple is kept while the other side's clock has not passed the value of `keep`; None keeps it for good.

    >>> offers, people = Schema.parse("seller int, T int, ends int"), Schema.parse("id int, T int")
    >>> order = Order("T", clock="stream")
    >>> meet = KeptJoin.of("left.seller = right.id", ("ends", None), order, order, offers, people)
    >>> left = pa.record_batch({"seller": [1, 2], "T": [0, 1], "ends": [5, 5]}, offers.arrow())
    >>> right = pa.record_batch({"id": [1, 3, 2], "T": [2, 9, 9]}, people.arrow())
    >>> left = Train(left, np.zeros(2, int), np.array([[1, 3]]))
    >>> right = Train(right, np.zeros(3, int), np.array([[5, 7, 9]]))
    >>> from aurora.algebra.ordering.progress import find_rises
    >>> turn = Turn(clocks=(find_rises(left, "T"), find_rises(right, "T")))
    >>> meet.call((left, right), turn)["1"].rows.to_pylist()
    [{'seller': 1, 'T': 0, 'ends': 5, 'id': 1, 'T_right': 2}]
    """

    left: Schema
    right: Schema
    predicate: Expression
    keep: tuple[Expression | None, Expression | None]
    left_order: Order
    right_order: Order

    @classmethod
    def of(
        cls,
        predicate: str,
        keep: tuple[str | None, str | None],
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        where: str = "join",
    ) -> "KeptJoin":
        orders, schemas = (left_order, right_order), (left, right)
        kept: list[Expression | None] = []
        for side, text, order, schema in zip(SIDES, keep, orders, schemas, strict=True):
            order.check(schema, f"{where}, {side}")
            if not order.clocked:
                raise AuroraError(
                    f"{where}: keep needs a clock; write clock: stream or clock: NAME in {side}_order"
                )
            other = orders[1 - SIDES.index(side)].type(schemas[1 - SIDES.index(side)])
            kept.append(None if text is None else _limit(text, schema, other, f"{where}: keep: {side}"))
        both = kept[0], kept[1]
        parsed = pair_predicate(predicate, left, right, where)
        return cls(left, right, parsed, both, left_order, right_order)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": joined_schema(self.left, self.right)}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        return self._pairing_fields(0), self._pairing_fields(1)

    @property
    def traits(self) -> Traits:
        return Traits(
            clocks=self.left_order.clocks(0) + self.right_order.clocks(1),
            lasting=frozenset(number for number, keep in enumerate(self.keep) if keep is None),
        )

    def keeps(self, port: str) -> Keeps:
        names = self.outputs[port].names
        sides = (self.left.names, names[: len(self.left)]), (self.right.names, names[len(self.left) :])
        return tuple(dict(zip(own, given, strict=True)) for own, given in sides)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        sides = needs_of_sides(self.left, self.right, self.predicate, given)
        return tuple(
            merge(side, needs_of_order(order), needs_of_text([] if keep is None else [keep]))
            for side, order, keep in zip(sides, self._orders, self.keep, strict=True)
        )

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        # What is kept may be as old as it likes.
        return {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * max(inputs) + 1

    @property
    def _orders(self) -> tuple[Order, Order]:
        return self.left_order, self.right_order

    def _pairing_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        clocks = [clock.lag(order.span) for clock, order in zip(turn.clocks, self._orders, strict=True)]
        new = [self._admit(side, inputs[side].at_input(side, depth), clocks[side], turn) for side in (0, 1)]
        names = [self._pairing_fields(side) for side in (0, 1)]
        streams = [(train.rows, own) for train, own in zip(new, names, strict=True)]
        sweep = {
            SIDES[side]: lambda rows, side=side: self._limits(side, rows) >= clocks[1 - side].before
            for side in (0, 1)
        }
        groups = turn.state.groups("tuples", names[0], *streams, sweep=sweep)
        old = [Tuples.load(groups, SIDES[side], new[side]) for side in (0, 1)]
        fresh = [Tuples(new[side], groups.numbers[side]) for side in (0, 1)]
        every = [Tuples.concat(old[side], fresh[side]) for side in (0, 1)]
        found = [
            self._pairs(fresh[0], every[1], clocks),
            self._pairs(old[0], fresh[1], clocks),
        ]
        for side in (0, 1):
            alive = self._limits(side, every[side].train.rows) >= clocks[1 - side].after
            every[side].filter(alive & (not turn.moment.end)).store(groups, SIDES[side])
        return {"1": Train.concat(found).arrange()}

    def _admit(self, side: int, train: Train, clock: Progress, turn: Turn) -> Train:
        """The tuples of a side that are in order; what P wants equal and is null matches nothing."""
        train = with_order_value(train, self._orders[side].on, turn)
        value = to_values(train.rows.column(self._orders[side].on))
        in_order = are_in_order(train, value, clock, turn)
        return train.filter(in_order & are_complete(train.rows, self._pairing_fields(side)))

    def _limits(self, side: int, rows: pa.RecordBatch) -> Values:
        """How far the other side's clock may come while these are kept; a null limit keeps nothing."""
        keep, other = self.keep[side], self._orders[1 - side].type((self.right, self.left)[side])
        kind: np.dtype[Any] = np.dtype(np.float64 if pa.types.is_floating(other) else np.int64)
        if keep is None:
            most = np.inf if kind.kind == "f" else np.iinfo(np.int64).max
            return np.full(rows.num_rows, most, kind)
        column = keep.evaluate(rows)
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        if valid.all():
            return to_values(column)
        limits = np.full(rows.num_rows, least(kind), kind)
        limits[valid] = to_values(column.filter(pa.array(valid)))
        return limits

    def _pairs(self, lefts: Tuples, rights: Tuples, clocks: list[Progress]) -> Train:
        """All matches, each at the place of the one that came later, then of the other."""
        left, right = lefts.train, rights.train
        i, j = _match(lefts.group, rights.group)
        if len(i):
            # Of one arrival, the left tuples come before the right ones.
            later = left.keys[0, i] > right.keys[0, j]
            limit = np.where(later, self._limits(1, right.rows)[j], self._limits(0, left.rows)[i])
            reached = np.where(later, clocks[0].at(left.keys[0, i]), clocks[1].at(right.keys[0, j]))
            kept = np.flatnonzero(limit >= reached)
            i, j = i[kept], j[kept]
        rows_left, rows_right = left.rows.take(pa.array(i)), right.rows.take(pa.array(j))
        if len(i):
            fits = self.predicate.matches_pairs(rows_left, rows_right)
            good = np.flatnonzero(fits)
            i, j = i[good], j[good]
            rows_left, rows_right = rows_left.take(pa.array(good)), rows_right.take(pa.array(good))
        rows = pa.RecordBatch.from_arrays(
            [*rows_left.columns, *rows_right.columns], schema=self.outputs["1"].arrow()
        )
        later = left.keys[0, i] > right.keys[0, j]
        cause = np.where(later, left.keys.take(i, axis=1), right.keys.take(j, axis=1))
        partner = np.where(later, right.keys.take(j, axis=1), left.keys.take(i, axis=1))
        arrived = np.minimum(left.arrived[i], right.arrived[j])
        # The line that names the input is the same for all partners.
        return Train(rows, arrived, np.concatenate([cause, np.delete(partner, 1, axis=0)]))


def _match(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Positions of the pairs of one group."""
    order = stable_order(right)
    by_group = right[order]
    low = np.searchsorted(by_group, left, side="left")
    high = np.searchsorted(by_group, left, side="right")
    place, owner = expand(low, high)
    return owner, order[place]


def _limit(text: str, schema: Schema, kind: pa.DataType, where: str) -> Expression:
    expression = Expression.parse(text, schema, where)
    if not (orderable(expression.type) and comparable(expression.type, kind)):
        raise AuroraError(
            f"{where}: '{text}' is {type_name(expression.type)}, the other side's order is {type_name(kind)}; "
            "cast it, or take another field"
        )
    return expression
