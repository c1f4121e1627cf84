"""What a join does with tuples that meet no partner: leaves them out, gives them too (outer) or alone (anti)."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs, merge, needs_of_sides, needs_of_text
from aurora.algebra.box.operator import Keeps
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.pairs import joined_schema
from aurora.algebra.tuples.schema import Schema
from aurora.errors import AuroraError

__all__ = ["PAIRS_ONLY", "SIDES", "Unmatched"]

SIDES = ("left", "right")


@dataclass(frozen=True)
class Unmatched:
    """`sides` are the numbers of the sides whose tuples come out without a partner, `alone` if nothing else does.

    >>> Unmatched.of("left", None, "box b").sides
    (0,)
    >>> str(Unmatched.of(None, "right", "box b").schema(Schema.parse("a int"), Schema.parse("a string")))
    'a string'
    """

    sides: tuple[int, ...] = ()
    alone: bool = False

    @classmethod
    def of(cls, outer: Any, anti: Any, where: str, only: str | None = None) -> "Unmatched":
        """From the words of the text form; `only` begins with the one side that there is, and says why."""
        if outer is not None and anti is not None:
            raise AuroraError(
                f"{where}: has both outer and anti; outer gives pairs too, anti does not: keep one"
            )
        word, given = ("outer", outer) if anti is None else ("anti", anti)
        if given is None:
            return cls()
        allowed = [only.split()[0]] if only else [*SIDES, "both"] if word == "outer" else [*SIDES]
        if given not in allowed:
            choice = only or f"{', '.join(allowed[:-1])} or {allowed[-1]}"
            raise AuroraError(f"{where}: {word} is {choice}, found '{given}'")
        sides = (0, 1) if given == "both" else (SIDES.index(given),)
        return cls(sides, word == "anti")

    def schema(self, left: Schema, right: Schema) -> Schema:
        """Types hold null anyhow, so an outer join has the fields of every other."""
        return (left, right)[self.sides[0]] if self.alone else joined_schema(left, right)

    def keeps(self, left: Schema, right: Schema) -> Keeps:
        """A side whose fields may be null keeps none."""
        if self.alone:
            own = (schema.names if side in self.sides else () for side, schema in enumerate((left, right)))
            return tuple(keeps_fields(names) for names in own)
        names = joined_schema(left, right).names
        given = names[: len(left)], names[len(left) :]
        return tuple(
            {} if 1 - side in self.sides else dict(zip(schema.names, given[side], strict=True))
            for side, schema in enumerate((left, right))
        )

    def needs(
        self, left: Schema, right: Schema, predicate: Expression, given: Needs | None
    ) -> tuple[Needs | None, Needs | None]:
        if not self.alone:
            return needs_of_sides(left, right, predicate, given)
        wants = [needs_of_text([predicate], side) for side in SIDES]
        one, two = (merge(given, want) if side in self.sides else want for side, want in enumerate(wants))
        return one, two

    def rows(self, side: int, rows: pa.RecordBatch, left: Schema, right: Schema) -> pa.RecordBatch:
        """Tuples of a side without their partners."""
        if self.alone:
            return rows
        other = (right, left)[side]
        nulls = [pa.nulls(rows.num_rows, kind) for kind in other.values()]
        columns = [*rows.columns, *nulls] if side == 0 else [*nulls, *rows.columns]
        return pa.RecordBatch.from_arrays(columns, schema=joined_schema(left, right).arrow())


PAIRS_ONLY = Unmatched()
