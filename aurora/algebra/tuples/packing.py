"""Several columns of whole numbers as one, where they fit: one number sorts and compares faster than many."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["pack"]

# What a packed number stays below.
ROOM = 2**62


def pack(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int64] | None, int]:
    """One number a row for as many of the first columns as fit, and how many these are; they compare alike.

    >>> pack([pa.array([2, 1, 1]), pa.array([0, 7, 3], pa.int8()), pa.array(["a", "b", "c"])])
    (array([8, 7, 3]), 2)
    """
    packed: npt.NDArray[np.int64] | None = None
    room = ROOM
    for number, column in enumerate(columns):
        values = _whole_numbers(column)
        if values is None or not len(values):
            return packed, number
        low, high = int(values.min()), int(values.max())
        if high - low >= room:
            return packed, number
        room //= high - low + 1
        own = values.astype(np.int64) - low
        packed = own if packed is None else packed * np.int64(high - low + 1) + own
    return packed, len(columns)


def _whole_numbers(column: pa.Array) -> npt.NDArray[np.integer] | None:
    if column.null_count:
        return None
    kind = column.type
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_date32(kind):
        return np.asarray(column.cast(pa.int32()).to_numpy())
    if pa.types.is_timestamp(kind):
        return np.asarray(column.cast(pa.int64()).to_numpy())
    if pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.int8))
    return None
