"""Overload: how much more work comes than can be done, and since when it counts."""

import math
from dataclasses import dataclass

from aurora.adapt.figures import Figures
from aurora.engine.pacing import find_longest

__all__ = ["Load", "find_load", "is_over", "is_pressed"]

# The share of the cores that a network may plan with: the rest is for what no figure knows.
HEADROOM = 0.85
# What waits is to be worked off within so many of the longest batches.
DRAIN = 2.0
# Where no output says how long it may take, so many seconds are too long.
ZONE = 2.0


@dataclass(frozen=True)
class Load:
    """`share`: what comes needs so many times all that can be done; `behind`: the seconds until a row that comes now
    would be out; `excess`: seconds of one core by which a row costs more than it may, for all that come, and all that
    wait, to be done, with something to spare."""

    share: float
    behind: float
    excess: float


def find_load(figures: Figures, row_cost: float, zone: float, late: float, under_way: float = 0.0) -> Load:
    """The load now, if nothing were shed: then a row costs `row_cost` seconds of one core.

    Batches keep within the good `zone`, so the shorter it is, the more of the time goes into batches as such. Where a
    source does not say what waits, how `late` its rows are says it. What waits was counted `under_way` seconds ago.
    """
    live = [read for read in figures.inputs.values() if read.live]
    arriving = sum(read.arriving for read in live)
    waiting = sum(late * read.rate if read.waiting is None else read.waiting for read in live)
    longest = find_longest(_limit(zone))
    # A batch that took longer than it may has let come what another one must work off.
    waiting += arriving * max(under_way - longest, 0.0)
    can, all_of_it = (
        max(share * figures.cores - figures.fixed / longest, 0.1 * figures.cores) for share in (HEADROOM, 1.0)
    )
    others = sum(read.rate for read in figures.inputs.values() if not read.live)
    rows = arriving + waiting / (DRAIN * longest) + others
    return Load(
        (arriving + others) * row_cost / all_of_it,
        # Those before it, and then its own batch.
        (waiting + arriving * min(under_way, longest)) * row_cost / all_of_it + longest,
        row_cost - can / rows if rows else 0.0,
    )


def is_pressed(load: Load, zone: float, late: float) -> bool:
    """Whether load must be shed: rows are late because there is too much to do, or will be because too much comes."""
    soon = load.share > 1 and load.behind > _limit(zone)
    return load.excess > 0 and (late > _limit(zone) or soon)


def is_over(load: Load, zone: float, late: float) -> bool:
    """Whether shedding can end: all that comes could be done, and nothing waits for long."""
    return load.excess <= 0 and max(late, load.behind) < _limit(zone)


def _limit(zone: float) -> float:
    return ZONE if math.isinf(zone) else zone
