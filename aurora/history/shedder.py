"""Load shedding of a network that runs: after every batch, what its drop boxes leave out of the next ones."""

import logging
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median

from aurora.adapt.deferral import ARC
from aurora.adapt.figures import Figures
from aurora.adapt.flows import find_behind, find_flows, find_row_cost
from aurora.adapt.overload import find_load, is_over, is_pressed
from aurora.adapt.shedding import Shedding, can_lose, find_cuts, plan_shedding
from aurora.adapt.values import Histogram
from aurora.engine.drops import SHED, TO, Drop
from aurora.engine.pacing import USUAL
from aurora.engine.statistics import BatchReport
from aurora.network.network import Network, Port
from aurora.network.qos import Qos, find_zone

__all__ = ["Shedder"]

# So many batches warm up, so many in a row must be too much, and by so much a share changes before it is told again.
WARM, IN_A_ROW, NOTABLE = 5, 2, 0.25
# So many plans are remembered, and this is how far they may be wrong.
PLANS, STRAIN = 5, 3.0
# So much of a new count goes into a histogram.
FRESH = 0.2


class Shedder:
    """`ends` are the outputs that have sinks; what a point keeps is never shed."""

    def __init__(
        self,
        network: Network,
        ends: Mapping[str, Port],
        semantic: bool = True,
    ) -> None:
        self._network = network
        self._ends = {**ends, **{f"point {name}": point.port for name, point in network.points.items()}}
        self._graphs: dict[str, Qos | None] = {
            name: network.outputs[name].qos if name in network.outputs else None for name in self._ends
        }
        self._zone = find_zone(self._graphs.values())
        self._histograms = {
            name: Histogram.of(qos.value.graph)
            for name, qos in self._graphs.items()
            if semantic and qos is not None and qos.value is not None
        }
        # The inputs from which load can be shed, once that is known.
        self.inputs: Collection[str] = ()
        self.skipping: Collection[str] = ()
        self.shedding = Shedding()
        self._last: BatchReport | None = None
        # How many times as long as planned the last batches took, and what plans save a row, in seconds of one core.
        self._strain: deque[float] = deque(maxlen=USUAL)
        self._plans: deque[tuple[tuple[Drop, ...], float]] = deque(maxlen=PLANS)
        self._pressed = self._batches = 0
        # Whether what came while the run stood still is not worked off yet.
        self._resumed = False
        # The largest share that was told last, and when, in batches.
        self._told = 0.0

    @property
    def needed(self) -> bool:
        """Whether anything can ever be shed."""
        return any(can_lose(qos) for qos in self._graphs.values())

    def recall(self, values: Mapping[str, Sequence[float]]) -> None:
        """What the last run knew of the values of its outputs, where their graphs still have the same bins."""
        for name, counts in values.items():
            known = self._histograms.get(name)
            if known is not None and len(known.counts) == len(counts):
                self._histograms[name] = replace(known, counts=tuple(counts))

    def learnt(self) -> dict[str, tuple[float, ...]]:
        """The same for the next run."""
        return {name: known.counts for name, known in self._histograms.items() if any(known.counts)}

    def take(self, report: BatchReport) -> None:
        """Looks at the values of the rows of a batch, of any part."""
        for name, counts in report.work.values.items():
            if name in self._histograms:
                self._histograms[name] = _learn(self._histograms[name], counts, report.controls.drops)

    def count(self, discarded: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """How many tuples were shed on the way to each output, out of the counts of all that was left out."""
        found: dict[str, int] = {}
        for place, reasons in discarded.items():
            if number := reasons.get(SHED, 0):
                stream, _, box = place.partition(TO)
                port = self._network.find(stream.removeprefix(ARC), "stream")
                for name in find_behind(self._network, self._ends, port, box):
                    found[name] = found.get(name, 0) + number
        return found

    def resume(self) -> None:
        """The run goes on after a pause. What came meanwhile waits because somebody wanted it to: as long as no more
        comes than can be done, it is worked off and not shed."""
        self._resumed = True

    def decide(
        self, figures: Figures, late: float, waited: float = 0.0, report: BatchReport | None = None
    ) -> Shedding:
        """What is shed from now on, after the batch of a `report`.

        `late` is what the slowest rows have used up of the good zone of their outputs, 1 for all of it; `waited` the
        same of those that wait between the parts of the network.
        """
        reads = {name: replace(read, live=name in self.inputs) for name, read in figures.inputs.items()}
        figures = replace(figures, inputs=reads)
        cost = find_row_cost(self._network, figures, self._ends)
        under_way = 0.0
        if report is not None:
            under_way = report.work.before or 0.0
            self._compare(figures, cost, report)
        load = find_load(figures, cost * self.strain, self._zone, under_way)
        self._batches += 1
        pressed = is_pressed(load, self._zone, late) or (waited > 1 and load.excess > 0)
        self._pressed = self._pressed + 1 if pressed else 0
        going = bool(self.shedding.drops) or self.shedding.shortfall > 0
        over = is_over(load, self._zone, late) and waited <= 1
        if going:
            on = not over
        else:
            # The first batches take long whatever comes, and one slow batch is no overload.
            on = self._batches > WARM and self._pressed >= (1 if load.share > 1 else IN_A_ROW)
        if self._resumed:
            on = on and load.share > 1
            self._resumed = not (on or over)
        found = Shedding()
        if on:
            flows = find_flows(self._network, figures, self._ends, self.skipping)
            cuts = find_cuts(self._network, flows, self._graphs, self._histograms)
            excess = max(load.excess, 0.0) * figures.rate / self.strain
            found = plan_shedding(cuts, self._graphs, excess)
        self._plans.append((found.drops, found.relief / figures.rate if figures.rate else 0.0))
        self._tell(found)
        self.shedding = found
        return found

    @property
    def strain(self) -> float:
        """How many times as long batches took lately as they were planned to."""
        return min(max(median(self._strain), 1 / STRAIN), STRAIN) if self._strain else 1.0

    def _compare(self, figures: Figures, cost: float, report: BatchReport) -> None:
        """How long the batch before this one took, which is known by now, with how long it was planned to take: what is
        shed is planned by the figures of batches of which nothing was."""
        last, self._last = self._last, report
        if last is None or report.work.before is None:
            return
        if not last.work.shed:
            self._strain.clear()
            return
        plans = (saved for drops, saved in reversed(self._plans) if drops == last.controls.drops)
        planned = figures.fixed + last.work.rows * max(cost - next(plans, cost), 0.0)
        if planned > figures.fixed:
            self._strain.append(report.work.before * figures.cores / planned)

    def _tell(self, found: Shedding) -> None:
        """When it begins, when it is over, and when it has become much more or less."""
        most = max(found.shares.values(), default=0.0)
        if found.drops and (not self.shedding.drops or abs(most - self._told) > NOTABLE):
            shares = ", ".join(f"{100 * share:.0f}% of {name}" for name, share in found.shares.items())
            text = f"overload: load is shed: {shares}"
        elif self.shedding.drops and not found.drops:
            text = "the overload is over: nothing is shed any more"
        else:
            return
        self._told = most
        logging.getLogger("aurora").warning(text)


def _learn(before: Histogram, counts: list[int], drops: tuple[Drop, ...]) -> Histogram:
    """With the values of another batch. While some are left out, those that are known stay as they are."""
    total, known = sum(counts), sum(before.counts)
    if not total or any(drop.where is not None for drop in drops):
        return before
    share = [count / total for count in counts]
    if not known:
        return replace(before, counts=tuple(share))
    mixed = [(1 - FRESH) * old + FRESH * new for old, new in zip(before.counts, share, strict=True)]
    return replace(before, counts=tuple(mixed))
