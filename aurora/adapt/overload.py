"""Overload: how much more work comes than can be done, and since when it counts."""

import math
from dataclasses import dataclass

from aurora.adapt.figures import Figures
from aurora.engine.pacing import find_longest

__all__ = ["Load", "find_load", "is_over", "is_pressed"]

# The share of the cores that a network may plan with: the rest is for what no figure knows.
HEADROOM = 0.85
# What waits is to be worked off within so many seconds.
DRAIN = 4.0
# Where no output says how long it may take, so many seconds are too long.
ZONE = 2.0


@dataclass(frozen=True)
class Load:
    """`arriving`: rows a second that come in on live inputs; `waiting`: those that have come and are not read yet;
    `excess`: seconds of one core by which a row costs more than it may, for all that come to be done."""

    arriving: float
    waiting: float
    excess: float

    @property
    def behind(self) -> float:
        """How many seconds of input wait."""
        return self.waiting / self.arriving if self.arriving > 0 else 0.0


def find_load(figures: Figures, zone: float, saved: float, late: float) -> Load:
    """The load now, if nothing were shed; `saved` are the seconds that shedding saves a row, as it was planned.

    Batches keep within the good `zone`, so the shorter it is, the more of the time goes into batches as such. Where a
    source does not say what waits, how `late` its rows are says it.
    """
    live = [read for read in figures.inputs.values() if read.live]
    arriving = sum(max(read.rate + read.growth, 0.0) for read in live)
    waiting = sum(late * read.rate if read.waiting is None else read.waiting for read in live)
    row = figures.row_cost + saved
    longest = find_longest(ZONE if math.isinf(zone) else zone)
    can = max(HEADROOM * figures.cores - figures.fixed / longest, 0.1 * figures.cores)
    others = sum(read.rate for read in figures.inputs.values() if not read.live)
    rows = arriving + waiting / DRAIN + others
    return Load(arriving, waiting, row - can / rows if rows else 0.0)


def is_pressed(load: Load, zone: float, late: float) -> bool:
    """Whether load must be shed: more comes than can be done, and rows are late, or will be, by it."""
    limit = ZONE if math.isinf(zone) else zone
    return load.excess > 0 and (late > limit or load.behind > limit)


def is_over(load: Load, zone: float, late: float) -> bool:
    """Whether shedding can end: all that comes could be done, and nothing waits for long."""
    limit = ZONE if math.isinf(zone) else zone
    return load.excess <= 0 and load.behind < limit / 2 and late < limit
