"""Load shedding of a network that runs: after every batch, what its drop boxes leave out of the next ones."""

import logging
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from statistics import median
from typing import Any

from aurora.adapt.deferral import ARC
from aurora.adapt.figures import Figures
from aurora.adapt.flows import find_behind, find_flows, find_row_cost
from aurora.adapt.obstacles import find_obstacles
from aurora.adapt.overload import find_load, is_over, is_pressed
from aurora.adapt.shedding import Shedding, can_lose, find_cuts, plan_shedding
from aurora.adapt.values import Histogram
from aurora.engine.drops import SHED, TO, WHOLE, Drop, find_drops
from aurora.engine.pacing import USUAL
from aurora.engine.statistics import BatchReport
from aurora.engine.work import Work
from aurora.network.network import Network, Port
from aurora.network.qos import Qos, find_zone

__all__ = ["Shedder"]

# So many batches warm up, so many in a row must be too much, and by so much a share changes before it is told again.
WARM, IN_A_ROW, NOTABLE = 5, 2, 0.25
# Where more comes than this share of all that can be done, half of what was shed comes back in so many seconds. After
# each overload that finds less than half of it still left out, that takes so many times as long, up to the seconds of
# calm after which this is forgotten.
NEAR, RELEASE, LONGER, CALM = 0.5, 20.0, 3.0, 120.0
# Seconds of one core that are not worth a drop box.
LITTLE = 0.01
# So many plans are remembered, and this is how far they may be wrong.
PLANS, STRAIN = 5, 3.0
# What a drop box really does is known from so many tuples, if it was to leave out at least this share by value.
LEAST_TUPLES, LEAST_SHARE = 100, 0.01


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
        # The streams that are handed over to the part that may wait, and to which of its boxes.
        self.handed: Mapping[str, Collection[str]] = {}
        self.shedding = Shedding()
        self._last: BatchReport | None = None
        # How many times as long as planned the last batches took, and what plans save a row, in seconds of one core.
        self._strain: deque[float] = deque(maxlen=USUAL)
        self._plans: deque[tuple[Shedding, float]] = deque(maxlen=PLANS)
        # By place: of how many of its tuples the histogram was found to tell.
        self._reaches: dict[str, float] = {}
        # The places at which others have thinned the stream before.
        self.ahead: Collection[str] = ()
        self._pressed = self._batches = 0
        # Whether what came while the run stood still, or was not there, is not worked off yet.
        self._resumed = True
        # The largest share that was told last.
        self._told = 0.0
        # The seconds of one core that were to be saved last, and when that was.
        self._excess, self._decided = 0.0, 0.0
        # The most that was to be saved since an overload began, the time in which half of it comes back, and when
        # something was shed last.
        self._peak, self._release, self._last_shed = 0.0, RELEASE, 0.0

    @cached_property
    def obstacles(self) -> tuple[str, ...]:
        """What keeps tuples that the outputs may lose, a sentence each."""
        return find_obstacles(self._network, self._ends)

    @property
    def needed(self) -> bool:
        """Whether anything can ever be shed."""
        return any(can_lose(qos) for qos in self._graphs.values())

    def recall(self, values: Mapping[str, Any]) -> None:
        """What the last run knew of the values of its outputs, where they are those of the same field and bins."""
        for name, noted in values.items():
            if name in self._histograms and isinstance(noted, dict) and noted.get("of") == self._field(name):
                self._histograms[name] = self._histograms[name].recall(noted)

    def learnt(self) -> dict[str, dict[str, Any]]:
        """The same for the next run."""
        known = {name: each for name, each in self._histograms.items() if any(each.counts)}
        return {name: {"of": self._field(name), **each.to_json()} for name, each in known.items()}

    def _field(self, output: str) -> str | None:
        qos = self._graphs[output]
        return None if qos is None or qos.value is None else qos.value.of

    def take(self, report: BatchReport) -> None:
        """Looks at the values of the rows of a batch, of any part, and at what its drop boxes have left out.

        Where some values are left out on the way to an output, what is known of it stays as it is.
        """
        chosen = [drop for drop in report.controls.drops if drop.where is not None]
        left_out = frozenset[str]().union(*(self._find_behind(drop.counted) for drop in chosen))
        for name, counts in report.work.values.items():
            if name in self._histograms and name not in left_out:
                self._histograms[name] = self._histograms[name].learn(counts, report.rows.get(name, 0))
        for place, drops in find_drops(report.controls.drops).items():
            self._measure(place, drops, report.work)

    def _measure(self, place: str, drops: Sequence[Drop], work: Work) -> None:
        """Compares what was left out at a place by value with what was to be."""
        own, stream = drops[0].counted.removeprefix(ARC), drops[0].stream
        if own in self.ahead and not drops[0].of:
            return
        asked = _conditions(drops, place)
        plans = (plan for plan, _ in reversed(self._plans) if asked == _conditions(plan.drops, own))
        share = next((plan.chosen.get(own, 0.0) for plan in plans), 0.0) if asked else 0.0
        if stream in work.inputs:
            came = work.inputs[stream].rows
        else:
            port = self._network.find(stream.removeprefix(ARC), "stream")
            came = work.boxes[port.box].given.get(port.port, 0) if port.box in work.boxes else 0
        # An arc gets what the drop boxes of the stream let through.
        came -= work.shed.get(stream, 0) if own != stream.removeprefix(ARC) else 0
        spared = prod(1 - drop.millionths / WHOLE for drop in drops if drop.where is None)
        if share < LEAST_SHARE or came * spared < LEAST_TUPLES:
            return
        left = (came - work.shed.get(drops[0].counted, 0)) / (came * spared)
        reach = min(max((1 - left) / share, 0.0), 1.0)
        self._reaches[own] = (self._reaches.get(own, reach) + reach) / 2

    def count(self, discarded: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """How many tuples were shed on the way to each output, out of the counts of all that was left out."""
        found: dict[str, int] = {}
        for place, reasons in discarded.items():
            if number := reasons.get(SHED, 0):
                for name in self._find_behind(place):
                    found[name] = found.get(name, 0) + number
        return found

    def _find_behind(self, place: str) -> frozenset[str]:
        """The ends behind a drop box there."""
        stream, _, box = place.partition(TO)
        port = self._network.find(stream.removeprefix(ARC), "stream")
        return find_behind(self._network, self._ends, port, box)

    def resume(self) -> None:
        """The run goes on after a pause. What came meanwhile waits because somebody wanted it to; what came before a
        run began, because there was none. As long as no more comes than can be done, both are worked off, not shed."""
        self._resumed = True

    def decide(
        self,
        figures: Figures,
        late: float,
        waited: float = 0.0,
        report: BatchReport | None = None,
        now: float | None = None,
    ) -> Shedding:
        """What is shed from `now` on, in seconds of the run, after the batch of a `report`.

        `late` is what the slowest rows have used up of the good zone of their outputs, 1 for all of it; `waited` the
        same of those that wait between the parts of the network.
        """
        reads = {name: replace(read, live=name in self.inputs) for name, read in figures.inputs.items()}
        figures = replace(figures, inputs=reads)
        cost = find_row_cost(self._network, figures, self._ends, self.handed)
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
        passed = 1.0 if now is None else max(now - self._decided, 0.0)
        self._decided += passed
        excess = max(load.excess, 0.0) * figures.rate / self.strain if on else 0.0
        # What one of two parts would cost if it were handed everything is not known well.
        near = load.share > NEAR or bool(self.handed)
        self._hold_on(excess, passed, near, LITTLE * figures.cores)
        found = Shedding()
        if on or self._excess:
            flows = find_flows(self._network, figures, self._ends, self.skipping, self.handed)
            # What is not tried any more may be otherwise by now.
            self._reaches = {
                place: share for place, share in self._reaches.items() if place in self.shedding.chosen
            }
            cuts = find_cuts(self._network, flows, self._graphs, self._histograms, self._reaches)
            found = plan_shedding(cuts, self._graphs, self._excess)
            found = replace(found, shortfall=min(found.shortfall, max(excess - found.relief, 0.0)))
        self._plans.append((found, found.relief / figures.rate if figures.rate else 0.0))
        self._tell(found)
        self.shedding = found
        return found

    def _hold_on(self, excess: float, passed: float, near: bool, little: float) -> None:
        """What was shed comes back bit by bit while there is little to spare: otherwise the next burst, say of windows
        that close every minute, finds a network that can do just what comes as a rule."""
        left = self._excess * 0.5 ** (passed / self._release) if near else 0.0
        if excess > max(left, little) and self._peak > 2 * left:
            self._release, self._peak = min(self._release * LONGER, CALM), 0.0
        self._excess = max(excess, left if left > little else 0.0)
        self._peak = max(self._peak, excess)
        if self._excess:
            self._last_shed = self._decided
        elif self._decided - self._last_shed > CALM:
            self._release, self._peak = RELEASE, 0.0

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
        plans = (saved for plan, saved in reversed(self._plans) if plan.drops == last.controls.drops)
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


def _conditions(drops: Sequence[Drop], place: str) -> list[tuple[int, str]]:
    """What the drop boxes at a place leave out by value, wherever they are counted."""
    return [(drop.millionths, drop.where) for drop in drops if drop.place == place and drop.where is not None]
