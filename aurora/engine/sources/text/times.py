"""Times as they are read: ISO 8601 with a zone or without one; of their decimals six are kept."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.lists import with_elements
from aurora.algebra.tuples.types import is_array, is_struct
from aurora.engine.sources.text.reasons import Unreadable, not_a

__all__ = ["NAIVE", "cut_nanoseconds", "has_times", "read_nested_times", "read_times", "times_as"]

# A date, a time, and where it counts from; the bare date 2020-01-01 ends like a zone and has none.
ZONED = r"^.{11,}(Z|[+-]\d\d(:?\d\d)?)$"
# What follows the microseconds: Go, Docker, .NET and InfluxDB write seven or nine decimals.
FINER, CUT = r"^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d{6})\d+", r"\1"
NAIVE, UTC = pa.timestamp("us"), pa.timestamp("us", tz="UTC")


def read_times(texts: pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    """Return the times that texts mean; one without a zone is in UTC.

    >>> read_times(pa.array(["2026-11-16T06:00:00.123456789Z", None]), "t").cast(pa.int64()).to_pylist()
    [1794808800123456, None]
    """
    try:
        return _cast(texts)
    except pa.ArrowInvalid:
        pass
    try:
        return _cast_finer(texts)
    except pa.ArrowInvalid:
        raise Unreadable(not_a(name, _first_bad(texts), UTC)) from None


def _cast(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    zoned = pc.match_substring_regex(texts, ZONED)
    nothing = pa.scalar(None, pa.string())
    return pc.if_else(
        zoned,
        pc.if_else(zoned, texts, nothing).cast(UTC),
        pc.if_else(zoned, nothing, texts).cast(NAIVE).cast(UTC),
    )


def _cast_finer(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return _cast(pc.replace_substring_regex(texts, FINER, CUT))


def _first_bad(texts: pa.Array | pa.ChunkedArray) -> str:
    """Return the first text that is no time; there is one."""
    while len(texts) > 1:
        half = texts.slice(0, len(texts) // 2)
        try:
            _cast_finer(half)
        except pa.ArrowInvalid:
            texts = half
        else:
            texts = texts.slice(len(half))
    return str(texts[0].as_py())


def has_times(kind: pa.DataType) -> bool:
    """Whether a type, which holds no maps, is a timestamp or holds some."""
    if is_array(kind):
        return has_times(kind.value_type)
    return pa.types.is_timestamp(kind) or (is_struct(kind) and any(has_times(field.type) for field in kind))


def times_as(kind: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type with another in place of each timestamp in it."""
    if is_array(kind):
        return pa.list_(times_as(kind.value_type, other))
    if is_struct(kind):
        return pa.struct([(field.name, times_as(field.type, other)) for field in kind])
    return other if pa.types.is_timestamp(kind) else kind


def read_nested_times(column: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    """Return a column with times in place of the texts in it that `kind` has as timestamps."""
    if not has_times(kind):
        return column
    if is_array(kind):
        return with_elements(column, read_nested_times(column.flatten(), kind.value_type, f"{path}.[]"))
    if is_struct(kind):
        inner = [
            read_nested_times(own, field.type, f"{path}.{field.name}")
            for own, field in zip(column.flatten(), kind, strict=True)
        ]
        missing = pc.is_null(column) if column.null_count else None
        return pa.StructArray.from_arrays(inner, [field.name for field in kind], mask=missing)
    return read_times(column, path)


def cut_nanoseconds(table: pa.Table) -> pa.Table:
    """Return the table with what its times have behind the microseconds cut off, in structs and arrays as well."""
    for place, field in enumerate(table.schema):
        if has_times(field.type):
            cut = _cut(table.column(place).combine_chunks())
            table = table.set_column(place, field.name, cut)
    return table


def _cut(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pc.floor_temporal(column, unit="microsecond") if kind.unit == "ns" else column
    if is_array(kind):
        return with_elements(column, _cut(column.flatten()))
    if is_struct(kind):
        missing = pc.is_null(column) if column.null_count else None
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays([_cut(own) for own in column.flatten()], names, mask=missing)
    return column
