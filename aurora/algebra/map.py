"""Map(B1 = F1, .., Bm = Fm): computes the fields of its output from each tuple."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import ARRIVED, Expression
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.tuples.types import TIMESTAMP, backquoted
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Map"]

STAR = re.compile(r"\s*\*\s*(?:EXCEPT\s*\((?P<but>.*)\)\s*)?", re.IGNORECASE | re.DOTALL)
NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s,`]+))\s*(?:,|$)")


@dataclass(frozen=True)
class Map:
    """One output tuple for each input tuple, with the same arrival, whose time is `arrival_time()`.

    >>> feet = Map.of({"Sid": "Sid", "Feet": "Pos * 3"}, Schema.parse("Sid int, Pos int"))
    >>> import numpy as np
    >>> rows = pa.record_batch({"Sid": [1, 2], "Pos": [34, None]}, feet.input.arrow())
    >>> feet.call((Train(rows, np.zeros(2, int), np.arange(2)[None]),), Turn())["1"].rows.to_pylist()
    [{'Sid': 1, 'Feet': 102}, {'Sid': 2, 'Feet': None}]
    """

    input: Schema
    fields: tuple[tuple[str, Expression], ...]
    # Whether `*` was written: then it stands on every field of the input, be it left out or replaced.
    star: bool = False

    @classmethod
    def of(cls, fields: dict[str, str], schema: Schema, where: str = "map") -> "Map":
        """A field called `*` stands for all fields of the input, as "*", or but for some, as "* EXCEPT (a, b)"."""
        if not fields:
            raise AuroraError(f"{where}: needs at least one field")
        return cls(
            schema,
            tuple(
                (name, Expression.parse(str(text), schema, where, arrival=True))
                for name, text in write_out(fields, schema, where).items()
            ),
            "*" in fields,
        )

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {"1": Schema.of({name: expression.type for name, expression in self.fields})}

    @property
    def partition(self) -> Partition | None:
        return None

    @cached_property
    def traits(self) -> Traits:
        computed = {name: expression.tree for name, expression in self.fields}
        return Traits(by_itself=True, computed=computed, narrowed=self.narrowed)

    def narrowed(self, names: Collection[str]) -> "Map":
        """The map that gives those of its fields only, but never none."""
        kept = tuple((name, expression) for name, expression in self.fields if name in names)
        return replace(self, fields=kept or self.fields[:1])

    def keeps(self, port: str) -> Keeps:
        # A field that is repeated under several names is known by the first.
        named = ((expression.is_field, name) for name, expression in reversed(self.fields))
        return ({field: name for field, name in named if field not in (None, ARRIVED)},)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        needs = needs_of_text(expression for _, expression in self.fields)
        there: Needs = {name: {} for name in self.input.names} if self.star else {}
        return (merge(there, {name: inside for name, inside in needs.items() if name != ARRIVED}),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0]

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        rows = train.rows
        if any(ARRIVED in expression.fields for _, expression in self.fields):
            # The hidden field is in milliseconds.
            rows = rows.append_column(ARRIVED, pa.array(train.arrived * 1000).cast(TIMESTAMP))
        columns = [expression.evaluate(rows) for _, expression in self.fields]
        made = pa.RecordBatch.from_arrays(columns, schema=self.outputs["1"].arrow())
        # Rows of one moment stand in the order of their fields, and these are others now.
        return {"1": train.with_rows(made).arrange()}


def write_out(fields: dict[str, str], schema: Schema, where: str) -> dict[str, str]:
    """The fields with all those for which `*` stands; one that is named beside it has its own value there.

    >>> write_out({"*": "* EXCEPT (a)", "c": "b + 1", "d": "2"}, Schema.parse("a int, b int, c int"), "map")
    {'b': '`b`', 'c': 'b + 1', 'd': '2'}
    """
    found: dict[str, str] = {}
    for name, text in fields.items():
        star = STAR.fullmatch(str(text))
        if name != "*" and star is None:
            found[name] = text
        elif name != "*" or star is None:
            raise AuroraError(
                f"{where}: all fields are written as '*': '*', or '*': '* EXCEPT (a, b)'; found {name}: {text}"
            )
        else:
            left_out = _names(star["but"], schema, where)
            found.update(
                {own: fields.get(own, backquoted(own)) for own in schema.names if own not in left_out}
            )
    if not found:
        raise AuroraError(f"{where}: EXCEPT leaves no field; leave out fewer")
    return found


def _names(text: str | None, schema: Schema, where: str) -> list[str]:
    names: list[str] = []
    place = 0
    while text is not None and place < len(text):
        match = NAME.match(text, place)
        if match is None:
            raise AuroraError(
                f"{where}: cannot read EXCEPT ({text}): write the names of fields, as in EXCEPT (a, b)"
            )
        name = match[2] if match[1] is None else match[1].replace("``", "`")
        if name not in schema:
            near = did_you_mean(name, schema.names)
            raise AuroraError(
                f"{where}: EXCEPT {name}: no such field{near}; fields are {', '.join(schema.names)}"
            )
        names.append(name)
        place = match.end()
    return names
