"""Which partition a row goes to: the same each time it is sent, and for a key the one that Kafka's clients choose."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["SPREAD", "choose_partitions"]

# So many rows without a key go to one partition before the next one gets some.
SPREAD = 100
SEED, FACTOR = 0x9747B28C, np.uint32(0x5BD1E995)


def choose_partitions(
    keys: Sequence[bytes | None] | None, number: int, first: int, partitions: int
) -> npt.NDArray[np.int64]:
    """Return the partition of each of so many rows; `first` is the number of the first of them in its sink.

    >>> choose_partitions(None, 4, 98, 3), choose_partitions([b"meat", b"fish", None, b"meat"], 4, 98, 3)
    (array([0, 0, 1, 1]), array([0, 0, 1, 0]))
    """
    found = (np.arange(first, first + number) // SPREAD) % partitions
    if keys is not None:
        there = np.array([key is not None for key in keys], np.bool_)
        hashes = murmur2([key for key in keys if key is not None])
        found[there] = (hashes & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
    return found


def murmur2(keys: list[bytes]) -> npt.NDArray[np.uint32]:
    """Return the hashes of keys, as Kafka's clients compute them."""
    lengths = np.array([len(key) for key in keys], np.int64)
    # So that four bytes can be read at each place, also behind the last key.
    data = np.frombuffer(b"".join(keys) + bytes(4), np.uint8).astype(np.uint32)
    starts = np.cumsum(lengths) - lengths
    hashes = np.uint32(SEED) ^ lengths.astype(np.uint32)
    longer, at = np.flatnonzero(lengths >= 4), 0
    while len(longer):
        place = starts[longer] + at
        word = sum(data[place + byte] << np.uint32(8 * byte) for byte in range(4)) * FACTOR
        word ^= word >> np.uint32(24)
        hashes[longer] = (hashes[longer] * FACTOR) ^ (word * FACTOR)
        at += 4
        longer = longer[lengths[longer] >= at + 4]
    rest, place = lengths % 4, starts + lengths - lengths % 4
    for byte in (2, 1, 0):
        have = rest > byte
        hashes[have] ^= data[place[have] + byte] << np.uint32(8 * byte)
    hashes[rest > 0] *= FACTOR
    hashes ^= hashes >> np.uint32(13)
    hashes *= FACTOR
    return hashes ^ (hashes >> np.uint32(15))
