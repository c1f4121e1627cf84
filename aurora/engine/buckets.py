"""Buckets: where a tuple goes by the hash of its key."""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from aurora.algebra.tuples.hashing import hash_rows
from aurora.algebra.tuples.train import Train

if TYPE_CHECKING:
    from aurora.engine.plan import Spread

__all__ = ["labels", "split"]


def split(train: Train, spread: "Spread", buckets: int) -> list[tuple[int, Train]]:
    """The part of a train for each bucket; without key fields all of it goes to bucket 0."""
    if len(train) == 0:
        return []
    if spread is None:
        return [(bucket, train) for bucket in range(buckets)]
    if spread == () or buckets == 1:
        return [(0, train)]
    bucket = (
        hash_rows([train.rows.column(name) for name in spread], len(train)) % np.uint64(buckets)
    ).astype(np.int64)
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=buckets))
    parts = []
    for number in range(buckets):
        mine = order[ends[number - 1] if number else 0 : ends[number]]
        if len(mine):
            parts.append((number, train.take(mine)))
    return parts


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
