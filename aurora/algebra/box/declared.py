"""What a user's kernel gives, in the types that its box declares."""

import pyarrow as pa

from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["as_declared"]


def as_declared(column: pa.Array, declared: pa.DataType, port: str, name: str) -> pa.Array:
    """A column in its declared type: whole numbers may have another width, what is another kind of value is a fault."""
    found = column.type
    if found == declared:
        return column
    if not _fits(found, declared):
        raise AuroraError(
            f"output {port} of a user's kernel: field {name} is {_shown(found)}, declared is {type_name(declared)}"
        )
    try:
        return column.cast(declared)
    except pa.ArrowInvalid as fault:
        raise AuroraError(
            f"output {port} of a user's kernel: field {name}, declared as {type_name(declared)}: {fault}"
        ) from None


def _fits(found: pa.DataType, declared: pa.DataType) -> bool:
    """Whether values of one type are values of the other, unless they are too large for it."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(found):
        return _fits(found.value_type, declared)
    for kinds in (
        (pa.types.is_integer,),
        (pa.types.is_floating, pa.types.is_integer),
        (pa.types.is_string, pa.types.is_large_string),
        (pa.types.is_binary, pa.types.is_large_binary),
        (pa.types.is_timestamp,),
        (pa.types.is_date,),
        (pa.types.is_struct,),
        (pa.types.is_decimal, pa.types.is_integer),
        (pa.types.is_list, pa.types.is_large_list),
        (pa.types.is_map,),
    ):
        if kinds[0](declared):
            return any(is_kind(found) for is_kind in kinds)
    return False


def _shown(found: pa.DataType) -> str:
    try:
        return type_name(found)
    except AuroraError:
        return str(found)
