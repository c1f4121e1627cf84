"""The part of a network whose outputs may wait: a Spark query of its own, fed by the points between the two parts."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from aurora.adapt.deferral import Split
from aurora.adapt.flows import find_behind
from aurora.engine.advice import Adviser
from aurora.engine.drops import Drop
from aurora.engine.plan.plan import Plan
from aurora.engine.settings import Settings
from aurora.engine.spark.session import QUERY_POOL
from aurora.engine.spark_run import Result, Stop, start_run
from aurora.engine.statistics import BatchReport, Statistics
from aurora.errors import AuroraError
from aurora.history.home import Home
from aurora.history.point_source import PointSource, reader_name
from aurora.history.points import Points
from aurora.history.query import align
from aurora.network.network import Port

__all__ = ["READER", "Deferred"]

# As whom it reads the points.
READER = "#later"
# A batch takes this share of the shortest good zone, so that it is never long in the way.
SHARE = 0.5


class Deferred:
    """It takes what waits at the arcs, unless it is held; its rows and their order are the same as ever.

    `failed` is set when it ends by a fault, which is then the fault of the whole network.
    """

    def __init__(
        self,
        split: Split,
        home: Home,
        points: Points,
        sources: Mapping[str, Any],
        sinks: Mapping[str, Any],
        settings: Settings,
        watch: Callable[[BatchReport], None] | None = None,
        adviser: Callable[[Plan], Adviser] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.network = split.later
        self.sinks = [name for name in sinks if name in split.later.outputs]
        self._sources: dict[str, PointSource] = {}
        for number, (name, point) in enumerate(split.arcs.items()):
            log = points.log(point.name)
            self._sources[name] = PointSource(
                log.folder, 0, reader_name(READER, number), mark=log.published().mark
            )
        tables = {name: sources[name] for name, entry in split.later.inputs.items() if entry.static}
        streams = self._sources if len(self._sources) < 2 else align(home, self._sources)
        own = replace(
            settings,
            checkpoint=str(home.deferred / "checkpoint"),
            rejects=f"csv:{home.deferred / 'rejects.csv'}",
            batch_seconds=min(1.0, SHARE * split.zone),
        )
        self.failed = threading.Event()
        self._clock, self._watch = clock, watch
        self._pausing = threading.Lock()
        # Whether it takes what comes while it is paused, and whether nothing more will come.
        self._stepping = self._ending = False
        # Its trains gather for so many seconds before it makes a batch of them.
        self.gathering = 0.0
        # When the last batch ended, and how late its last row was, in seconds; and when nothing waited last.
        self._last = clock(), 0.0
        self._emptied = clock()
        chosen = {name: sinks[name] for name in self.sinks}
        self._run = start_run(
            split.later,
            {**streams, **tables},
            chosen,
            own,
            self._note,
            QUERY_POOL,
            adviser=adviser,
            zone=split.zone,
        )
        threading.Thread(target=self._wait, name="deferred part", daemon=True).start()

    def _wait(self) -> None:
        try:
            self._run.wait()
        except Exception:
            # Whoever stops it hears of it.
            self.failed.set()

    def _note(self, report: BatchReport) -> None:
        delays = [min(each.samples) for each in report.delays.values() if each.samples]
        self._last = self._clock(), min(delays, default=1000 * self._last[1]) / 1000
        if self._watch is not None:
            self._watch(report)
        with self._pausing:
            # Who ends it sets both under the lock: held behind that, it would wait for ever.
            if self.gathering and not self._ending:
                # At once: a moment later it has begun the next one, with the little that came meanwhile.
                self._run.hold_if_free(True)

    def find_rest(self) -> float:
        """For how many seconds it has made no batch."""
        return self._clock() - self._last[0]

    def find_age(self, entering: float = 0.0) -> float:
        """For how long what waits at the arcs has been under way, about, in seconds; it was `entering` when it came."""
        when, late = self._last
        return self._clock() - max(when - late, self._emptied - entering)

    @property
    def held(self) -> bool:
        return self._run.controls.held

    def hold(self, held: bool) -> None:
        """From its next batch on its trains wait, or go on. Does not wait for the batch under way."""
        self._run.hold(held)

    def release(self) -> None:
        """Let its trains go on for good: nothing goes before them any more."""
        self.gathering = 0.0
        self.hold(False)

    @property
    def paused(self) -> bool:
        return self._run.controls.paused

    @property
    def is_within(self) -> bool:
        """Whether who asks is called by a batch of it."""
        return self._run.is_within

    def pause(self) -> None:
        """Makes no batch behind the one under way, for nobody wants it to. Does not wait for it."""
        self._pause(stepping=False)

    def step(self) -> None:
        """The same, but what comes to the arcs is taken, as far as `follow` is called."""
        self._pause(stepping=True)

    def _pause(self, stepping: bool) -> None:
        with self._pausing:
            # What is left is worked through, whatever was wanted before. Of its fault others hear.
            if not self._ending:
                self._stepping = stepping
                with suppress(AuroraError):
                    self._run.pause(wait=False)

    def follow(self) -> None:
        """If it is stepped and something waits, one more batch of it."""
        with self._pausing:
            if self._stepping and self.waiting():
                self.gathering = 0.0
                self._run.hold(False)
                self._run.step_if_still()

    def settle(self) -> None:
        """Waits for the batch under way, if it may make no other."""
        self._run.settle()

    def resume(self) -> None:
        with self._pausing:
            self._resume()

    def _resume(self) -> None:
        self._stepping = False
        self._run.hold(False)
        if self.paused:
            with suppress(AuroraError):
                self._run.resume()

    def discarded(self) -> Mapping[str, Mapping[str, int]]:
        return self._run.totals.discarded

    def set_drops(self, drops: tuple[Drop, ...]) -> None:
        self._run.set_drops(drops)

    def waiting(self) -> int:
        """The tuples at all arcs that it has not taken yet. Whoever asks often makes sure that their age is known."""
        found = sum(self.waiting_at().values())
        if not found:
            self._emptied = self._clock()
        return found

    def waiting_at(self) -> dict[str, int]:
        """The same for each input."""
        places = self._run.totals.places
        return {
            name: source.there() - int(places.get(name, {"row": 0})["row"])
            for name, source in self._sources.items()
        }

    def waiting_before(self) -> dict[str, int]:
        """The same for each of its boxes: what waits at the arcs that it reads."""
        at = self.waiting_at()
        return {
            box.name: sum(at.get(stream, 0) for stream in {str(port) for port in box.inputs})
            for box in self.network.boxes.values()
        }

    def outputs_waiting(self) -> frozenset[str]:
        """The outputs that what waits at the arcs leads to."""
        ends = {name: output.port for name, output in self.network.outputs.items()}
        arcs = [Port(name) for name, rows in self.waiting_at().items() if rows]
        return frozenset().union(*(find_behind(self.network, ends, arc) for arc in arcs))

    def wait(self, stop: Stop | None = None) -> Result:
        """Until it has worked through points that have ended."""
        with self._pausing:
            self._ending, self.gathering = True, 0.0
            self._resume()
        return self._run.wait(stop)

    def stop(self) -> Result:
        return self._run.stop()

    def statistics(self) -> Statistics:
        return self._run.statistics()

    def look(self, stream: str, after: int) -> tuple[pa.RecordBatch | None, int]:
        return self._run.look(stream, after)
