"""NOT NULL in schemas: which fields, and those inside them, a source must have."""

from collections.abc import Collection, Iterator

import pyarrow as pa

from aurora.algebra.tuples.types import is_array, is_map, is_struct

__all__ = ["relaxed", "required_paths", "tightened"]


def required_paths(field: pa.Field, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The field itself and those inside it, as far as they are NOT NULL."""
    path = (*before, field.name)
    if not field.nullable:
        yield path
    for inner in field.type if is_struct(field.type) else ():
        yield from required_paths(inner, path)


def relaxed(arrow: pa.DataType) -> pa.DataType:
    """The type without NOT NULL: Arrow takes that to hold also where the struct around it is null."""
    if is_array(arrow):
        return pa.list_(relaxed(arrow.value_type))
    if is_map(arrow):
        return pa.map_(arrow.key_type, relaxed(arrow.item_type))
    if not is_struct(arrow):
        return arrow
    return pa.struct([(field.name, relaxed(field.type)) for field in arrow])


def tightened(field: pa.Field, paths: Collection[tuple[str, ...]], before: tuple[str, ...] = ()) -> pa.Field:
    """The field with NOT NULL where the paths say so."""
    path = (*before, field.name)
    if is_struct(field.type):
        field = field.with_type(pa.struct([tightened(inner, paths, path) for inner in field.type]))
    return field.with_nullable(path not in paths)
