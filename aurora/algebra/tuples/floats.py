"""Floating-point numbers as keys: of -0.0 and 0.0, and of all NaNs, only one is left, as in Spark."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["normalise", "total_order"]


def normalise(column: pa.Array) -> pa.Array:
    """Return the column with 0.0 for -0.0 and one NaN for all; a column of another type as it is.

    >>> normalise(pa.array([-0.0, None, 1.5])).to_pylist()
    [0.0, None, 1.5]
    """
    if not pa.types.is_floating(column.type):
        return column
    return _with_one_nan(pc.add(column, pa.scalar(0.0, column.type)))


def total_order(column: pa.Array) -> pa.Array:
    """Return whole numbers that sort as the numbers of the column do, -0.0 before 0.0, NaN last; nulls stay."""
    filled = _with_one_nan(column.cast(pa.float64()).fill_null(0.0))
    bits: npt.NDArray[np.int64] = filled.to_numpy(zero_copy_only=False).view(np.int64)
    codes = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    return pa.array(
        codes, mask=column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    )


def _with_one_nan(column: pa.Array) -> pa.Array:
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(np.nan, column.type), column) if pc.any(nan).as_py() else column
