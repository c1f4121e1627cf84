"""Join(P, Size s, Left Assuming O1, Right Assuming O2): pairs of tuples near each other that satisfy P."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.operator import Partition
from aurora.algebra.ordering.order import Admitted, Order, admit, to_values
from aurora.algebra.ordering.pairs import equal_fields, joined_schema, matching, pair_predicate
from aurora.algebra.ordering.values import beyond, check_reach
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train

__all__ = ["Join"]


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

    def depth(self, inputs: tuple[int, ...]) -> int:
        return 2 * max(inputs) + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        lefts = admit(self.left_order, inputs[0].at_input(0, depth), turn, "left ")
        rights = admit(self.right_order, inputs[1].at_input(1, depth), turn, "right ")
        new_left, new_right = lefts.train, rights.train
        old_left = _kept(turn, "left", self.left, depth + 1)
        old_right = _kept(turn, "right", self.right, depth + 1)
        left, right = Train.concat([old_left, new_left]), Train.concat([old_right, new_right])
        found = Train.concat([self._pairs(new_left, right), self._pairs(old_left, new_right)])
        self._store(turn, "left", left, len(old_left), self.left_order, rights, self._fields(0))
        self._store(turn, "right", right, len(old_right), self.right_order, lefts, self._fields(1))
        return {"1": found.arranged()}

    def _pairs(self, left: Train, right: Train) -> Train:
        """All matches, each at the place of the one that came later, then of the other."""
        i, j = matching(
            left.rows,
            right.rows,
            self.equal,
            (
                to_values(left.rows.column(self.left_order.on)),
                to_values(right.rows.column(self.right_order.on)),
            ),
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
        other = (self.right_order, self.left_order)[side].group_by
        named = {pair[1 - side]: pair[side] for pair in self.equal}
        return tuple(named[field] for field in other) if all(field in named for field in other) else None

    def _store(
        self,
        turn: Turn,
        name: str,
        train: Train,
        old: int,
        order: Order,
        other: Admitted,
        fields: tuple[str, ...] | None,
    ) -> None:
        """Keeps the tuples that a later tuple of the other side could still match."""
        if turn.moment.end:
            turn.state.put(name, None)
            return
        alive = np.ones(len(train), bool)
        if fields is not None and len(train):
            group = other.groups.find(train.rows, fields)
            bound, known = other.after
            if len(bound):
                passed = (group >= 0) & known[group]
                value = to_values(train.rows.column(order.on))
                alive = ~passed | ~beyond(bound[group], value, self.size)
        if len(train) > old or not alive.all():
            turn.state.put(name, train.filter(alive).packed())


def _kept(turn: Turn, name: str, schema: Schema, depth: int) -> Train:
    batch = turn.state.get(name)
    return Train.empty(schema.arrow(), depth) if batch is None else Train.unpacked(batch)
