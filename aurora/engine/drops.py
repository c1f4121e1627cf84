"""Load shedding at work: tuples of a stream that are left out, the same ones whenever a batch is run."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints, Mask, Train

if TYPE_CHECKING:
    from aurora.algebra.expressions import Expression

__all__ = ["SHED", "TO", "WHOLE", "Drop", "draw", "drop_tuples", "find_drops"]

# Why a tuple was left out, as the counts of what was discarded call it.
SHED = "shed"
WHOLE = 1_000_000
# Between a stream and a box, in the name of an arc.
TO = " to "
BY_VALUE = " by value"


@dataclass(frozen=True)
class Drop:
    """A drop box on a stream: so many `millionths` of its tuples are left out, or of those that meet `where`.

    With `box` it stands on the arc to that box alone; whoever else reads the stream gets all of it.

    With `of` it stands in for the drop box at that place, and counts there.

    Which ones follows from their arrival numbers: a batch that is run again leaves out the same.
    """

    stream: str
    millionths: int = WHOLE
    where: str | None = None
    box: str = ""
    of: str = ""

    @property
    def place(self) -> str:
        """The name of the stream or arc that it stands on."""
        return f"{self.stream}{TO}{self.box}" if self.box else self.stream

    @property
    def counted(self) -> str:
        """The name under which it counts what it leaves out."""
        return self.of or self.place


def find_drops(drops: Sequence[Drop]) -> dict[str, list[Drop]]:
    """The drop boxes of each stream, and of each arc."""
    found: dict[str, list[Drop]] = {}
    for drop in drops:
        found.setdefault(drop.place, []).append(drop)
    return found


def drop_tuples(train: Train, schema: Schema, drops: Sequence[Drop]) -> tuple[Train, int]:
    """The train without what its drop boxes leave out, and how many tuples that is."""
    left = train
    for drop in drops:
        if len(left):
            left = left.filter(~_chosen(left, schema, drop))
    return left, len(train) - len(left)


def draw(keys: Ints, drop: Drop) -> Mask:
    """Which tuples with these keys a drop box leaves out, as far as chance decides."""
    # By value and by chance are two lots: those that one has spared are not spared by the other.
    lot = _draw_lots(keys, zlib.crc32(f"{drop.place}{'' if drop.where is None else BY_VALUE}".encode()))
    return np.asarray(lot < np.uint64(drop.millionths))


def _chosen(train: Train, schema: Schema, drop: Drop) -> Mask:
    chosen = draw(train.keys, drop)
    if drop.where is not None:
        chosen &= _parse(drop.where, schema).matches(train.rows)
    return chosen


@lru_cache(maxsize=256)
def _parse(text: str, schema: Schema) -> "Expression":
    # Not before: each query has a process that knows its drop boxes and carries none out.
    from aurora.algebra.expressions import Expression

    return Expression.parse(text, schema, "a drop box")


def _draw_lots(keys: Ints, salt: int) -> npt.NDArray[np.uint64]:
    """A number below a million for each tuple, evenly spread, that follows from its place in the stream alone."""
    mixed = np.full(keys.shape[1], salt, np.uint64)
    for line in keys:
        # The finisher of SplitMix64, once for each line of the keys.
        mixed ^= line.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed % np.uint64(WHOLE)
