"""Load shedding of a network that runs: after every batch, what its drop boxes leave out of the next ones."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace

from aurora.adapt.figures import Figures
from aurora.adapt.flows import find_flows
from aurora.adapt.overload import find_load, is_over, is_pressed
from aurora.adapt.shedding import Shedding, can_lose, find_cuts, plan_shedding
from aurora.adapt.values import Histogram
from aurora.engine.drops import Drop
from aurora.engine.statistics import BatchReport
from aurora.network.network import Network, Port
from aurora.network.qos import Qos, find_zone

__all__ = ["Shedder"]

# So much of a new count goes into a histogram.
FRESH = 0.2


class Shedder:
    """`ends` are the outputs that have sinks; what a point keeps is never shed."""

    def __init__(self, network: Network, ends: Mapping[str, Port], semantic: bool = True) -> None:
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
        # The seconds of one core that it saves a row, as planned.
        self._saved = 0.0
        # How many tuples were shed on the way to each output.
        self.shed: dict[str, int] = {}

    @property
    def needed(self) -> bool:
        """Whether anything can ever be shed."""
        return any(can_lose(qos) for qos in self._graphs.values())

    def take(self, report: BatchReport) -> None:
        """Counts what a batch of any part has shed, and the values of its rows."""
        for stream, number in report.work.shed.items():
            for name in self._behind(stream):
                self.shed[name] = self.shed.get(name, 0) + number
        for name, counts in report.work.values.items():
            if name in self._histograms:
                self._histograms[name] = _learn(self._histograms[name], counts, report.controls.drops)

    def _behind(self, stream: str) -> frozenset[str]:
        """The outputs that a stream leads to."""
        port = self._network.find(stream, "stream")
        found, pending = set[str](), [port]
        while pending:
            port = pending.pop()
            found |= {name for name, end in self._ends.items() if end == port}
            pending += [
                Port(box.name, name)
                for box in self._network.boxes.values()
                if port in box.inputs
                for name in box.operator.outputs
            ]
        return frozenset(found)

    def decide(self, figures: Figures, late: float) -> Shedding:
        """What is shed from now on; `late` is how long the slowest rows were under way, in seconds."""
        reads = {name: replace(read, live=name in self.inputs) for name, read in figures.inputs.items()}
        figures = replace(figures, inputs=reads)
        load = find_load(figures, self._zone, self._saved, late)
        going = bool(self.shedding.drops)
        if (not going and not is_pressed(load, self._zone, late)) or (
            going and is_over(load, self._zone, late)
        ):
            found = Shedding()
        else:
            flows = find_flows(self._network, figures, self._ends, self.skipping)
            cuts = find_cuts(self._network, flows, self._graphs, self._histograms)
            found = plan_shedding(cuts, self._graphs, max(load.excess, 0.0) * figures.rate)
        self._saved = found.relief / figures.rate if figures.rate else 0.0
        if bool(found.drops) != going:
            self._tell(found)
        self.shedding = found
        return found

    def _tell(self, found: Shedding) -> None:
        if found.drops:
            shares = ", ".join(f"{100 * share:.0f}% of {name}" for name, share in found.shares.items())
            text = f"overload: load is shed: {shares}"
        else:
            text = "the overload is over: nothing is shed any more"
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
