"""How long the next train is: the paper's train scheduling, from what the last batch took."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["LEAST", "RECENT", "Trip", "find_longest", "train_length"]

# The first train, and the shortest: one that is shorter costs more for its trip than for its tuples.
FIRST, LEAST = 100_000, 10_000
GROWTH = 2.5
# While the input of a live source waits, a batch may take so many times as long: a longer train costs less a tuple.
PATIENCE = 4
# A tuple waits for the batch before its own: one that takes this share of the shortest good zone is in time. But where
# batches are shorter than so many seconds, they are mostly trip: a late tuple is better than one that is left out.
ZONE_SHARE, SHORTEST = 0.4, 0.8
# So many batches say what one takes as a rule.
RECENT = 5


@dataclass(frozen=True)
class Trip:
    """A batch that is done: how many rows of an input it could take, how many it took, and in how many milliseconds."""

    length: int
    rows: int
    took: int | None


def find_longest(zone: float) -> float:
    """How many seconds a batch may take while rows wait, where the shortest good zone ends at `zone`."""
    return max(ZONE_SHARE * zone, SHORTEST)


def train_length(
    last: Trip | None,
    target: int,
    most: int,
    live: bool,
    longest: int | None = None,
    recent: Sequence[tuple[int, int]] = (),
) -> int:
    """Rows of each input in the next batch, so that it takes about `target` milliseconds; from 1 to `most`.

    What waits may make it longer, but not longer than `longest` milliseconds.

    A train that was full left tuples waiting: the next one may be longer. One that was not keeps up, and the next
    need not be much longer than what came.

    `recent` are the rows and milliseconds of the last few batches. One that took longer than they do as a rule, because
    it closed many windows, say, makes no shorter trains: these would only take longer to catch up.

    >>> train_length(Trip(400_000, 400_000, 4000), 1000, 10**6, True, 2000)
    200000
    >>> train_length(Trip(400_000, 400_000, 4000), 1000, 10**6, True, 2000, [(200_000, 800), (400_000, 1600)])
    500000
    """
    if last is None:
        return min(FIRST, most)
    if last.took is None or last.rows == 0:
        return min(last.length, most)
    if last.rows < last.length:
        wanted = min(last.length, 2 * last.rows)
    else:
        allowed = target * (PATIENCE if live else 1)
        usual = last.rows * median(took / rows for rows, took in recent) if recent else last.took
        fitting = min(allowed, longest or allowed) / max(min(last.took, usual), 1)
        wanted = int(last.length * min(fitting, GROWTH))
    return max(1, min(max(wanted, LEAST), most))
