"""Join with a table or a stored set: a window of infinite size, so nothing is ordered and nothing forgotten."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.box.pulled import Pulled, fetch_partners
from aurora.algebra.box.unmatched import PAIRS_ONLY, Unmatched
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.pairs import equal_fields, joined_schema, match_equal, pair_predicate
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Train

__all__ = ["Lookup"]


@dataclass(frozen=True)
class Lookup:
    """Each tuple of the stream with every row of the table that satisfies P, in the order of the table.

    The table's rows, or what fetches them by key, are given when the network is bound to its sources; until then
    there are none. A tuple of the stream that no row fits is `unmatched` at once.

    >>> from dataclasses import replace
    >>> reports, soldiers = Schema.parse("Sid int, Pos int"), Schema.parse("Sid int, Name string")
    >>> named = Lookup.of("left.Sid = right.Sid", reports, soldiers)
    >>> named = replace(named, rows=pa.record_batch({"Sid": [1, 2], "Name": ["Ann", "Bo"]}, soldiers.arrow()))
    >>> rows = pa.record_batch({"Sid": [2, 3], "Pos": [34, 12]}, reports.arrow())
    >>> named.call((Train(rows, np.zeros(2, int), np.arange(2)[None]),), Turn())["1"].rows.to_pylist()
    [{'Sid': 2, 'Pos': 34, 'Sid_right': 2, 'Name': 'Bo'}]
    """

    stream: Schema
    table: Schema
    table_is_left: bool
    predicate: Expression
    rows: pa.RecordBatch | Pulled | None = None
    unmatched: Unmatched = PAIRS_ONLY

    @classmethod
    def of(
        cls,
        predicate: str,
        stream: Schema,
        table: Schema,
        table_is_left: bool = False,
        where: str = "join",
        unmatched: Unmatched = PAIRS_ONLY,
    ) -> "Lookup":
        left, right = (table, stream) if table_is_left else (stream, table)
        parsed = pair_predicate(predicate, left, right, where)
        return cls(stream, table, table_is_left, parsed, unmatched=unmatched)

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.unmatched.schema(*self._sides)}

    @property
    def _sides(self) -> tuple[Schema, Schema]:
        return (self.table, self.stream) if self.table_is_left else (self.stream, self.table)

    @property
    def partition(self) -> Partition | None:
        return None

    @property
    def traits(self) -> Traits:
        return Traits(
            with_table=lambda rows: replace(self, rows=rows), asks=frozenset(self._asked), by_itself=True
        )

    @cached_property
    def _equal(self) -> tuple[tuple[str, str], ...]:
        return equal_fields(self.predicate)

    @cached_property
    def _asked(self) -> dict[str, str]:
        """For each field of the table that P wants equal to one of the stream: that one."""
        table = 0 if self.table_is_left else 1
        return {pair[table]: pair[1 - table] for pair in self._equal}

    def keeps(self, port: str) -> Keeps:
        return (self.unmatched.keeps(*self._sides)[int(self.table_is_left)],)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (self.unmatched.needs(*self._sides, self.predicate, given)[int(self.table_is_left)],)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        table, places = self._partners(train.rows)
        if self.table_is_left:
            j, i = match_equal(table, train.rows, self._equal)
        else:
            i, j = match_equal(train.rows, table, self._equal)
        own, other = train.rows.take(pa.array(i)), table.take(pa.array(j))
        left, right = (other, own) if self.table_is_left else (own, other)
        if len(i):
            good = np.flatnonzero(self.predicate.matches_pairs(left, right))
            i, j = i[good], j[good]
            left, right = left.take(pa.array(good)), right.take(pa.array(good))
        found = []
        if not self.unmatched.alone:
            schema = joined_schema(*self._sides).arrow()
            rows = pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=schema)
            keys = np.concatenate([train.keys.take(i, axis=1), places[j][None]])
            found.append(Train(rows, train.arrived[i], keys))
        if self.unmatched.sides:
            lone = np.ones(len(train), bool)
            lone[i] = False
            alone = train.filter(lone)
            rows = self.unmatched.rows(int(self.table_is_left), alone.rows, *self._sides)
            found.append(alone.with_rows(rows).deepen(train.depth + 1))
        return {"1": Train.concat(found).arrange()}

    def _partners(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The rows of the table that tuples may meet, and the place of each in the table."""
        if self.rows is None:
            return pa.RecordBatch.from_pylist([], self.table.arrow()), np.empty(0, np.int64)
        if isinstance(self.rows, pa.RecordBatch):
            return self.rows, np.arange(self.rows.num_rows, dtype=np.int64)
        return fetch_partners(self.rows, rows, self._asked)
