"""Buckets: where a tuple goes by the hash of its key."""

from enum import Enum
from functools import cache
from itertools import pairwise

import numpy as np

from aurora.algebra.tuples.hashing import hash_rows
from aurora.algebra.tuples.train import Train

__all__ = ["EVENLY", "Evenly", "labels", "split"]


class Evenly(Enum):
    """To any bucket, to each as many as to the others."""

    EVENLY = "evenly"


EVENLY = Evenly.EVENLY


def split(train: Train, spread: tuple[str, ...] | Evenly | None, buckets: int) -> list[tuple[int, Train]]:
    """The part of a train for each bucket; without key fields all of it goes to bucket 0."""
    if len(train) == 0:
        return []
    if spread is None:
        return [(bucket, train) for bucket in range(buckets)]
    if spread is EVENLY:
        return _share_out(train, buckets)
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


def _share_out(train: Train, buckets: int) -> list[tuple[int, Train]]:
    """Neighbours stay together, so that no tuple has to be copied. Short trains do not all begin in the same bucket;
    where one does follows from its first tuple, so that a batch that is run again is spread as it was."""
    number = int(train.keys[0, 0])
    first = (number * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 33
    cuts = [len(train) * part // buckets for part in range(buckets + 1)]
    return [
        ((first + part) % buckets, train.slice(low, high - low))
        for part, (low, high) in enumerate(pairwise(cuts))
        if high > low
    ]


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
