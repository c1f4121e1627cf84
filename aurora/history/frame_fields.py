"""The columns of a DataFrame that an input takes: all its fields must be there, with types that hold their values."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import (
    backquoted,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    struct_fields,
    type_name,
)
from aurora.errors import AuroraError, did_you_mean

__all__ = ["choose_fields"]


def choose_fields(frame: DataFrame, name: str, schema: Schema) -> DataFrame:
    """The fields of the schema, in its order; columns that it does not have are left out."""
    columns = list(frame.columns)
    return frame.select(*(_column(frame, columns, name, field, schema[field]) for field in schema.names))


def _column(frame: DataFrame, columns: list[str], name: str, field: str, wanted: pa.DataType) -> Column:
    if field not in columns:
        near = did_you_mean(field, columns)
        raise AuroraError(
            f"source {name}: the DataFrame has no column {field}{near}; its columns are {', '.join(columns)}"
        )
    if columns.count(field) > 1:
        raise AuroraError(f"source {name}: the DataFrame has two columns {field}; rename or drop one of them")
    there = frame.schema.fields[columns.index(field)].dataType
    if not _fits(there, wanted):
        sql = type_name(wanted)
        raise AuroraError(
            f"source {name}: column {field} is {there.simpleString()}, and the input has {sql}; "
            f"cast it: df.withColumn({field!r}, df[{field!r}].cast({sql!r}))"
        )
    column = col(backquoted(field))
    return column if _same(_arrow(there), wanted) else column.cast(type_name(wanted)).alias(field)


def _arrow(kind: DataType) -> pa.DataType | None:
    try:
        return to_arrow_type(kind, timezone="UTC")
    except Exception:
        # A type that Arrow has nothing for.
        return None


def _fits(kind: DataType, wanted: pa.DataType) -> bool:
    """Whether every value of the one type is a value of the other."""
    there = _arrow(kind)
    if there is None:
        return False
    return _same(there, wanted) or _wider(there, wanted)


def _same(there: pa.DataType | None, wanted: pa.DataType) -> bool:
    """Alike but for what may be null and how elements are called."""
    if there is None:
        return False
    if is_array(wanted):
        return is_array(there) and _same(there.value_type, wanted.value_type)
    if is_map(wanted):
        keys = is_map(there) and there.key_type == wanted.key_type
        return bool(keys) and _same(there.item_type, wanted.item_type)
    if is_struct(wanted):
        if not is_struct(there):
            return False
        own, other = struct_fields(there), struct_fields(wanted)
        return list(own) == list(other) and all(_same(own[name], other[name]) for name in own)
    return bool(there == wanted)


def _wider(there: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_integer(there):
        if pa.types.is_integer(wanted):
            return bool(there.bit_width <= wanted.bit_width)
        return bool(pa.types.is_float64(wanted)) and there.bit_width <= 32
    if pa.types.is_float32(there):
        return bool(pa.types.is_float64(wanted))
    if is_decimal(there) and is_decimal(wanted):
        whole = there.precision - there.scale, wanted.precision - wanted.scale
        return bool(there.scale <= wanted.scale and whole[0] <= whole[1])
    return False
