"""The columns of rows as arrays."""

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["Array", "numbers"]

Array = np.ndarray[Any, Any]


def numbers(rows: pa.RecordBatch, name: str) -> Array:
    column: Array = rows[name].to_numpy(zero_copy_only=False)
    return column
