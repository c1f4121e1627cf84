"""Whose turn it is in a network in two parts, after every batch of the urgent one."""

import time
from collections import deque
from collections.abc import Callable
from statistics import median

from aurora.adapt.deferral import ARC, Split
from aurora.adapt.overload import find_delays
from aurora.adapt.turns import Standing, find_gathering, must_hold
from aurora.engine.pacing import USUAL
from aurora.engine.spark_run import SparkRun
from aurora.engine.statistics import BatchReport
from aurora.history.deferred import Deferred
from aurora.network.network import Network
from aurora.network.qos import Graph, find_zone

__all__ = ["Turns", "find_graphs"]

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


class Turns:
    """After every batch of the urgent part: whether the other one goes on."""

    def __init__(self, split: Split, longest: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._urgent, self._later = find_graphs(split.urgent), find_graphs(split.later)
        self._bound = BOUND * longest
        self._clock = clock
        # How long the slowest rows to each urgent output were under way.
        self._delays = dict.fromkeys(self._urgent, 0.0)
        # How long what comes to the arcs has been under way by then.
        self.entering = 0.0
        # Whether rows wait at the inputs. Where they do not, it keeps up, and nothing need wait for it.
        self._behind = False
        self.later_zone = find_zone(output.qos for output in split.later.outputs.values())
        self._reported = self._took = 0.0
        # What its last batches took, in seconds.
        self._recent: deque[float] = deque(maxlen=USUAL)
        # How much of its good zone the urgent part uses up as a rule.
        self._pressed = 0.0

    def note(self, report: BatchReport) -> None:
        """A batch of the urgent part is done."""
        now = self._clock()
        self._took, self._reported = now - self._reported if self._reported else 0.0, now
        if report.work.before is not None:
            self._recent.append(report.work.before)
        self._delays = find_delays(report, self._urgent)
        pressed = max((one.pressed for one in self._stand()), default=0.0)
        self._pressed += (min(pressed, 1.0) - self._pressed) * (1 - 0.5 ** (self._took / HALF_LIFE))
        left = [read.waiting or 0 for read in report.work.inputs.values()]
        self._behind = sum(left) > BEHIND * max(report.work.rows, 1)
        come = [max(at.samples) for name, at in report.delays.items() if name.startswith(ARC) and at.samples]
        self.entering = max(come, default=1000 * self.entering) / 1000

    def _stand(self, under_way: float = 0.0) -> list[Standing]:
        """The urgent outputs, each by its own graph."""
        return [Standing(graph, max(self._delays[name], under_way)) for name, graph in self._urgent.items()]

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
        age = deferred.find_age(self.entering) if waiting else 0.0
        later = [Standing(graph, age) for graph in self._later.values()]
        pressed = (self._behind or self._is_long(under_way)) and must_hold(
            deferred.held, self._stand(under_way), later
        )
        # Past the ends of their graphs its outputs have nothing left to lose; still, it is never starved.
        pressed = pressed and min(deferred.find_rest(), age) < self.later_zone
        # What has waited for long, or has little room, is taken as soon as may be.
        soon = idle or waiting > self._bound / 4 or age > self.later_zone / 2
        deferred.gathering = 0.0 if soon else find_gathering(self._pressed, self.later_zone)
        deferred.hold(not idle and (pressed or deferred.find_rest() < deferred.gathering))

    def _is_long(self, seconds: float) -> bool:
        """Whether a batch that has been under way for so long takes longer than one does as a rule."""
        return bool(self._recent) and seconds > LONG * median(self._recent)


def find_graphs(network: Network) -> dict[str, Graph]:
    """The latency graphs of the outputs."""
    worth = {name: output.qos for name, output in network.outputs.items() if output.qos is not None}
    return {name: qos.latency for name, qos in worth.items() if qos.latency is not None}
