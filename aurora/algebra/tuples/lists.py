"""Columns of arrays: their elements one behind the other, and back."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.train import Ints

__all__ = ["list_lengths", "with_elements"]


def list_lengths(lists: pa.Array) -> Ints:
    """How many elements each has; 0 for a null."""
    return np.asarray(pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False)).astype(np.int64)


def with_elements(lists: pa.Array, elements: pa.Array) -> pa.Array:
    """The lists with others in place of their flattened elements.

    >>> lists = pa.array([[1, 2], None, [3]])
    >>> with_elements(lists, pc.multiply(lists.flatten(), 10)).to_pylist()
    [[10, 20], None, [30]]
    """
    ends = np.concatenate([[0], np.cumsum(list_lengths(lists))]).astype(np.int32)
    missing = pc.is_null(lists) if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(ends), elements, mask=missing)
