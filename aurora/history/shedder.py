"""Load shedding of a network that runs: after every batch, what its drop boxes leave out of the next ones."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from aurora.adapt.averages import HALF
from aurora.adapt.deferral import ARC
from aurora.adapt.figures import Figures
from aurora.adapt.flows import find_behind, find_flows
from aurora.adapt.overload import find_load, is_over, is_pressed
from aurora.adapt.shedding import Shedding, can_lose, find_cuts, plan_shedding
from aurora.adapt.values import Histogram
from aurora.engine.drops import SHED, TO, Drop
from aurora.engine.statistics import BatchReport
from aurora.network.network import Network, Port
from aurora.network.qos import Qos, find_zone

__all__ = ["Shedder"]

# So many batches warm up, so many in a row must be too much, and by so much a share changes before it is told again.
WARM, IN_A_ROW, NOTABLE = 5, 2, 0.25
# So much of a new count goes into a histogram.
FRESH = 0.2


class Shedder:
    """`ends` are the outputs that have sinks; what a point keeps is never shed."""

    def __init__(
        self,
        network: Network,
        ends: Mapping[str, Port],
        semantic: bool = True,
        clock: Callable[[], float] = time.monotonic,
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
        # The seconds of one core that it saves a row, as planned; and on average over as long as the figures, which are
        # of times when more was shed and of times when less was.
        self._saved = self._average = 0.0
        self._clock = clock
        self._at = clock()
        self._pressed = self._batches = 0
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

    def decide(self, figures: Figures, late: float, waited: float = 0.0) -> Shedding:
        """What is shed from now on.

        `late` is how long the slowest rows were under way, in seconds; `waited` what the rows that wait between the
        parts of the network have used up of the good zone of their outputs, 1 for all of it.
        """
        reads = {name: replace(read, live=name in self.inputs) for name, read in figures.inputs.items()}
        figures = replace(figures, inputs=reads)
        now = self._clock()
        keep = 0.5 ** ((now - self._at) / HALF)
        self._at, self._average = now, keep * self._average + (1 - keep) * self._saved
        load = find_load(figures, self._zone, self._average, late)
        self._batches += 1
        pressed = is_pressed(load, self._zone, late) or (waited > 1 and load.excess > 0)
        self._pressed = self._pressed + 1 if pressed else 0
        going = bool(self.shedding.drops)
        if going:
            on = not is_over(load, self._zone, late) or waited > 1
        else:
            # The first batches take long whatever comes, and one slow batch is no overload.
            on = self._batches > WARM and self._pressed >= IN_A_ROW
        found = Shedding()
        if on:
            flows = find_flows(self._network, figures, self._ends, self.skipping)
            cuts = find_cuts(self._network, flows, self._graphs, self._histograms)
            found = plan_shedding(cuts, self._graphs, max(load.excess, 0.0) * figures.rate)
        self._saved = found.relief / figures.rate if figures.rate else 0.0
        self._tell(found)
        self.shedding = found
        return found

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
