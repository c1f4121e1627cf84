"""The schema that rows in memory bring with them: for each type of Arrow the one here that holds its values."""

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import DATE, FLOAT, STRING, TIMESTAMP, type_name
from aurora.errors import AuroraError

__all__ = ["infer_schema"]

WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): FLOAT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.date64(): DATE,
}


def infer_schema(given: pa.Schema) -> Schema:
    """
    >>> str(infer_schema(pa.schema({"n": pa.uint8(), "at": pa.timestamp("ns")})))
    'n smallint, at timestamp'
    """
    if not given.names:
        raise AuroraError(
            "the rows have no fields: give a schema with them, Memory.of('name type, ..', rows)"
        )
    return Schema([(field.name, _type(field.name, field.type)) for field in given])


def _type(name: str, kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _type(name, kind.value_type)
    if pa.types.is_timestamp(kind):
        return TIMESTAMP
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _type(f"{name}.{field.name}", field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_type(f"{name}[]", kind.value_type))
    found = WIDER.get(kind, kind)
    if pa.types.is_null(found):
        raise AuroraError(
            f"field {name} is null in every row, so nobody knows its type: give a schema with the rows, "
            "Memory.of('name type, ..', rows)"
        )
    try:
        type_name(found)
    except AuroraError as fault:
        raise AuroraError(f"field {name}: {fault}; convert it first") from None
    return found
