"""A network at work in one part or in two: one that cannot wait, and one that waits while the first is pressed."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np
import pyarrow as pa

from aurora.adapt.deferral import ARC, Split
from aurora.adapt.turns import Standing, find_gathering, must_hold
from aurora.engine.pacing import USUAL
from aurora.engine.spark_run import Result, SparkRun, Stop
from aurora.engine.statistics import BatchReport, Statistics
from aurora.errors import AuroraError
from aurora.history.deferred import Deferred
from aurora.network.network import Network
from aurora.network.qos import Graph, find_zone

__all__ = ["Either", "Parts", "Turns", "find_late"]

# Between two looks at whose turn it is, in seconds, while no batch ends.
TICK = 0.25
# The urgent part is idle when no batch of it has ended for so many seconds.
IDLE = 1.0
# Rows wait at the inputs if they are more than this share of what a batch took.
BEHIND = 0.1
# A batch of the urgent part is long when it takes so many times as long as the median of those before.
LONG = 1.5
# After so many seconds, half of how pressed it was is forgotten.
HALF_LIFE = 5.0
# So many times the longest train may wait at the arcs; then the urgent part waits as well.
BOUND = 32


class Either:
    """Set when one of several is."""

    def __init__(self, *stops: Stop | None) -> None:
        self._stops = [stop for stop in stops if stop is not None]

    def is_set(self) -> bool:
        return any(stop.is_set() for stop in self._stops)


class Turns:
    """After every batch of the urgent part: whether the other one goes on."""

    def __init__(self, split: Split, longest: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._urgent, self._later = _find_graphs(split.urgent), _find_graphs(split.later)
        self._bound = BOUND * longest
        self._clock = clock
        self._late = 0.0
        # Whether rows wait at the inputs. Where they do not, it keeps up, and nothing need wait for it.
        self._behind = False
        self.later_zone = find_zone(output.qos for output in split.later.outputs.values())
        self._reported = self._took = 0.0
        # What its last batches took, in seconds.
        self._recent: deque[float] = deque(maxlen=USUAL)
        # How much of its good zone the urgent part uses up as a rule.
        self._pressed = 0.0

    def note(self, report: BatchReport) -> None:
        """A batch of the urgent part is done: what is late at any of its ends, the arcs among them, is late at all."""
        now = self._clock()
        self._took, self._reported = now - self._reported if self._reported else 0.0, now
        if report.work.before is not None:
            self._recent.append(report.work.before)
        self._late = find_late(report)
        pressed = max((Standing(graph, self._late).pressed for graph in self._urgent), default=0.0)
        self._pressed += (min(pressed, 1.0) - self._pressed) * (1 - 0.5 ** (self._took / HALF_LIFE))
        left = [read.waiting or 0 for read in report.work.inputs.values()]
        self._behind = sum(left) > BEHIND * max(report.work.rows, 1)

    def decide(self, main: SparkRun, deferred: Deferred) -> None:
        waiting = deferred.waiting()
        main.hold(waiting > (self._bound / 2 if main.controls.held else self._bound))
        if deferred.paused:
            deferred.follow()
            return
        since = self._clock() - self._reported
        at_work = main.at_work
        # Without a batch for a while there is nothing to do that would be urgent.
        idle = not at_work and since > max(2 * self._took, IDLE)
        # What came while a long batch is under way has waited for as long, and nobody has counted it yet.
        under_way = since if at_work and self._reported else 0.0
        age = deferred.find_age() if waiting else 0.0
        urgent = [Standing(graph, max(self._late, under_way)) for graph in self._urgent]
        later = [Standing(graph, age) for graph in self._later]
        pressed = (self._behind or self._is_long(under_way)) and must_hold(deferred.held, urgent, later)
        # What has waited for long, or has little room, is taken as soon as may be.
        soon = idle or waiting > self._bound / 4 or age > self.later_zone / 2
        deferred.gathering = 0.0 if soon else find_gathering(self._pressed, self.later_zone)
        deferred.hold(not idle and (pressed or deferred.find_rest() < deferred.gathering))

    def _is_long(self, seconds: float) -> bool:
        """Whether a batch that has been under way for so long takes longer than one does as a rule."""
        return bool(self._recent) and seconds > LONG * median(self._recent)


def _find_graphs(network: Network) -> list[Graph]:
    """The latency graphs of the outputs."""
    worth = [output.qos for output in network.outputs.values() if output.qos is not None]
    return [qos.latency for qos in worth if qos.latency is not None]


def find_late(report: BatchReport) -> float:
    """How long the slowest rows of a batch were under way, at whatever output: the 99th percentile, in seconds."""
    samples = [delays.samples for delays in report.delays.values() if delays.samples]
    return max((float(np.quantile(each, 0.99)) / 1000 for each in samples), default=0.0)


class Parts:
    """What the run of a network is to its user, in however many parts it runs."""

    def __init__(self, main: SparkRun, deferred: Deferred | None, turns: Turns | None) -> None:
        self.main = main
        self.deferred = deferred
        self._turns = turns
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, name="turns", daemon=True)
        if deferred is not None:
            self._ticking.start()

    def _tick(self) -> None:
        assert self.deferred is not None and self._turns is not None
        while not self._over.wait(TICK) and self.main.state != "stopped":
            self._turns.decide(self.main, self.deferred)

    def wait(self, stop: Stop | None) -> Result:
        """Until the input has ended, or `stop` is set; what waits at the arcs is left."""
        if self.deferred is None:
            return self.main.wait(stop)
        return self.main.wait(Either(stop, self.deferred.failed))

    def wait_for_later(self, stop: Stop | None) -> None:
        """Until what waits at the arcs, which have ended, is worked through."""
        if self.deferred is not None:
            self._over.set()
            # Its last word is that nothing waits any more.
            self._ticking.join()
            self.deferred.wait(stop)

    def stop(self, end: Callable[[], None]) -> Result:
        """Ends both parts; the first fault is that of the network. Calls `end` if its input has ended."""
        self._over.set()
        try:
            result = self.main.stop()
            if result.ended:
                end()
        finally:
            later = None if self.deferred is None else self.deferred.stop()
        return result if later is None else _merge_results(result, later, sum(self.waiting().values()))

    def pause(self) -> None:
        """Returns when all parts stand still; from within a batch of one of them, at once."""
        self.main.pause(wait=False)
        if self.deferred is not None:
            self.deferred.pause()
        if self.main.is_within or (self.deferred is not None and self.deferred.is_within):
            return
        self.main.settle()
        if self.deferred is not None:
            self.deferred.settle()

    def resume(self) -> None:
        self.main.resume()
        if self.deferred is not None:
            self.deferred.resume()

    def step(self, batches: int) -> None:
        """So many batches of the urgent part; the other one takes what comes of them, and stands still again."""
        self.main.step(batches)
        if self.deferred is not None:
            self.deferred.step()

    def look(self, stream: str, after: int) -> tuple[pa.RecordBatch | None, int]:
        try:
            return self.main.look(stream, after)
        except AuroraError:
            box = stream.rpartition(".")[0]
            if self.deferred is None or not {stream, box} & self.deferred.network.boxes.keys():
                raise
            return self.deferred.look(stream, after)

    def statistics(self) -> Statistics:
        seen = self.main.statistics()
        return seen if self.deferred is None else _merge(seen, self.deferred.statistics())

    def waited(self) -> float:
        """How much of the good zone of their outputs the tuples at the arcs have used up; 1 for all of it."""
        if self.deferred is None or self._turns is None or not self.deferred.waiting():
            return 0.0
        return self.deferred.find_age() / self._turns.later_zone

    def discarded(self) -> dict[str, Counter[str]]:
        """What was left out so far in all parts, by place and reason."""
        found = {name: Counter(reasons) for name, reasons in self.main.totals.discarded.items()}
        for name, reasons in (self.deferred.discarded() if self.deferred is not None else {}).items():
            found.setdefault(name, Counter()).update(reasons)
        return found

    def waiting(self) -> dict[str, int]:
        """The tuples that wait at each arc between the parts, by the stream."""
        if self.deferred is None:
            return {}
        return {name.removeprefix(ARC): rows for name, rows in self.deferred.waiting_at().items()}

    def waiting_before(self) -> dict[str, int]:
        """The same for each box that reads such an arc."""
        return {} if self.deferred is None else self.deferred.waiting_before()


def _merge(seen: Statistics, later: Statistics) -> Statistics:
    """The figures of both parts; the batches and inputs are those of the urgent one."""

    def both(name: str) -> dict[str, object]:
        first, second = getattr(seen, name), getattr(later, name)
        own = {key: value for key, value in first.items() if not key.startswith(ARC)}
        return {**own, **second}

    names = ("rows", "taken", "given", "nanoseconds", "states", "output_rates", "latency", "delays")
    found = replace(seen, **{name: both(name) for name in names})  # type: ignore[arg-type]
    return replace(found, changes=(*seen.changes, *later.changes))


def _merge_results(result: Result, later: Result, waiting: int) -> Result:
    totals = result.totals.copy()
    totals.rows.update(later.totals.rows)
    for name in [name for name in totals.rows if name.startswith(ARC)]:
        del totals.rows[name]
    for box, reasons in later.totals.discarded.items():
        totals.discarded.setdefault(box, type(reasons)()).update(reasons)
    ended = result.ended and later.ended
    totals.end = ended
    return Result(
        totals,
        max(result.seconds, later.seconds),
        ended,
        result.already and later.already,
        result.goes_on or later.goes_on,
        waiting,
    )
