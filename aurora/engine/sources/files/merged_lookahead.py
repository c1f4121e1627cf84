"""Records of one file that lie ahead of a place, and how many of those of several files can be told to come first."""

from dataclasses import dataclass

import numpy as np

from aurora.algebra.tuples.train import Ints
from aurora.engine.sources.files.merged_piece import LOWEST
from aurora.engine.sources.text.csv_records import Split

__all__ = ["Place", "Stretch", "find_safe"]


@dataclass(frozen=True)
class Place:
    """A place in one file: bytes and lines before it, the value of the record before it, and a mark of the bytes."""

    byte: int = 0
    line: int = 0
    key: int = LOWEST
    mark: int = 0


@dataclass(frozen=True)
class Stretch:
    """Records of one file from a place on, and the value of each."""

    place: Place
    records: Split
    keys: Ints
    # Whether the file has no more.
    last: bool

    def cut(self, low: int, high: int) -> "Stretch":
        """Some of them."""
        ends, lines = self.records.ends, self.records.lines
        place = self.place
        if low:
            line = place.line + int(lines[low - 1])
            place = Place(int(ends[low - 1]), line, int(self.keys[low - 1]))
        before = int(lines[low - 1]) if low else 0
        part = self.records.chosen(slice(low, high))
        return Stretch(
            place,
            Split(part.ends, part.lines - before, part.bad),
            self.keys[low:high],
            self.last and high == len(ends),
        )

    def end(self) -> Place:
        return self.cut(len(self.keys), len(self.keys)).place


def find_safe(keys: list[Ints], ended: list[bool]) -> tuple[list[int], int | None]:
    """How many of the known records of each file no unknown one comes before, and the file that must be read further.

    What is unknown of a file is not before its last known record; that of a file of which nothing is known may be
    before all.
    """
    limits = [
        (int(own[-1]) if len(own) else LOWEST - 1, number)
        for number, (own, last) in enumerate(zip(keys, ended, strict=True))
        if not last
    ]
    if not limits:
        return [len(own) for own in keys], None
    value, limit = min(limits)
    if value < LOWEST:
        return [0] * len(keys), limit
    return [
        int(np.searchsorted(own, value, side="right" if number <= limit else "left"))
        for number, own in enumerate(keys)
    ], limit
