"""Arithmetic on the values of order fields, exact over the whole range of bigint and for doubles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Mask, Values

__all__ = [
    "beyond",
    "comparable",
    "from_values",
    "has_room_below",
    "least",
    "narrow",
    "order_codes",
    "orderable",
    "shift",
    "smallest",
    "to_values",
    "wide",
]


def orderable(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
    )


def comparable(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether values of two order fields lie on one line: whole numbers of any width, else one type."""
    return bool(one == other or (pa.types.is_integer(one) and pa.types.is_integer(other)))


def to_values(column: pa.Array) -> Values:
    """An order field as int64 or float64 (microseconds, days)."""
    if pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False)) + 0.0
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    # Arrow's cast of a few numbers takes ten times as long as NumPy's.
    if pa.types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy().astype(np.int64, copy=False))
    return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))


def from_values(values: Values, kind: pa.DataType) -> pa.Array:
    """The inverse of `to_values`."""
    if pa.types.is_floating(kind):
        return pa.array(values, pa.float64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32), pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values.astype(kind.to_pandas_dtype()), kind)


def smallest(kind: pa.DataType) -> int:
    """The smallest whole number that a field of this type holds, in the units of `to_values`."""
    return int(-(2 ** (kind.bit_width - 1)))


def least(kind: np.dtype[Any]) -> Any:
    """What lies below every bound."""
    return -np.inf if kind.kind == "f" else np.iinfo(np.int64).min


def order_codes(values: Values) -> Ints:
    """Whole numbers that compare like the values (NaN after all others, -0.0 like 0.0)."""
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    plain = values.astype(np.float64) + 0.0
    bits = np.where(np.isnan(plain), np.float64("nan"), plain).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def shift(values: Values, by: Any) -> Values:
    """values + by, held at the ends of the bigints."""
    moved: Values = values + values.dtype.type(by)
    if values.dtype.kind == "i":
        if by >= 0:
            moved = np.where(moved < values, np.iinfo(np.int64).max, moved)
        else:
            moved = np.where(moved > values, np.iinfo(np.int64).min, moved)
    return moved


def beyond(bound: Values, value: Values, size: Any) -> Mask:
    """Whether the bound lies more than `size` above the value."""
    limit = shift(value, size)
    unreachable = (limit == np.iinfo(np.int64).max) if value.dtype.kind == "i" else np.zeros(len(value), bool)
    return np.asarray((bound > limit) & ~unreachable)


def has_room_below(values: Values, span: Any) -> Mask:
    """Where value - span is a value at all: below the smallest bigint there is no bound."""
    if values.dtype.kind == "f":
        return np.ones(len(values), bool)
    return np.asarray(values - np.int64(span) <= values)


def wide(*columns: Values, room: float) -> Sequence[Any]:
    """The columns as they are, or as Python integers where sums and differences could leave 64 bits."""
    if any(column.dtype.kind == "f" for column in columns):
        return columns
    filled = [column for column in columns if len(column)]
    low = min((int(column.min()) for column in filled), default=0)
    high = max((int(column.max()) for column in filled), default=0)
    if high - low + 2 * room < 2**62 and low > -(2**62) and high < 2**62:
        return columns
    return [column.astype(object) for column in columns]


def narrow(values: Any, kind: np.dtype[Any]) -> Values:
    """Back to 64 bits."""
    if values.dtype != object:
        return np.asarray(values)
    return np.asarray(values.astype(np.int64).astype(kind))
