"""Join as of: each tuple of the left with the latest tuple of the right that has its key, when it arrives."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.box.unmatched import PAIRS_ONLY, Unmatched
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.pairs import are_complete, equal_fields, is_equality, pair_predicate
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.state.groups import Groups
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import starts_of
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Train
from aurora.algebra.tuples.types import is_nested

__all__ = ["AsOf"]


@dataclass(frozen=True)
class AsOf:
    """The right stream keeps a table up to date, a row for each key; each left tuple reads its row at its arrival.

    The key is what P wants equal; whatever else P says is asked of that one pair. Of one arrival, the left tuples
    come first.

    >>> entries, tolls = Schema.parse("Car int, Road int"), Schema.parse("Road int, Toll int")
    >>> priced = AsOf.of("left.Road = right.Road", entries, tolls, Unmatched((0,)))
    >>> left = pa.record_batch({"Car": [1, 2, 3], "Road": [7, 7, 8]}, entries.arrow())
    >>> right = pa.record_batch({"Road": [7, 7], "Toll": [10, 20]}, tolls.arrow())
    >>> cars = Train(left, np.zeros(3, int), np.array([[1, 3, 4]]))
    >>> changes = Train(right, np.zeros(2, int), np.array([[0, 2]]))
    >>> priced.call((cars, changes), Turn())["1"].rows.to_pydict()
    {'Car': [1, 2, 3], 'Road': [7, 7, 8], 'Road_right': [7, 7, None], 'Toll': [10, 20, None]}
    """

    left: Schema
    right: Schema
    predicate: Expression
    unmatched: Unmatched = PAIRS_ONLY
    # Whether every bucket has the whole table, so that the left tuples stay where they are.
    broadcast: bool = False

    @classmethod
    def of(
        cls,
        predicate: str,
        left: Schema,
        right: Schema,
        unmatched: Unmatched = PAIRS_ONLY,
        where: str = "join",
        broadcast: bool = False,
    ) -> "AsOf":
        return cls(left, right, pair_predicate(predicate, left, right, where), unmatched, broadcast)

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
        return Traits(lasting=frozenset({1}))

    def keeps(self, port: str) -> Keeps:
        return self.unmatched.keeps(self.left, self.right)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return self.unmatched.needs(self.left, self.right, self.predicate, given)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return {name: known for name, known in inputs[0].items() if name in self.keeps(port)[0]}

    def depth(self, inputs: tuple[int, ...]) -> int:
        # A left tuple gives one row at most, at its own place.
        return inputs[0]

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        left, right = inputs
        right = right.filter(are_complete(right.rows, self._key_fields(1)))
        sides = (left.rows, self._key_fields(0)), (right.rows, self._key_fields(1))
        groups = turn.state.groups("latest", self._key_fields(0), *sides)
        table, row = self._read(left, right, groups)
        self._update(right, groups)
        found = np.flatnonzero(row >= 0)
        if not is_equality(self.predicate) and len(found):
            mine, theirs = left.rows.take(pa.array(found)), table.rows.take(pa.array(row[found]))
            row[found[~self.predicate.matches_pairs(mine, theirs)]] = -1
        return {"1": self._result(left, table, row)}

    def _key_fields(self, side: int) -> tuple[str, ...]:
        return tuple(pair[side] for pair in self.equal)

    def _read(self, left: Train, right: Train, groups: Groups) -> tuple[Train, Ints]:
        """Right tuples, and for each left tuple the number of the one that it meets, -1 for none."""
        group_left, group_right = groups.numbers
        kept = np.full(len(groups), -1, np.int64)
        table, old = Train(right.rows, right.arrived, right.keys[:1]), 0
        stored = groups.rows("latest")
        if stored is not None:
            group, rows = stored
            old = len(group)
            kept[group] = np.arange(old)
            table = Train.concat([Train.unpack(rows), table])
        if len(right) == 0:
            return table, kept[group_left]
        # Both sides in one line, as they came: a right tuple stands behind the left ones of its own arrival.
        own = np.arange(len(left)) + np.searchsorted(right.keys[0], left.keys[0], side="left")
        others = np.arange(len(right)) + np.searchsorted(left.keys[0], right.keys[0], side="right")
        line = np.empty(len(left) + len(right), np.int64)
        line[own], line[others] = group_left, group_right
        changes = np.full(len(line), -1, np.int64)
        changes[others] = old + np.arange(len(right))
        order = stable_order(line)
        by_group = line[order]
        changed = changes[order]
        # The place of the last change so far; a group begins with what is kept of it.
        place = np.where(changed >= 0, np.arange(len(line)), -1)
        last = np.maximum.accumulate(np.maximum(place, starts_of(by_group)))
        found = np.where(changed[last] >= 0, changed[last], kept[by_group])
        row = np.empty(len(line), np.int64)
        row[order] = found
        return table, row[own]

    def _update(self, right: Train, groups: Groups) -> None:
        """Keeps the latest tuple of each key; when it came does not matter any more."""
        if len(right) == 0:
            return
        latest = np.full(len(groups), -1, np.int64)
        latest[groups.numbers[1]] = np.arange(len(right))
        changed = np.flatnonzero(latest >= 0)
        new = right.take(latest[changed])
        kept = Train(new.rows, new.arrived, new.keys[:1])
        groups.put("latest", changed, kept.pack(), latest >= 0)

    def _result(self, left: Train, table: Train, row: Ints) -> Train:
        if self.unmatched.alone:
            return left.filter(row < 0)
        if not self.unmatched.sides:
            left, row = left.filter(row >= 0), row[row >= 0]
        theirs = table.rows.take(pa.array(row, mask=row < 0))
        rows = pa.RecordBatch.from_arrays(
            [*left.rows.columns, *theirs.columns], schema=self.outputs["1"].arrow()
        )
        # It has waited since the left tuple came: what is in the table was there before.
        return left.with_rows(rows)
