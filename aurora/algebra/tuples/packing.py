"""Several columns of whole numbers as one, where they fit: one number sorts and compares faster than many."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["pack"]

# What a packed number stays below.
ROOM = 2**62
# So many rows are packed together.
BLOCK = 1 << 15


def pack(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int64] | None, int]:
    """One number a row for as many of the first columns as fit, and how many these are; they compare alike.

    >>> pack([pa.array([2, 1, 1]), pa.array([0, 7, 3], pa.int8()), pa.array(["a", "b", "c"])])
    (array([8, 7, 3]), 2)
    """
    fitting: list[tuple[npt.NDArray[np.integer], int, int]] = []
    room = ROOM
    for column in columns:
        values = _whole_numbers(column)
        if values is None or not len(values):
            break
        low, high = int(values.min()), int(values.max())
        if high - low >= room:
            break
        room //= high - low + 1
        fitting.append((values, low, high - low + 1))
    return _pack_blocks(fitting) if fitting else None, len(fitting)


def _pack_blocks(columns: list[tuple[npt.NDArray[np.integer], int, int]]) -> npt.NDArray[np.int64]:
    """Block by block, so that what lies between two steps stays in the processor's cache. Numbers may wrap around on
    the way, and are right in the end."""
    packed = np.zeros(len(columns[0][0]), np.int64)
    for start in range(0, len(packed), BLOCK):
        part = packed[start : start + BLOCK]
        for number, (values, low, span) in enumerate(columns):
            if number:
                part *= span
            part += values[start : start + BLOCK]
            part -= low
    return packed


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
