"""Merging rows of several inputs by a value: where rows stand, which are late, and how many may go now."""

import zlib
from dataclasses import dataclass

import numpy as np

from aurora.algebra.tuples.train import Ints

__all__ = ["LOWEST", "Keys", "Places", "count_safe", "find_positions"]

# Before the first row of an input, and below that: an input of which nothing is known.
LOWEST = -(1 << 63)


@dataclass(frozen=True)
class Keys:
    """The value by which each row of an input is merged, ascending, and those rows that come after a larger one.

    `late` are the places of these, `own` their own values; they stand where the row before them does.

    >>> keys = Keys.of(np.array([3, 2, 5]), np.array([0, 1, 3]), 5, 1)
    >>> keys.values.tolist(), keys.late.tolist(), keys.own.tolist()
    ([3, 3, 3, 5, 5], [1], [2])
    """

    values: Ints
    late: Ints
    own: Ints

    @staticmethod
    def of(values: Ints, there: Ints, count: int, before: int) -> "Keys":
        """Return the keys of `count` rows, of which those at the places `there` have a value; `before` came before."""
        known = np.full(count, LOWEST, np.int64)
        known[there] = values
        merged = np.maximum(np.maximum.accumulate(known), before) if count else known
        late = np.sort(there[values < merged[there]])
        return Keys(merged, late, known[late])

    @staticmethod
    def none() -> "Keys":
        nothing = np.empty(0, np.int64)
        return Keys(nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.values)

    def behind(self, other: "Keys") -> "Keys":
        """Return the keys of both, the other's first."""
        if not len(other):
            return self
        return Keys(
            np.concatenate([other.values, self.values]),
            np.concatenate([other.late, self.late + len(other)]),
            np.concatenate([other.own, self.own]),
        )

    def cut(self, low: int, high: int) -> "Keys":
        """Return those of some of the rows."""
        chosen = (self.late >= low) & (self.late < high)
        return Keys(self.values[low:high], self.late[chosen] - low, self.own[chosen])


def count_safe(
    keys: list[Ints], levels: list[int | None], limited: list[bool]
) -> tuple[list[int], int | None]:
    """Return how many of the known rows of each input no unknown one comes before, and the input that must say more.

    `levels` are the last known values of the inputs, None where nothing is known; an input that is not `limited` has
    no unknown rows, or is not waited for. Of equal values the first inputs' come first.

    >>> count_safe([np.array([1, 4]), np.array([2, 4, 5])], [4, 5], [True, True])
    ([2, 1], 0)
    >>> count_safe([np.array([1, 4]), np.array([2, 4, 5])], [4, 5], [False, True])
    ([2, 3], 1)
    """
    limits = [
        (level is not None, level or 0, number)
        for number, (level, limits) in enumerate(zip(levels, limited, strict=True))
        if limits
    ]
    if not limits:
        return [len(own) for own in keys], None
    known, value, limit = min(limits)
    if not known:
        return [0] * len(keys), limit
    return [
        int(np.searchsorted(own, value, side="right" if number <= limit else "left"))
        for number, own in enumerate(keys)
    ], limit


def find_positions(keys: list[Ints]) -> list[Ints]:
    """Return for each row of each input its position among all: by value, then by input, then as they come.

    >>> [each.tolist() for each in find_positions([np.array([1, 4]), np.array([1, 2, 4])])]
    [[0, 3], [1, 2, 4]]
    """
    found = []
    for index, own in enumerate(keys):
        position = np.arange(len(own))
        for other, theirs in enumerate(keys):
            if other != index:
                position = position + np.searchsorted(theirs, own, "right" if other < index else "left")
        found.append(position)
    return found


@dataclass(frozen=True)
class Places:
    """Ascending positions, as few bytes: each task that reads a part of the rows gets those of all."""

    data: bytes
    kind: str

    @staticmethod
    def of(positions: Ints) -> "Places":
        steps = np.diff(positions, prepend=-1) - 1
        most = int(steps.max(initial=0))
        kind = next(kind for kind in ("u1", "u2", "u4", "u8") if most <= np.iinfo(kind).max)
        return Places(zlib.compress(steps.astype(kind).tobytes(), 1), kind)

    def read(self) -> Ints:
        steps = np.frombuffer(zlib.decompress(self.data), self.kind).astype(np.int64)
        return np.cumsum(steps + 1) - 1
