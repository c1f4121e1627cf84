"""A network at work in one part or in two: one that cannot wait, and one that waits while the first is pressed."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from aurora.adapt.deferral import ARC
from aurora.engine.controls import Controls
from aurora.engine.drops import TO
from aurora.engine.spark_run import Result, SparkRun, Stop
from aurora.engine.statistics import Statistics
from aurora.errors import AuroraError
from aurora.history.deferred import Deferred
from aurora.history.turns import Turns

__all__ = ["Either", "Parts"]

# Between two looks at whose turn it is, in seconds, while no batch ends.
TICK = 0.25


class Either:
    """Set when one of several is."""

    def __init__(self, *stops: Stop | None) -> None:
        self._stops = [stop for stop in stops if stop is not None]

    def is_set(self) -> bool:
        return any(stop.is_set() for stop in self._stops)


class Parts:
    """What the run of a network is to its user, in however many parts it runs.

    `resumed` is called when it goes on after a pause, and `look` again and again with how old what waits at the arcs
    is, in seconds, by the output that it leads to.
    """

    def __init__(
        self,
        main: SparkRun,
        deferred: Deferred | None,
        turns: Turns | None,
        resumed: Callable[[], None] = lambda: None,
        look: Callable[[Mapping[str, float]], None] = lambda _: None,
    ) -> None:
        self.main = main
        self.deferred = deferred
        self._turns = turns
        self._resumed, self._look = resumed, look
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, name="turns", daemon=True)
        if deferred is not None:
            self._ticking.start()

    def _tick(self) -> None:
        assert self.deferred is not None and self._turns is not None
        told = ""
        while not self._over.wait(TICK) and self.main.state != "stopped":
            try:
                self._turns.decide(self.main, self.deferred)
                self._look(self._find_ages())
                told = ""
            except Exception as fault:
                # Without turns, a part that is held would be held for good. A disk that is full may have room again.
                text = f"whose turn it is cannot be said: {fault}"
                if text != told and self.main.state != "stopped":
                    logging.getLogger("aurora").warning(text)
                told = text
        if not self._over.is_set():
            # Its input has ended, and nobody waits for that: nothing goes before what is left any more.
            self.deferred.release()

    def _find_ages(self) -> dict[str, float]:
        """How old what waits at the arcs is, by the outputs that it leads to."""
        assert self.deferred is not None and self._turns is not None
        # What somebody has paused waits as long as he likes.
        behind = () if self.deferred.paused else self.deferred.outputs_waiting()
        return dict.fromkeys(behind, self.deferred.find_age(self._turns.entering)) if behind else {}

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
        # Before its next batch.
        self._resumed()
        self.main.resume()
        if self.deferred is not None:
            self.deferred.resume()

    def step(self, batches: int) -> None:
        """So many batches of the urgent part; the other one takes what comes of them, and stands still again."""
        self._resumed()
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
        return self.deferred.find_age(self._turns.entering) / self._turns.later_zone

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
    """The figures of both parts; the batches and inputs are those of the urgent one. The controls stand under the names
    that the network has."""

    def both(name: str) -> dict[str, object]:
        first, second = getattr(seen, name), getattr(later, name)
        own = {key: value for key, value in first.items() if not key.startswith(ARC)}
        return {**own, **second}

    names = ("rows", "taken", "given", "nanoseconds", "states", "output_rates", "latency", "delays")
    found = replace(seen, **{name: both(name) for name in names})  # type: ignore[arg-type]
    return replace(
        found,
        changes=(*seen.changes, *later.changes),
        controls=_merge_controls(seen.controls, later.controls),
    )


def _merge_controls(urgent: Controls, later: Controls) -> Controls:
    """It is held if either part is; its pauses and trains are those of the urgent one."""
    here = (replace(drop, box=drop.of.partition(TO)[2], of="") if drop.of else drop for drop in urgent.drops)
    drops = (replace(drop, stream=drop.stream.removeprefix(ARC)) for drop in later.drops)
    taps = (stream.removeprefix(ARC) for stream in later.taps)
    return replace(
        urgent,
        held=urgent.held or later.held,
        taps=(*urgent.taps, *taps),
        drops=tuple(dict.fromkeys((*here, *drops))),
        rewrites=(*urgent.rewrites, *later.rewrites),
    )


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
