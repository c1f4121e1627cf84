"""Types of fields and types of columns: which column holds a field, and which field a column can be read into."""

import pyarrow as pa

from aurora.algebra.tuples.types import is_array, is_decimal, is_nested, is_struct, type_name

__all__ = ["can_be_read", "column_type", "holds"]

COLUMNS = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "date": "date",
    "timestamp": "timestamptz",
}
WHOLE = ("int2", "int4", "int8")
NUMBERS = (*WHOLE, "numeric", "float4", "float8")
TEXTS = ("text", "varchar", "bpchar", "citext", "name")
TIMES = ("timestamp", "timestamptz")
# Columns of these do not take any text.
NO_TEXT = (*NUMBERS, *TIMES, "bool", "date", "time", "timetz", "interval", "bytea", "money", "oid", "xid8")


def column_type(kind: pa.DataType) -> str:
    """The type of a column that is made for a field.

    >>> column_type(pa.int32()), column_type(pa.decimal128(10, 2)), column_type(pa.list_(pa.int32()))
    ('integer', 'numeric(10,2)', 'jsonb')
    """
    if is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return "jsonb" if is_nested(kind) else COLUMNS[type_name(kind)]


def holds(kind: pa.DataType, column: str) -> bool:
    """Whether a column of this type takes a field, as far as the types tell.

    A value may still be too large for it.
    """
    if pa.types.is_string(kind):
        return column not in NO_TEXT
    return column in TEXTS or column in _fitting(kind)


def can_be_read(kind: pa.DataType, column: str) -> bool:
    """Whether a field can be read from a column of this type; a text is looked at row by row."""
    if pa.types.is_string(kind):
        return True
    if pa.types.is_date(kind):
        return column in ("date", *TEXTS)
    if is_array(kind) and column.startswith("_"):
        return True
    if is_nested(kind):
        return column in ("json", "jsonb") or (is_struct(kind) and column not in (*NO_TEXT, *TEXTS))
    numbers = NUMBERS if column in NUMBERS and _is_number(kind) else ()
    return column in TEXTS or column in _fitting(kind) or column in numbers


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_decimal(kind))


def _fitting(kind: pa.DataType) -> tuple[str, ...]:
    if pa.types.is_boolean(kind):
        return ("bool",)
    if pa.types.is_integer(kind):
        return NUMBERS
    if pa.types.is_floating(kind) or is_decimal(kind):
        return ("numeric", "float4", "float8")
    if pa.types.is_date(kind):
        return ("date", *TIMES)
    return TIMES if pa.types.is_timestamp(kind) else ("json", "jsonb")
