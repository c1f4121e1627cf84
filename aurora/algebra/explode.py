"""Explode(E AS B): a tuple for each element of an array."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.needs import Needs, merge, needs_of_text
from aurora.algebra.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.lists import list_lengths
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.algebra.tuples.types import INT, is_array, is_map, type_name
from aurora.errors import AuroraError

__all__ = ["Explode"]


@dataclass(frozen=True)
class Explode:
    """The tuple's own fields, and behind them the element, and its place in the array from 0 if that is asked for.

    A tuple whose array is empty or null gives nothing; with `outer` it gives one tuple without an element. An element
    that has the name of a field stands in its place.

    >>> words = Explode.of("split(Line, ' ')", "Word", Schema.parse("No int, Line string"))
    >>> rows = pa.record_batch({"No": [1, 2], "Line": ["to be", None]}, words.input.arrow())
    >>> words.call((Train(rows, np.zeros(2, int), np.arange(2)[None]),), Turn())["1"].rows.to_pylist()
    [{'No': 1, 'Line': 'to be', 'Word': 'to'}, {'No': 1, 'Line': 'to be', 'Word': 'be'}]
    """

    input: Schema
    array: Expression
    element: str
    place: str | None = None
    outer: bool = False

    @classmethod
    def of(
        cls,
        array: str,
        element: str,
        schema: Schema,
        place: str | None = None,
        outer: bool = False,
        where: str = "explode",
    ) -> "Explode":
        parsed = Expression.parse(array, schema, where)
        if not is_array(parsed.type):
            made = f"map_keys({parsed.text})" if is_map(parsed.type) else "split(Line, ' ')"
            raise AuroraError(
                f"{where}: '{parsed.text}' is {type_name(parsed.type)}, explode needs an array: a field of type "
                f"array<..>, or one that is made, as in {made}"
            )
        if place == element or (place is not None and place in schema):
            raise AuroraError(f"{where}: at: {place} is the name of another field; choose a new one")
        return cls(schema, parsed, element, place, outer)

    @property
    def outputs(self) -> dict[str, Schema]:
        types = {name: self.input[name] for name in self.input.names}
        types[self.element] = self.array.type.value_type
        return {"1": Schema.of(types if self.place is None else {**types, self.place: INT})}

    @property
    def partition(self) -> Partition | None:
        return None

    @property
    def traits(self) -> Traits:
        return Traits(by_itself=True)

    def keeps(self, port: str) -> Keeps:
        return ({name: name for name in self.input.names if name != self.element},)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        # A field that the element replaces has its place, if nothing else.
        place: Needs = {self.element: {}} if self.element in self.input else {}
        own = merge(place, needs_of_text([self.array]))
        if given is None:
            return (merge(dict.fromkeys(n for n in self.input.names if n != self.element), own),)
        passed = {name: inside for name, inside in given.items() if name not in (self.element, self.place)}
        return (merge(passed, own),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        lists = self.array.evaluate(train.rows)
        lengths = list_lengths(lists)
        count = np.maximum(lengths, 1) if self.outer else lengths
        owner = np.repeat(np.arange(len(train)), count)
        place = np.arange(len(owner)) - (np.cumsum(count) - count)[owner]
        lone = lengths[owner] == 0
        starts = np.cumsum(lengths) - lengths
        elements = lists.flatten().take(pa.array(np.where(lone, 0, starts[owner] + place), mask=lone))
        rows = train.rows.take(pa.array(owner))
        columns = {name: rows.column(name) for name in rows.schema.names}
        columns[self.element] = elements
        if self.place is not None:
            columns[self.place] = pa.array(place.astype(np.int32), mask=lone)
        names = [name for name in self.outputs["1"].names if name in columns]
        made = pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)
        keys = np.concatenate([train.keys[:, owner], place[None]])
        return {"1": Train(made, train.arrived[owner], keys)}
