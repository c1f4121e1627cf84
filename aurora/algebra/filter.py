"""Filter(P1, .., Pm): routes each tuple to the port of the first predicate that it satisfies."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.box.choice import Choice
from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import Expression
from aurora.algebra.expressions.tree import Node
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Mask, Train
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["Filter"]


@dataclass(frozen=True)
class Filter:
    """Ports 1..m, and `rest` for the tuples that satisfy no predicate (a null does not satisfy).

    >>> border = Filter.of(["Pos >= 30"], Schema.parse("Sid int, Pos int"))
    >>> rows = pa.record_batch({"Sid": [1, 2, 3], "Pos": [34, 12, None]}, border.input.arrow())
    >>> ports = border.call((Train(rows, np.zeros(3, int), np.arange(3)[None]),), Turn())
    >>> {port: train.rows["Sid"].to_pylist() for port, train in ports.items()}
    {'1': [1], 'rest': [2, 3]}
    """

    input: Schema
    predicates: tuple[Expression, ...]

    @classmethod
    def of(cls, predicates: list[str], schema: Schema, where: str = "filter") -> "Filter":
        if not predicates:
            raise AuroraError(f"{where}: needs at least one predicate")
        parsed = tuple(Expression.parse(text, schema, where) for text in predicates)
        for predicate in parsed:
            if predicate.type != pa.bool_():
                raise AuroraError(
                    f"{where}: '{predicate.text}' is {type_name(predicate.type)}, a predicate must be boolean"
                )
        return cls(schema, parsed)

    @property
    def outputs(self) -> dict[str, Schema]:
        return dict.fromkeys(self.ports, self.input)

    @property
    def ports(self) -> tuple[str, ...]:
        return (*(str(i + 1) for i in range(len(self.predicates))), "rest")

    @property
    def partition(self) -> Partition | None:
        return None

    @cached_property
    def traits(self) -> Traits:
        return Traits(
            passes=True,
            conditions=dict(zip(self.ports, self.predicates, strict=False)),
            by_itself=True,
            choice=Choice(self._reads, self.moved, self.masks),
        )

    @property
    def _reads(self) -> frozenset[str]:
        return frozenset(name for predicate in self.predicates for name in predicate.fields)

    def moved(self, schema: Schema, fields: Mapping[str, Node]) -> "Filter | None":
        """The filter that routes tuples of another schema alike, in which its fields are computed so."""
        if not self._reads <= fields.keys():
            return None
        return Filter(schema, tuple(predicate.over(fields) for predicate in self.predicates))

    def masks(self, rows: pa.RecordBatch) -> dict[str, Mask]:
        """Which rows come to each port."""
        left = np.ones(rows.num_rows, bool)
        found = {}
        for port, predicate in zip(self.ports, self.predicates, strict=False):
            found[port] = left & predicate.matches(rows)
            left = left & ~found[port]
        return {**found, "rest": left}

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.input.names),)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (merge(given, needs_of_text(self.predicates)),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0]

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        return {port: train.filter(mask) for port, mask in self.masks(train.rows).items()}
