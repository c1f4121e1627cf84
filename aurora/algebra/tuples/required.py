"""NOT NULL in schemas: which fields, and those inside them, a source must have."""

from collections.abc import Collection, Iterator

import pyarrow as pa

from aurora.algebra.tuples.types import is_array, is_map, is_struct

__all__ = ["drop_not_null", "required_paths", "set_not_null"]


def required_paths(field: pa.Field, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The field itself and those inside it, as far as they are NOT NULL."""
    path = (*before, field.name)
    if not field.nullable:
        yield path
    for inner in field.type if is_struct(field.type) else ():
        yield from required_paths(inner, path)


def drop_not_null(arrow: pa.DataType) -> pa.DataType:
    """The type without NOT NULL: Arrow takes that to hold also where the struct around it is null."""
    if is_array(arrow):
        return pa.list_(drop_not_null(arrow.value_type))
    if is_map(arrow):
        return pa.map_(arrow.key_type, drop_not_null(arrow.item_type))
    if not is_struct(arrow):
        return arrow
    return pa.struct([(field.name, drop_not_null(field.type)) for field in arrow])


def set_not_null(
    field: pa.Field, paths: Collection[tuple[str, ...]], before: tuple[str, ...] = ()
) -> pa.Field:
    """The field with NOT NULL where the paths say so."""
    path = (*before, field.name)
    if is_struct(field.type):
        field = field.with_type(pa.struct([set_not_null(inner, paths, path) for inner in field.type]))
    return field.with_nullable(path not in paths)
