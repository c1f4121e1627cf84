"""Join as of by time: each tuple of the left with the latest of the right that has its key and is not later than it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.box.needs import Needs, merge, needs_of_order
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.box.unmatched import PAIRS_ONLY, SIDES, Unmatched
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.admission import are_in_order, with_order_value
from aurora.algebra.ordering.order import Order, check_reach
from aurora.algebra.ordering.pairs import are_complete, equal_fields, is_equality, pair_predicate
from aurora.algebra.ordering.progress import Progress, join_progress
from aurora.algebra.ordering.sides import Tuples
from aurora.algebra.ordering.values import order_codes, to_values
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import first_not_before, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train, Values
from aurora.algebra.tuples.types import is_nested
from aurora.algebra.windows.due import Due
from aurora.errors import AuroraError

__all__ = ["AsOfTime"]

# Waiting tuples are looked at so much too early at most: a quarter of a second of timestamps, or not at all.
STEP = 250_000
# A hidden field of a kept right tuple, before its own: the value of the next one of its key, null for the latest.
NEXT = "#next"


@dataclass(frozen=True)
class AsOfTime:
    """Each left tuple with the latest right tuple of its key whose order value is not above its own.

    The key is what P wants equal; whatever else P says is asked of that one pair. Of right tuples with one key and
    one value, the one that came last counts. A row comes out when the clock of the right has passed the left tuple.
    Right tuples are kept while a left tuple may still meet them: of each key the latest one for good.

    >>> orders, rates = Schema.parse("Id int, Cur string, At int"), Schema.parse("Cur string, Since int, Rate int")
    >>> clocks = Order("At", clock="stream"), Order("Since", clock="stream")
    >>> priced = AsOfTime.of("left.Cur = right.Cur", *clocks, orders, rates, Unmatched((0,)))
    >>> x = pa.record_batch({"Id": [1, 2, 3], "Cur": ["EUR"] * 3, "At": [5, 7, 20]}, orders.arrow())
    >>> y = {"Cur": ["EUR", "EUR", "CHF"], "Since": [6, 8, 9], "Rate": [110, 120, 95]}
    >>> left = Train(x, np.zeros(3, int), np.array([[1, 5, 9]]))
    >>> right = Train(pa.record_batch(y, rates.arrow()), np.zeros(3, int), np.array([[3, 7, 11]]))
    >>> from aurora.algebra.ordering.progress import find_rises
    >>> turn = Turn(clocks=(find_rises(left, "At"), find_rises(right, "Since")))
    >>> [tuple(row.values()) for row in priced.call((left, right), turn)["1"].rows.to_pylist()]
    [(1, 'EUR', 5, None, None, None), (2, 'EUR', 7, 'EUR', 6, 110)]

    Order 3 waits: a rate as of 20 may still come.
    """

    left: Schema
    right: Schema
    predicate: Expression
    left_order: Order
    right_order: Order
    unmatched: Unmatched = PAIRS_ONLY
    # Whether every bucket has all right tuples, so that the left ones stay where they are.
    broadcast: bool = False

    @classmethod
    def of(
        cls,
        predicate: str,
        left_order: Order,
        right_order: Order,
        left: Schema,
        right: Schema,
        unmatched: Unmatched = PAIRS_ONLY,
        where: str = "join",
        broadcast: bool = False,
    ) -> "AsOfTime":
        for side, order, schema in zip(SIDES, (left_order, right_order), (left, right), strict=True):
            order.check(schema, f"{where}, {side}")
            if not order.clocked:
                raise AuroraError(
                    f"{where}: asof by time needs a clock; write clock: stream or clock: NAME in {side}_order"
                )
        check_reach(0, (left_order, left), (right_order, right), where)
        parsed = pair_predicate(predicate, left, right, where)
        return cls(left, right, parsed, left_order, right_order, unmatched, broadcast)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.unmatched.schema(self.left, self.right)}

    @cached_property
    def equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @property
    def partition(self) -> Partition | None:
        if self.broadcast:
            return tuple(name for name in self.left.names if not is_nested(self.left[name])), None
        return self._key_fields(0), self._key_fields(1)

    @property
    def traits(self) -> Traits:
        clocks = self.left_order.clocks(0) + self.right_order.clocks(1)
        return Traits(clocks=clocks, lasting=frozenset({1}))

    def keeps(self, port: str) -> Keeps:
        return self.unmatched.keeps(self.left, self.right)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        left, right = self.unmatched.needs(self.left, self.right, self.predicate, given)
        return merge(left, needs_of_order(self.left_order)), merge(right, needs_of_order(self.right_order))

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        # A tuple that still waits has not been passed by the right clock.
        return {self.left_order.on: join_progress(*self._lagging(clocks))}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + 2

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        clocks = self._lagging(turn.clocks)
        left, right = (self._admit(side, inputs[side], clocks[side], turn) for side in (0, 1))
        keys = self._key_fields(0)
        due = self._due.take(clocks[1].after, turn)
        bound_before, bound = (min(one, two) for one, two in zip(*map(_ends, clocks), strict=True))
        groups = turn.state.groups(
            "pairs",
            keys,
            (left.rows, keys),
            (right.rows, self._key_fields(1)),
            *((noted, keys) for noted in due),
            everything=turn.moment.end,
            sweep={"right": lambda kept: _are_needed(kept, bound_before)},
        )
        old = Tuples.load(groups, "left", left)
        waiting = Tuples.concat(old, Tuples(left, groups.numbers[0]))
        at = to_values(waiting.train.rows.column(self.left_order.on))
        known = self._right_tuples(right, groups)
        self._keep(known, groups, bound, turn)
        free = (at < clocks[1].after) | turn.moment.end
        rest = waiting.filter(~free)
        rest.store(groups, "left")
        if not turn.moment.end:
            self._due.note(groups, rest.group, at[~free], clocks[1].after, turn)
        new = np.arange(len(at)) >= len(old)
        leaving = waiting.filter(free)
        placed = self._place(leaving.train, at[free], new[free], clocks[1])
        return {"1": self._result(placed, known, self._find(leaving, at[free], known)).arrange()}

    def _lagging(self, clocks: tuple[Progress, ...]) -> list[Progress]:
        orders = self.left_order, self.right_order
        return [clock.lag(order.span) for clock, order in zip(clocks, orders, strict=True)]

    def _key_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    @property
    def _due(self) -> Due:
        step = STEP if pa.types.is_timestamp(self.right_order.type(self.right)) else 1
        return Due(self._key_fields(0), step)

    def _admit(self, side: int, train: Train, clock: Progress, turn: Turn) -> Train:
        """Return the tuples of a side that are in order; one with null in the key stays if it comes out alone."""
        if side == 1 and self.broadcast:
            turn = replace(turn, counts=turn.primary)
        on = (self.left_order, self.right_order)[side].on
        train = with_order_value(train, on, turn)
        in_order = are_in_order(train, to_values(train.rows.column(on)), clock, turn)
        if side not in self.unmatched.sides:
            in_order &= are_complete(train.rows, self._key_fields(side))
        return train.filter(in_order)

    def _right_tuples(self, new: Train, groups: Groups) -> Tuples:
        """Return the right tuples by key and value, and of one value as they came."""
        stored = groups.rows("right")
        # When they came decides nothing more once they stand in their order.
        tuples = Tuples(Train(new.rows, new.arrived, new.keys[:1]), groups.numbers[1])
        if stored is not None:
            group, rows = stored
            kept = Tuples(Train.unpack(rows.select(rows.schema.names[1:])), group)
            tuples = Tuples.concat(kept, tuples)
        order = value_order(tuples.group, to_values(tuples.train.rows.column(self.right_order.on)))
        return Tuples(tuples.train.take(order), tuples.group[order])

    def _keep(self, known: Tuples, groups: Groups, bound: Any, turn: Turn) -> None:
        """Store the right tuples that a left one of this value or a larger one can meet."""
        value = to_values(known.train.rows.column(self.right_order.on))
        latest = np.append(known.group[1:] != known.group[:-1], True)[: len(value)]
        following = np.append(value[1:], value[:1])
        stays = latest | ((following > bound) & (following > value))
        if turn.moment.end:
            stays[:] = False
        kept, packed = known.filter(stays), known.filter(stays).train.pack()
        hidden = pa.array(following[stays], mask=latest[stays])
        rows = pa.RecordBatch.from_arrays([hidden, *packed.columns], names=[NEXT, *packed.schema.names])
        groups.put("right", kept.group, rows)

    def _find(self, leaving: Tuples, at: Values, known: Tuples) -> Ints:
        """Return for each left tuple the position of the right one that it meets, -1 for none."""
        value = to_values(known.train.rows.column(self.right_order.on))
        start = np.searchsorted(known.group, leaving.group, side="left")
        stop = np.searchsorted(known.group, leaving.group, side="right")
        past = first_not_before(value, start, stop, at, after=True)
        row = np.where(past > start, past - 1, -1)
        found = np.flatnonzero(row >= 0)
        if not is_equality(self.predicate) and len(found):
            mine = leaving.train.rows.take(pa.array(found))
            theirs = known.train.rows.take(pa.array(row[found]))
            row[found[~self.predicate.matches_pairs(mine, theirs)]] = -1
        return row

    def _place(self, train: Train, at: Values, new: Mask, clock: Progress) -> Train:
        """Return the tuples with the keys of their rows: what brought them forth, their values, their own keys."""
        cause, code = clock.find_positions(at, above=True), order_codes(at)
        # One that the clock had passed when it came comes out at once, before all that the clock brings forth there.
        late = new & (clock.at(train.keys[0]) > at)
        cause[late], code[late] = train.keys[0, late], np.iinfo(np.int64).min
        return Train(train.rows, train.arrived, np.concatenate([cause[None], code[None], train.keys]))

    def _result(self, left: Train, known: Tuples, row: Ints) -> Train:
        if self.unmatched.alone:
            return left.filter(row < 0)
        if not self.unmatched.sides:
            left, row = left.filter(row >= 0), row[row >= 0]
        theirs = known.train.rows.take(pa.array(row, mask=row < 0))
        rows = pa.RecordBatch.from_arrays(
            [*left.rows.columns, *theirs.columns], schema=self.outputs["1"].arrow()
        )
        # It has waited since the left tuple came; the right one may be as old as it likes.
        return left.with_rows(rows)


def _ends(clock: Progress) -> tuple[Any, Any]:
    return clock.before, clock.after


def _are_needed(kept: pa.RecordBatch, bound: Any) -> Mask:
    """Whether each kept right tuple can be met by a left one of the bound or above it."""
    needed = pc.fill_null(pc.greater(kept.column(NEXT), pa.scalar(bound)), True)
    return np.asarray(needed.to_numpy(zero_copy_only=False))
