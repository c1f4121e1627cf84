"""How long the next train is: the paper's train scheduling, from what the last batch took."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

__all__ = ["LEAST", "RECENT", "USUAL", "Trip", "find_least", "find_longest", "train_length"]

# The first train, and the shortest: one that is shorter costs more for its trip than for its tuples.
FIRST, LEAST = 100_000, 10_000
GROWTH = 4.0
# A train that is to tell what a row costs is so many times as long as the last one: the others wait for all of it.
LONGER = 1.5
# While the input of a live source waits, a batch may take so many times as long: a longer train costs less a tuple.
PATIENCE = 4
# A tuple waits for the batch before its own: one that takes this share of the shortest good zone is in time. But where
# batches are shorter than so many seconds, they are mostly trip: a late tuple is better than one that is left out.
ZONE_SHARE, SHORTEST = 0.4, 0.8
# So many batches are remembered, and so many say what one takes as a rule.
RECENT, USUAL = 20, 5
# Two batches tell something about a row if they differ by this share of the longest; so many pairs are enough.
APART, PAIRS = 0.2, 3


@dataclass(frozen=True)
class Trip:
    """A batch that is done: how many rows of an input it could take, how many it took, and in how many milliseconds.

    `left` are those that it left waiting: a source may give less than a full train, for example whole files only.
    """

    length: int
    rows: int
    took: int | None
    left: int = 0


def find_longest(zone: float) -> float:
    """How many seconds a batch may take while rows wait, where the shortest good zone ends at `zone`."""
    return max(ZONE_SHARE * zone, SHORTEST)


def find_least(fixed: float, per_row: float) -> float:
    """The shortest train that is worth its trip, which costs `fixed`: its rows cost as much as the trip does.

    >>> round(find_least(0.5, 5e-6)), find_least(0.01, 5e-6)
    (100000, 10000)
    """
    return max(LEAST, fixed / per_row) if per_row > 0 else LEAST


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

    A train that left tuples waiting is followed by a longer one if that takes no longer than it may. One that did not
    keeps up, and the next need not be much longer than what came, or than what is known to be in time.

    `recent` are the rows and milliseconds of the last batches. One that took longer than others do, because it closed
    many windows, say, makes no shorter trains: these would only take longer to catch up. And where batches are mostly
    trip, shorter ones would take as long and carry less.

    >>> train_length(Trip(400_000, 400_000, 4000), 1000, 10**6, True, 2000)
    200000
    >>> train_length(Trip(400_000, 400_000, 4000), 1000, 10**6, True, 2000, [(200_000, 800), (400_000, 1600)])
    500000
    >>> train_length(Trip(10_000, 10_000, 2500), 1000, 10**6, True, 2000, [(10_000, 2500)] * 5)
    15000
    """
    if last is None:
        return min(FIRST, most)
    if last.took is None or last.rows == 0:
        return min(last.length, most)
    allowed = target * (PATIENCE if live else 1)
    line = _find_line(recent)
    if last.rows < last.length and not last.left:
        known = 0 if line is None or line[1] <= 0 else int((allowed - line[0]) / line[1])
        wanted = min(last.length, max(2 * last.rows, known))
    else:
        per_row = [took / rows for rows, took in recent[-USUAL:]]
        usual = last.rows * median(per_row) if per_row else last.took
        fitting = min(allowed, longest or allowed) / max(min(last.took, usual), 1)
        grown = int(last.length * GROWTH)
        telling = int(last.length * LONGER)
        wanted = min(max(int(last.length * fitting), _find_worthy(line, len(recent), telling)), grown)
    return max(1, min(max(wanted, LEAST), most))


def _find_worthy(line: tuple[float, float] | None, known: int, unknown: int) -> int:
    """The shortest train that is worth its trip, by the line of as many batches as are known.

    Where these are alike, or rows seem to cost nothing, a longer train will tell.
    """
    if known < USUAL:
        return 0
    return unknown if line is None or line[1] <= 0 else int(find_least(max(line[0], 0.0), line[1]))


def _find_line(recent: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Milliseconds for the trip and for a row: medians over batches, and over pairs that differ; None if too few do."""
    apart = APART * max((rows for rows, _ in recent), default=0)
    slopes = [
        (one[1] - other[1]) / (one[0] - other[0])
        for one, other in combinations(recent, 2)
        if abs(one[0] - other[0]) >= max(apart, 1)
    ]
    if len(slopes) < PAIRS:
        return None
    slope = median(slopes)
    return median(took - slope * rows for rows, took in recent), slope
