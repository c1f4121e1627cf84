"""Overload: how much more work comes than can be done, and since when it counts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aurora.adapt.figures import Figures, InputFigures
from aurora.engine.pacing import find_longest
from aurora.engine.statistics import BatchReport
from aurora.network.qos import Graph

__all__ = ["Load", "find_delays", "find_late", "find_load", "is_over", "is_pressed"]

# The share of the cores that a network may plan with: the rest is for what no figure knows.
HEADROOM = 0.85
# What waits is to be worked off within so many of the longest batches.
DRAIN = 2.0
# Rows that have used up this share of their good zone, and will leave it within so many seconds if what waits goes on
# growing, are pressed.
HALF_LATE, AHEAD = 0.5, 20.0
# Where no output says how long it may take, so many seconds are too long.
ZONE = 2.0


@dataclass(frozen=True)
class Load:
    """`share`: what comes needs so many times all that can be done; `behind`: the seconds until a row that comes now
    would be out; `excess`: seconds of one core by which a row costs more than it may, for all that come, and all that
    wait, to be done, with something to spare; `slipping`: by how many seconds rows come out later with every second, as
    what waits has grown of late; `unseen`: the seconds that rows wait at sources that do not say when they came."""

    share: float
    behind: float
    excess: float
    slipping: float = 0.0
    unseen: float = 0.0


def find_delays(report: BatchReport, graphs: Mapping[str, Graph]) -> dict[str, float]:
    """How long the slowest rows of a batch were under way to each of these outputs: the 99th percentile, in seconds.

    To one that has got none they would have been as long under way as what was read: had it come out, it would have
    waited for this batch, and for about as long as a batch takes.
    """
    waited = max((read.waited[1] for read in report.work.inputs.values()), default=0.0)
    found = dict.fromkeys(graphs, waited + (report.work.before or 0.0))
    for name in graphs:
        if name in report.delays and report.delays[name].samples:
            found[name] = float(np.quantile(report.delays[name].samples, 0.99)) / 1000
    return found


def find_late(report: BatchReport, graphs: Mapping[str, Graph]) -> float:
    """How much of the good zone of its output the slowest rows have used up, where that is most; 1 for all of it.

    Each output is held to its own zone: latencies that count from the oldest tuple of a window say nothing of others.
    """
    # Where no output has a good zone that ends, the network as a whole has one.
    ending = {name: graph for name, graph in graphs.items() if not math.isinf(graph.good_until)}
    ending = ending or {"": Graph(((0.0, 1.0), (ZONE, 1.0), (2 * ZONE, 0.0)))}
    delays = find_delays(report, ending)
    return max(delay / ending[name].good_until for name, delay in delays.items())


def find_load(figures: Figures, row_cost: float, zone: float, under_way: float = 0.0) -> Load:
    """The load now, if nothing were shed: then a row costs `row_cost` seconds of one core.

    Batches keep within the good `zone`, so the shorter it is, the more of the time goes into batches as such. Where a
    source does not say what waits, it is what came since the newest row that was read. What waits was counted
    `under_way` seconds ago.
    """
    live = [read for read in figures.inputs.values() if read.live]
    arriving = sum(read.arriving for read in live)
    waiting = sum(read.waited * read.rate if read.waiting is None else read.waiting for read in live)
    longest = find_longest(_limit(zone))
    # A batch that took longer than it may has let come what another one must work off.
    waiting += arriving * max(under_way - longest, 0.0)
    trips = figures.fixed / longest + (0.0 if figures.later is None else figures.later.trips)
    can, all_of_it = (max(share * figures.cores - trips, 0.1 * figures.cores) for share in (HEADROOM, 1.0))
    others = sum(read.rate for read in figures.inputs.values() if not read.live)
    rows = arriving + waiting / (DRAIN * longest) + others
    return Load(
        (arriving + others) * row_cost / all_of_it,
        # Those before it, and then its own batch.
        (waiting + arriving * min(under_way, longest)) * row_cost / all_of_it + longest,
        row_cost - can / rows if rows else 0.0,
        max(sum(read.growth for read in live), 0.0) / arriving if arriving else 0.0,
        max(map(_find_unseen, live), default=0.0),
    )


def _find_unseen(read: InputFigures) -> float:
    """For how many seconds rows wait at a source of which those that are read seem to have come just now."""
    often = max(read.arriving, read.rate)
    return read.waiting / often if read.waiting and often and read.waited == 0 else 0.0


def is_pressed(load: Load, zone: float, late: float) -> bool:
    """Whether load must be shed: rows are late because there is too much to do, or will be because too much comes.

    `late` is how much of their good zone they have used up.
    """
    if load.slipping:
        # Otherwise it is worked off.
        late += load.unseen / _limit(zone)
    soon = load.share > 1 and load.behind > _limit(zone)
    leaving = late > HALF_LATE and late + load.slipping * AHEAD / _limit(zone) > 1
    return load.excess > 0 and (late > 1 or soon or leaving)


def is_over(load: Load, zone: float, late: float) -> bool:
    """Whether shedding can end: all that comes could be done, and nothing waits for long."""
    return load.excess <= 0 and late < 1 and load.behind < _limit(zone)


def _limit(zone: float) -> float:
    return ZONE if math.isinf(zone) else zone
