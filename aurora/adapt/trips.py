"""How long a batch takes by its rows: a straight line through the batches of late, in spite of those that hung."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Trip", "TripCost", "fit_trips"]

# What an empty batch takes at most, in seconds: where all batches were equal, more than that belongs to their rows.
FLOOR = 0.4
# Of batches with fewer rows than these, nothing belongs to the rows.
FEW = 1000
# Two batches tell something about a row if they differ by this share of the longest.
APART = 0.2
# So many pairs of such batches are enough.
PAIRS = 3
# At least this share of what boxes and reading cost grows with the rows, whatever a few batches seem to show.
GROWING = 0.3


@dataclass(frozen=True)
class Trip:
    """A batch that is done: rows of all inputs, the seconds it took, and the seconds of one core that belong to boxes
    and to reading."""

    rows: int
    seconds: float
    worked: float


@dataclass(frozen=True)
class TripCost:
    """Seconds of one core: of a batch whatever it holds, and for each row beside boxes and reading.

    `growing` is the share of what boxes and reading cost that grows with the rows. The rest is the price of calling
    them, which is part of `fixed`: a row in a long batch costs less than one in a short batch.
    """

    fixed: float
    per_row: float
    growing: float = 1.0


def fit_trips(trips: Sequence[Trip], cores: float) -> TripCost:
    """The line through most of the batches (the median of the slopes of all pairs, long ones first).

    Where batches are few, short or alike, no line can be seen: then a batch costs what an empty one does at most, and
    what is more belongs to its rows, if it has many. The time of boxes and reading is fitted in the same way.

    >>> trips = [Trip(n, 0.5 + n / 100_000, n / 200_000) for n in (10_000, 50_000, 100_000, 90_000, 20_000)]
    >>> found = fit_trips([*trips, Trip(30_000, 9.0, 0.15)], cores=2)
    >>> round(found.fixed, 3), round(found.per_row * 1e6, 3), round(found.growing, 3)
    (1.0, 15.0, 1.0)
    """
    if not trips:
        return TripCost(0.0, 0.0)
    rows = np.array([trip.rows for trip in trips], np.float64)
    seconds = np.array([trip.seconds for trip in trips])
    worked = np.array([trip.worked for trip in trips])
    usual_work = float(worked.sum() / rows.sum()) if rows.sum() else 0.0
    work_slope = _slope(rows, worked)
    per_row = usual_work if work_slope is None else min(max(work_slope, GROWING * usual_work), usual_work)
    slope = _slope(rows, seconds)
    if slope is None:
        usual, length = float(np.median(seconds)), float(np.median(rows))
        slope = 0.0 if length < FEW else max(usual - FLOOR, 0.0) / length
    slope = max(slope, per_row / cores)
    fixed = max(float(np.median(seconds - slope * rows)), 0.0)
    growing = per_row / usual_work if usual_work else 1.0
    return TripCost(fixed * cores, max(slope * cores - per_row, 0.0), growing)


def _slope(rows: np.ndarray, seconds: np.ndarray) -> float | None:
    """Seconds for a row; None if too few pairs of batches differ enough."""
    first, second = np.triu_indices(len(rows), 1)
    apart = np.abs(rows[second] - rows[first])
    telling = apart >= max(APART * rows.max(), FEW)
    if telling.sum() < PAIRS:
        return None
    run, rise = (rows[second] - rows[first])[telling], (seconds[second] - seconds[first])[telling]
    slopes, weights = rise / run, np.abs(run)
    order = np.argsort(slopes)
    reached = np.cumsum(weights[order])
    return float(slopes[order][np.searchsorted(reached, reached[-1] / 2)])
