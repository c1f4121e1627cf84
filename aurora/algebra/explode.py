"""Explode(E AS B): a tuple for each element of an array, or for each entry of a map."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_text
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions import Expression
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.lists import list_lengths
from aurora.algebra.tuples.maps import entries_of
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Train
from aurora.algebra.tuples.types import INT, is_array, is_map, type_name
from aurora.errors import AuroraError

__all__ = ["Explode"]


@dataclass(frozen=True)
class Explode:
    """The tuple's own fields, and behind them the element, and its place in the array from 0 if that is asked for.

    Of a map, the element is two fields: the key and the value of an entry. A tuple whose array is empty or null gives
    nothing; with `outer` it gives one tuple without an element. An element that has the name of a field stands in its
    place.

    >>> words = Explode.of("split(Line, ' ')", "Word", Schema.parse("No int, Line string"))
    >>> rows = pa.record_batch({"No": [1, 2], "Line": ["to be", None]}, words.input.arrow())
    >>> words.call((Train(rows, np.zeros(2, int), np.arange(2)[None]),), Turn())["1"].rows.to_pylist()
    [{'No': 1, 'Line': 'to be', 'Word': 'to'}, {'No': 1, 'Line': 'to be', 'Word': 'be'}]

    >>> entries = Explode.of("Heat", ("Room", "Degrees"), Schema.parse("Heat map<string, int>"))
    >>> rows = pa.RecordBatch.from_pylist([{"Heat": {"a": 20, "b": 21}}], entries.input.arrow())
    >>> train = entries.call((Train(rows, np.zeros(1, int), np.zeros((1, 1), int)),), Turn())["1"]
    >>> train.rows.select(["Room", "Degrees"]).to_pylist()
    [{'Room': 'a', 'Degrees': 20}, {'Room': 'b', 'Degrees': 21}]
    """

    input: Schema
    array: Expression
    elements: tuple[str, ...]
    place: str | None = None
    outer: bool = False

    @classmethod
    def of(
        cls,
        array: str,
        elements: str | tuple[str, ...],
        schema: Schema,
        place: str | None = None,
        outer: bool = False,
        where: str = "explode",
    ) -> "Explode":
        parsed = Expression.parse(array, schema, where)
        names = (elements,) if isinstance(elements, str) else elements
        _check_elements(parsed, names, where)
        if place in names or (place is not None and place in schema):
            raise AuroraError(f"{where}: at: {place} is the name of another field; choose a new one")
        return cls(schema, parsed, names, place, outer)

    @property
    def outputs(self) -> dict[str, Schema]:
        types = {name: self.input[name] for name in self.input.names}
        kind = self.array.type
        parts = (kind.key_type, kind.item_type) if is_map(kind) else (kind.value_type,)
        types |= dict(zip(self.elements, parts, strict=True))
        return {"1": Schema.of(types if self.place is None else {**types, self.place: INT})}

    @property
    def partition(self) -> Partition | None:
        return None

    @property
    def traits(self) -> Traits:
        return Traits(by_itself=True)

    def keeps(self, port: str) -> Keeps:
        return ({name: name for name in self.input.names if name not in self.elements},)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        # A field that an element replaces has its place, if nothing else.
        place: Needs = {name: {} for name in self.elements if name in self.input}
        own = merge(place, needs_of_text([self.array]))
        made = {*self.elements, self.place}
        passed = dict.fromkeys(self.input.names) if given is None else given
        return (merge({name: inside for name, inside in passed.items() if name not in made}, own),)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return inputs[0] + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        (train,) = inputs
        lengths, *parts = _parts(self.array.evaluate(train.rows))
        count = np.maximum(lengths, 1) if self.outer else lengths
        owner = np.repeat(np.arange(len(train)), count)
        place = np.arange(len(owner)) - (np.cumsum(count) - count)[owner]
        lone = lengths[owner] == 0
        starts = np.cumsum(lengths) - lengths
        chosen = pa.array(np.where(lone, 0, starts[owner] + place), mask=lone)
        rows = train.rows.take(pa.array(owner))
        columns = {name: rows.column(name) for name in rows.schema.names}
        columns |= {name: part.take(chosen) for name, part in zip(self.elements, parts, strict=True)}
        if self.place is not None:
            columns[self.place] = pa.array(place.astype(np.int32), mask=lone)
        names = [name for name in self.outputs["1"].names if name in columns]
        made = pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)
        keys = np.concatenate([train.keys.take(owner, axis=1), place[None]])
        # The first elements of all rows of one moment stand before the second ones.
        return {"1": Train(made, train.arrived[owner], keys).arrange()}


def _check_elements(array: Expression, names: tuple[str, ...], where: str) -> None:
    """Raises a fault unless it is an array under one name, or a map under two."""
    if not is_array(array.type) and not is_map(array.type):
        raise AuroraError(
            f"{where}: '{array.text}' is {type_name(array.type)}, explode needs an array or a map: a field of type "
            "array<..> or map<..>, or one that is made, as in split(Line, ' ')"
        )
    found = "[" + ", ".join(names) + "]" if len(names) != 1 else names[0]
    if is_map(array.type) and len(names) != 2:
        raise AuroraError(
            f"{where}: '{array.text}' is a map, whose entries are two fields: write as: [key, value], found as: {found}"
        )
    if is_array(array.type) and len(names) != 1:
        raise AuroraError(
            f"{where}: '{array.text}' is an array, whose elements are one field: write as: element, found as: {found}"
        )
    if len(set(names)) < len(names):
        raise AuroraError(
            f"{where}: as: {found} names two fields {names[0]}; choose another name for one of them"
        )


def _parts(values: pa.Array) -> tuple[Ints, *tuple[pa.Array, ...]]:
    """How many elements each array or map has, and all of them, of maps the keys and the values."""
    if is_map(values.type):
        return tuple(entries_of(values))
    return list_lengths(values), values.flatten()
