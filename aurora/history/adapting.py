"""What a running network does about its load: figures after every batch, whose turn it is, and what is shed."""

from collections.abc import Callable, Collection, Mapping

from aurora.adapt.deferral import Split
from aurora.adapt.figures import Figures
from aurora.adapt.shedding import Shedding
from aurora.engine.drops import Drop
from aurora.engine.settings import Settings
from aurora.engine.spark_run import SparkRun
from aurora.engine.statistics import BatchReport
from aurora.history.catalog import Catalog
from aurora.history.deferred import Deferred
from aurora.history.home import Home
from aurora.history.parts import Parts, Turns, find_late
from aurora.history.shedder import Shedder
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
        self._later = set() if split is None else set(split.later.boxes)
        self.turns = None if split is None else Turns(split, settings.batch)
        ends = {name: output.port for name, output in network.outputs.items() if name in sinks}
        shedder = Shedder(network, ends)
        self.shedder = shedder if settings.shed and shedder.needed else None
        graphs = {name: output.qos for name, output in network.outputs.items()}
        self.catalog = Catalog(home, graphs, settings.fresh)
        self._parts: Parts | None = None

    def begin(self, main: SparkRun, deferred: Deferred | None) -> Parts:
        """From now on the controls follow."""
        self.catalog.cores, self.catalog.live = main.cores, main.live
        self.catalog.most = self._longest * self._inputs
        if self.shedder is not None:
            self.shedder.inputs, self.shedder.skipping = main.sheddable, main.skipping
        self._parts = Parts(main, deferred, self.turns)
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
                    self._set_drops(self.shedder.decide(self.figures(), find_late(report)).drops)
            if watch is not None:
                watch(report)

        return told

    def watch_later(self, report: BatchReport) -> None:
        """Of the part that may wait."""
        self.catalog.take_later(report)
        if self.shedder is not None:
            self.shedder.take(report)

    def figures(self, latency: Mapping[str, tuple[float, float]] | None = None) -> Figures:
        """Those of all parts."""
        return self.catalog.figures(latency)

    @property
    def shedding(self) -> Shedding:
        return Shedding() if self.shedder is None else self.shedder.shedding

    @property
    def shed(self) -> dict[str, int]:
        """How many tuples were shed on the way to each output, in this run."""
        return {} if self.shedder is None else self.shedder.shed

    def _set_drops(self, drops: tuple[Drop, ...]) -> None:
        """Each where its stream is made."""
        assert self._parts is not None
        later = tuple(drop for drop in drops if drop.stream.rpartition(".")[0] in self._later)
        self._parts.main.set_drops(tuple(drop for drop in drops if drop not in later))
        if self._parts.deferred is not None:
            self._parts.deferred.set_drops(later)
