"""Hashes of rows, the same in every process and for every batch."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.floats import normalise

__all__ = ["Hashes", "hash_rows"]

Hashes = npt.NDArray[np.uint64]
# What null hashes to: no number does, so that null and 0 rarely meet.
NULL = np.uint64(0x9E3779B97F4A7C15)


def hash_rows(columns: list[pa.Array], rows: int) -> Hashes:
    """A hash of each row; whole numbers of any width hash alike."""
    result = np.zeros(rows, np.uint64)
    for column in columns:
        result = _mix(result * np.uint64(31) + _hash_column(column))
    return result


def _hash_column(column: pa.Array) -> Hashes:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        # Processes that only plan need no pandas, which takes a third of a second to load.
        import pandas as pd

        encoded = column.dictionary_encode()
        of_values = pd.util.hash_array(
            np.asarray(encoded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
        )
        codes = encoded.indices.fill_null(len(of_values)).to_numpy(zero_copy_only=False)
        with_null: Hashes = np.append(of_values, NULL).astype(np.uint64)
        chosen: Hashes = with_null[codes]
        return chosen
    if pa.types.is_decimal128(kind):
        mixed = _hash_decimals(column)
    elif pa.types.is_floating(kind):
        numbers = normalise(column.cast(pa.float64())).fill_null(0.0).to_numpy(zero_copy_only=False)
        mixed = _mix(numbers.view(np.uint64))
    else:
        if pa.types.is_date32(kind):
            column = column.cast(pa.int32())
        whole = column if column.type == pa.int64() else column.cast(pa.int64())
        filled = whole.fill_null(0) if whole.null_count else whole
        mixed = _mix(filled.to_numpy(zero_copy_only=False).view(np.uint64))
    if column.null_count:
        mixed = np.where(column.is_valid().to_numpy(zero_copy_only=False), mixed, NULL)
    return mixed


def _hash_decimals(column: pa.Array) -> Hashes:
    data = column.buffers()[1]
    words = (
        np.zeros(0, np.uint64) if data is None else np.frombuffer(data, np.uint64, offset=16 * column.offset)
    )
    low, high = words[0 : 2 * len(column) : 2], words[1 : 2 * len(column) : 2]
    return _mix(_mix(high) * np.uint64(31) + low)


def _mix(value: Hashes) -> Hashes:
    """The finaliser of SplitMix64: neighbouring numbers land far apart."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
