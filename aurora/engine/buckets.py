"""Buckets: where a tuple goes by the hash of its key."""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.train import Train

if TYPE_CHECKING:
    from aurora.engine.plan import Spread

__all__ = ["labels", "split"]

Hashes = npt.NDArray[np.uint64]


def split(train: Train, spread: "Spread", buckets: int) -> list[tuple[int, Train]]:
    """The part of a train for each bucket; without key fields all of it goes to bucket 0."""
    if len(train) == 0:
        return []
    if spread is None:
        return [(bucket, train) for bucket in range(buckets)]
    if spread == () or buckets == 1:
        return [(0, train)]
    bucket = (hashes([train.rows.column(name) for name in spread]) % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=buckets))
    parts = []
    for number in range(buckets):
        mine = order[ends[number - 1] if number else 0 : ends[number]]
        if len(mine):
            parts.append((number, train.take(mine)))
    return parts


def hashes(columns: list[pa.Array]) -> Hashes:
    """A hash of each row, the same in every process; whole numbers of any width hash alike."""
    result = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        result = _mixed(result * np.uint64(31) + _of_column(column))
    return result


def _of_column(column: pa.Array) -> Hashes:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        # Processes that only plan need no pandas, which takes a third of a second to load.
        import pandas as pd

        encoded = column.dictionary_encode()
        of_values = pd.util.hash_array(
            np.asarray(encoded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
        )
        codes = encoded.indices.fill_null(len(of_values)).to_numpy(zero_copy_only=False)
        with_null: Hashes = np.append(of_values, np.uint64(0)).astype(np.uint64)
        chosen: Hashes = with_null[codes]
        return chosen
    if pa.types.is_floating(kind):
        numbers = pc.add(column.cast(pa.float64()), 0.0).fill_null(0.0).to_numpy(zero_copy_only=False)
        return _mixed(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    whole = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return _mixed(whole.view(np.uint64))


def _mixed(value: Hashes) -> Hashes:
    """The finaliser of SplitMix64: neighbouring numbers land far apart."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@cache
def labels(buckets: int) -> tuple[int, ...]:
    """A number for each bucket that Spark's own hash sends to a partition of its own."""
    chosen: dict[int, int] = {}
    number = 0
    while len(chosen) < buckets:
        chosen.setdefault(_spark_hash(number) % buckets, number)
        number += 1
    return tuple(chosen[i] for i in range(buckets))


def _spark_hash(number: int) -> int:
    """Murmur3 of an int with Spark's seed 42."""
    mask = 0xFFFFFFFF

    def rotated(value: int, by: int) -> int:
        return ((value << by) | (value >> (32 - by))) & mask

    k = rotated(number * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (rotated(42 ^ k, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    h = (h ^ (h >> 16)) * 0x85EBCA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
