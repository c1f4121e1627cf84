"""What a running network does about its load: figures after every batch, whose turn it is, and what is shed."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from aurora.adapt.deferral import ARC, Split
from aurora.adapt.figures import Figures
from aurora.adapt.flows import complete_rates
from aurora.adapt.optimiser import Optimiser
from aurora.adapt.overload import find_late
from aurora.adapt.shedding import Shedding
from aurora.engine.drops import Drop
from aurora.engine.plan.plan import Plan
from aurora.engine.settings import Settings
from aurora.engine.spark_run import SparkRun
from aurora.engine.statistics import BatchReport
from aurora.history.catalog import Catalog
from aurora.history.deferred import Deferred
from aurora.history.home import Home
from aurora.history.parts import Parts
from aurora.history.shedder import Shedder
from aurora.history.turns import Turns, find_graphs
from aurora.network.network import Network

__all__ = ["Adapting"]


class Adapting:
    """Hears of every batch of each part."""

    def __init__(
        self,
        network: Network,
        sinks: Collection[str],
        split: Split | None,
        home: Home | None,
        settings: Settings,
    ) -> None:
        self._inputs = sum(not entry.static for entry in network.inputs.values())
        self._longest = settings.batch
        self._network = network
        self._later = set() if split is None else set(split.later.boxes)
        # The streams that come into the later part, with the names of its inputs, and who reads them.
        arcs = {} if split is None else split.arcs
        self._handed = {} if split is None else split.handed
        self._arcs = {point.name.removeprefix(ARC): name for name, point in arcs.items()}
        self._readers = {
            stream: {box.name for box in network.boxes.values() if stream in map(str, box.inputs)}
            | {output.name for output in network.outputs.values() if str(output.port) == stream}
            for stream in self._arcs
        }
        self.turns = None if split is None else Turns(split, settings.batch)
        # Of the outputs that come from the urgent part, and go somewhere.
        urgent = find_graphs(network if split is None else split.urgent)
        self._urgent = {name: urgent[name] for name in urgent if name in sinks or name in network.points}
        ends = {name: output.port for name, output in network.outputs.items() if name in sinks}
        shedder = Shedder(network, ends)
        self.shedder = shedder if settings.shed and shedder.needed else None
        graphs = {name: output.qos for name, output in network.outputs.items()}
        self.catalog = Catalog(home, graphs, settings.fresh)
        if self.shedder is not None:
            self.shedder.recall(self.catalog.known_values)
            self.catalog.values = self.shedder.learnt
        self._parts: Parts | None = None

    def optimiser(self, plan: Plan) -> Optimiser:
        """That of a part; it begins with the orders that the last run had found."""
        return Optimiser(plan, self.catalog.known_orders)

    def begin(self, main: SparkRun, deferred: Deferred | None) -> Parts:
        """From now on the controls follow."""
        self.catalog.cores, self.catalog.live = main.cores, main.live
        self.catalog.most = self._longest * self._inputs
        if self.shedder is not None:
            self.shedder.inputs, self.shedder.skipping = main.sheddable, main.skipping
            self.shedder.handed = self._handed
        resumed = (lambda: None) if self.shedder is None else self.shedder.resume
        self._parts = Parts(main, deferred, self.turns, resumed, self.catalog.take_ages)
        return self._parts

    def watched(self, watch: Callable[[BatchReport], None] | None) -> Callable[[BatchReport], None]:
        """A watch of the network, or of its urgent part."""

        def told(report: BatchReport) -> None:
            self.catalog.take(report)
            if self.turns is not None:
                self.turns.note(report)
            if self.shedder is not None:
                self.shedder.take(report)
                if self._parts is not None and self.shedder.inputs:
                    late, waited = find_late(report, self._urgent), self._parts.waited()
                    # Of two parts that share the cores, how long a batch of one took says nothing of all.
                    whole = report if self._parts.deferred is None else None
                    found = self.shedder.decide(self.figures(), late, waited, whole, report.seconds)
                    self._obey(found, waited)
                    self.catalog.take_shortfall(found.shortfall, self.shedder.obstacles)
            if watch is not None:
                watch(report)

        return told

    def watch_later(self, report: BatchReport) -> None:
        """Of the part that may wait."""
        self.catalog.take_later(report)
        if self.shedder is not None:
            self.shedder.take(report)

    def figures(self, latency: Mapping[str, tuple[float, float]] | None = None) -> Figures:
        """Those of all parts; what waits in between counts as if it did not."""
        found = self.catalog.figures(latency)
        return complete_rates(self._network, found, self._later) if self._later else found

    @property
    def shedding(self) -> Shedding:
        return Shedding() if self.shedder is None else self.shedder.shedding

    @property
    def shed(self) -> dict[str, int]:
        """How many tuples were shed on the way to each output so far."""
        if self.shedder is None or self._parts is None:
            return {}
        return self.shedder.count(self._parts.discarded())

    def _obey(self, found: Shedding, waited: float) -> None:
        """Each drop box where its tuples are. One for the later part alone stands in front of the queue: what it leaves
        out is not handed over. While what waits is late, it stands behind the queue as well, and shortens it.

        Where all that can be shed is not enough, rows become late anyway, the later the less is done in a second: then
        batches may be longer, in which a row costs less.
        """
        assert self._parts is not None and self.shedder is not None
        here: list[Drop] = []
        later: list[Drop] = []
        for drop in found.drops:
            behind, in_front = self._in_later(drop), self._in_front(drop)
            if behind is None:
                here.append(drop)
            elif in_front is not None:
                here.append(in_front)
            if behind is not None and (in_front is None or waited > 1):
                later.append(behind)
        self.shedder.ahead = {drop.of for drop in here if drop.of}
        self._parts.main.set_drops(tuple(here), patient=found.shortfall > 0)
        if self._parts.deferred is not None:
            self._parts.deferred.set_drops(tuple(later))

    def _in_front(self, drop: Drop) -> Drop | None:
        """The drop box on the arc by which all of its stream is handed over to the later part; None if it has none."""
        if drop.stream not in self._handed or (drop.box and self._handed[drop.stream] != {drop.box}):
            return None
        return replace(drop, box=f"{ARC}{drop.stream}", of=drop.place)

    def _in_later(self, drop: Drop) -> Drop | None:
        """The drop box as it stands in the later part of the network; None if it belongs to the other."""
        if drop.stream.rpartition(".")[0] in self._later:
            return drop
        entry = self._arcs.get(drop.stream)
        readers = {drop.box} if drop.box else self._readers.get(drop.stream, set())
        if entry is None or not readers or not readers <= self._later:
            return None
        return replace(drop, stream=entry)
