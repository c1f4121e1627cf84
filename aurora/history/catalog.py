"""The figures of a network that runs: taken batch by batch, kept in its home, and told where something is wrong."""

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aurora.adapt.averages import Averages
from aurora.adapt.figures import Figures, longest_batch
from aurora.adapt.troubles import (
    Look,
    Noticed,
    end_quiet,
    look_at,
    look_at_shortfall,
    look_at_waiting,
    notice,
)
from aurora.engine.controls import Rewrites
from aurora.engine.durable import Damaged, read_json, replace_note
from aurora.engine.statistics import BatchReport, Delays
from aurora.errors import AuroraError
from aurora.history.home import Home
from aurora.network.qos import Qos, find_zone

__all__ = ["Catalog", "read_averages", "read_figures"]

# Between two notes in the home, in seconds.
EVERY = 5.0
# A trouble of an output is over when no row has come to it for so many seconds, and none waits.
QUIET = 30.0


class Catalog:
    """Called with each batch, also of the part that may wait. Without a home the figures last as long as the run.

    `graphs` are those of the outputs; `cores`, the `live` inputs and the `most` rows of a batch are known once the
    network runs.
    """

    def __init__(
        self,
        home: Home | None,
        graphs: Mapping[str, Qos | None],
        fresh: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._graphs = graphs
        self._longest = longest_batch(find_zone(graphs.values()))
        self._clock = clock
        self.cores, self.most = 1, math.inf
        self.live: Collection[str] = ()
        self.averages = Averages() if home is None or fresh else read_averages(home)
        # Of the part that may wait, and when the seconds of its run began.
        self._later = Averages() if home is None or fresh else read_later(home)
        self._later_began = clock()
        known = {} if home is None or fresh else _read_learnt(home)
        # What the last run had learnt: orders of boxes, and for outputs how often each of their values comes.
        self.known_orders: Rewrites = known.get("orders", ())
        self.known_values: Mapping[str, Any] = known.get("values", {})
        # The same of this run: the orders of each part, and whom to ask for the values.
        self._orders: dict[str, Rewrites] = {}
        self.values: Callable[[], Mapping[str, Any]] = dict
        self._noticed = Noticed()
        # When something was seen of an output or input last.
        self._looked: dict[str, float] = {}
        # The parts of a network are called by threads of their own.
        self._noticing = threading.Lock()
        # The moment at which the seconds of the run began, and the one of the last note: the first batch is noted.
        self._began = clock()
        self._saved = -math.inf

    @property
    def troubles(self) -> list[str]:
        """What is wrong now, a sentence each."""
        self._notice({})
        return self._noticed.troubles

    def figures(self, latency: Mapping[str, tuple[float, float]] | None = None) -> Figures:
        """As they are now; the latency of the outputs is measured by the run."""
        now, later_now = self._clock() - self._began, self._clock() - self._later_began
        busy, later_busy = self.averages.find_busy(now), self._later.find_busy(later_now)
        found = self.averages.figures(self.cores, now, self.live, latency, later_busy)
        boxes = {**found.boxes, **self._later.figures(self.cores, others=busy).boxes}
        later = self._later.as_later(self.cores, later_now, busy)
        return replace(found, boxes=boxes, most=self.most, longest=self._longest, later=later)

    def take(self, report: BatchReport) -> None:
        self._began = self._clock() - report.seconds
        self.averages = self.averages.add(report)
        self._orders["urgent"] = report.controls.rewrites
        self._look(report, self.averages.figures(self.cores, live=self.live))
        if self._clock() - self._saved >= EVERY:
            self.save()

    def take_later(self, report: BatchReport) -> None:
        """A batch of the part that may wait; what it reads is not the network's input."""
        self._later_began = self._clock() - report.seconds
        self._later = self._later.add(report)
        self._orders["later"] = report.controls.rewrites
        self._look(report, Figures())

    def _look(self, report: BatchReport, figures: Figures) -> None:
        delays = {name: _quantiles(delays) for name, delays in report.delays.items() if delays.samples}
        # Stored files come in the longest trains: what waits in them is not late.
        self._notice(look_at(figures, self._graphs if self.live else {}, delays))

    def take_ages(self, ages: Mapping[str, float]) -> None:
        """How long what leads to outputs has waited between the parts of the network by now, in seconds."""
        self._notice(look_at_waiting(self._graphs if self.live else {}, ages))

    def take_shortfall(self, shortfall: float, obstacles: Sequence[str]) -> None:
        """How much more should be shed than can be, in seconds of one core, and what keeps it from being shed."""
        self._notice({"shedding": look_at_shortfall(shortfall, obstacles)})

    def _notice(self, looks: Mapping[str, Look]) -> None:
        with self._noticing:
            now = self._clock()
            self._looked.update(dict.fromkeys(looks, now))
            self._noticed = notice(self._noticed, looks)
            told = self._noticed.told
            outputs = [name for name in self._noticed.open if name.startswith("output ")]
            quiet = [name for name in outputs if self._looked[name] < now - QUIET]
            if quiet and self._has_caught_up():
                self._noticed = end_quiet(self._noticed, quiet)
                told += self._noticed.told
        for text in told:
            logging.getLogger("aurora").warning(text)

    def _has_caught_up(self) -> bool:
        """Whether nothing waits at the inputs."""
        found = look_at(self.averages.figures(self.cores, live=self.live), {}, {})
        return all(look.good for look in found.values())

    def save(self) -> None:
        """Notes the averages for the next run; figures are not worth a fault."""
        self._saved = self._clock()
        if self._home is not None:
            with suppress(OSError):
                most = None if math.isinf(self.most) else self.most
                both = replace(self.averages, boxes={**self.averages.boxes, **self._later.boxes})
                orders = [order for orders in [*self._orders.values()] for order in orders]
                learnt = {"orders": orders, "values": dict(self.values())}
                later = {} if not self._later.trips else {"later": self._later.to_json()}
                noted = {**both.to_json(), "cores": self.cores, "most": most, **learnt, **later}
                replace_note(self._home.catalog, json.dumps(noted))


def read_averages(home: Home) -> Averages:
    """What the last run of a home knew; nothing where that cannot be read."""
    return _read(home)[0]


def read_later(home: Home) -> Averages:
    """The same of the part that may wait."""
    try:
        return Averages.from_json(read_json(home.catalog)["later"])
    except (OSError, Damaged, ValueError, KeyError, TypeError, AttributeError):
        return Averages()


def read_figures(home: Home) -> Figures:
    """The same as figures, with the rates of the time when they were noted."""
    home.check_there()
    averages, noted = _read(home)
    if not averages.boxes and not averages.inputs:
        raise AuroraError(
            f"{home.folder} has no figures yet: let the network run for some batches, or give --sample NAME=csv:PATH"
        )
    cores, later = noted["cores"], read_later(home)
    found = averages.figures(cores, others=later.find_busy())
    return replace(
        found, most=noted["most"] or math.inf, later=later.as_later(cores, others=averages.find_busy())
    )


def _read(home: Home) -> tuple[Averages, dict[str, Any]]:
    try:
        noted = read_json(home.catalog)
        return Averages.from_json(noted), {"cores": noted["cores"], "most": noted["most"]}
    except (OSError, Damaged, ValueError, KeyError, TypeError, AttributeError):
        return Averages(), {}


def _read_learnt(home: Home) -> dict[str, Any]:
    """What the last run had learnt; nothing where that cannot be read, or is of a version that did not note it."""
    try:
        noted = read_json(home.catalog)
        orders = tuple(tuple(map(str, order)) for order in noted["orders"])
        values = dict(noted["values"])
    except (OSError, Damaged, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {"orders": orders, "values": values}


def _quantiles(delays: Delays) -> tuple[float, float]:
    """The median and the 99th percentile of a batch, in seconds."""
    ordered = sorted(delays.samples)
    median, most = (ordered[math.ceil(share * len(ordered)) - 1] / 1000 for share in (0.5, 0.99))
    return median, most
