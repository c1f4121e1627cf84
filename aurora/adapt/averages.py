"""Moving averages of what the batches did: what is longer ago counts less, and what is quiet keeps its figures."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aurora.adapt.figures import BoxFigures, Figures, InputFigures, LaterFigures, OutputFigures
from aurora.adapt.trips import Trip, fit_trips
from aurora.engine.statistics import BatchReport
from aurora.engine.work import Work

__all__ = ["Averages"]

# After so many seconds a batch counts half; for what comes in, which changes at once, much sooner.
HALF, COMING = 5.0, 1.0
# What is longer apart than this counts as this: figures of before a pause still say more than one batch does.
PAUSE = 20.0
# The first batches of a run warm up: what they take says little.
WARM = 2
COLD = 0.01
# So many batches are looked at to see what a row costs.
TRIPS = 60


@dataclass(frozen=True)
class Sums:
    """Tuples in, seconds of one core and tuples out by port; `timed` are the tuples behind the seconds."""

    taken: float = 0.0
    timed: float = 0.0
    seconds: float = 0.0
    given: Mapping[str, float] = field(default_factory=dict)

    def add(self, taken: int, seconds: float, given: Mapping[str, int], keep: float, trust: float) -> "Sums":
        if not taken:
            # A box that only waits, or closes windows, says nothing about a tuple.
            return replace(self, given=_add(self.given, given, 1.0))
        return Sums(
            self.taken * keep + taken,
            self.timed * keep + taken * trust,
            self.seconds * keep + seconds * trust,
            _add(self.given, given, keep),
        )


@dataclass(frozen=True)
class Averages:
    """After each batch there is a new one. `span` and `flows` are seconds and tuples of the last of them, for rates:
    the flows of inputs, boxes (what they take), ports (`box.port`) and outputs have names of their own kinds."""

    boxes: Mapping[str, Sums] = field(default_factory=dict)
    inputs: Mapping[str, Sums] = field(default_factory=dict)
    waiting: Mapping[str, int | None] = field(default_factory=dict)
    growth: Mapping[str, float] = field(default_factory=dict)
    comes: Mapping[str, float] = field(default_factory=dict)
    flows: Mapping[str, float] = field(default_factory=dict)
    span: float = 0.0
    trips: tuple[Trip, ...] = ()
    # The seconds of the run at the last batch, that batch, and how many this run has made.
    at: float = 0.0
    last: Work | None = None
    # Whether something was left out of it that would have been work for its part of the network.
    cut: bool = False
    batches: int = 0
    # How long the newest rows of the last batch had waited when it was made.
    waited: Mapping[str, float] = field(default_factory=dict)

    def add(self, report: BatchReport) -> "Averages":
        """With another batch of the same run."""
        work, passed = report.work, max(report.seconds - self.at, 1e-3)
        keep = 0.5 ** (min(passed, PAUSE) / HALF)
        trust = 1.0 if self.batches >= WARM else COLD
        boxes, inputs = dict(self.boxes), dict(self.inputs)
        for name, box in work.boxes.items():
            boxes[name] = boxes.get(name, Sums()).add(box.taken, box.seconds, box.given, keep, trust)
        for name, read in work.inputs.items():
            inputs[name] = inputs.get(name, Sums()).add(read.rows, read.seconds, {}, keep, trust)
        waiting = {name: read.waiting for name, read in work.inputs.items()}
        return Averages(
            boxes,
            inputs,
            waiting,
            self._grow(waiting, passed, keep),
            self._come(work),
            _add(self.flows, _flows(work, report.rows), 0.5 ** (passed / HALF)),
            self.span * 0.5 ** (passed / HALF) + passed,
            self._trips(work),
            report.seconds,
            work,
            not work.shed.keys() <= {drop.of for drop in report.controls.drops},
            self.batches + 1,
            {name: read.waited[0] for name, read in work.inputs.items()},
        )

    def _grow(self, waiting: Mapping[str, int | None], passed: float, keep: float) -> dict[str, float]:
        grown: dict[str, float] = {}
        for name, rows in waiting.items():
            before = self.waiting.get(name)
            if rows is not None and before is not None and self.batches:
                grown[name] = self.growth.get(name, 0.0) * keep + (rows - before) / passed * (1 - keep)
        return grown

    def _come(self, work: Work) -> dict[str, float]:
        """Rows that came between the moments at which the last batch and this one were made, a second."""
        if not work.before or not self.batches:
            return dict(self.comes)
        passed = work.apart or work.before
        keep = 0.5 ** (passed / COMING)
        found: dict[str, float] = {}
        for name, read in work.inputs.items():
            left = self.waiting.get(name)
            if read.waiting is not None and left is not None:
                now = max(read.rows + read.waiting - left, 0) / passed
                found[name] = self.comes.get(name, now) * keep + now * (1 - keep)
        return found

    def _trips(self, work: Work) -> tuple[Trip, ...]:
        """With the batch before this one, of which it is known by now how long it took."""
        last = self.last
        # Rows of which some were shed cost less: they say nothing of what a row costs.
        if work.before is None or last is None or self.batches <= WARM or not last.rows or self.cut:
            return self.trips
        return (*self.trips, Trip(last.rows, work.before, last.seconds))[-TRIPS:]

    def figures(
        self,
        cores: int,
        now: float | None = None,
        live: Collection[str] = (),
        latency: Mapping[str, tuple[float, float]] | None = None,
        others: float = 0.0,
    ) -> Figures:
        """As they are `now`, in seconds of the run; the `latency` of the outputs is measured elsewhere.

        Another part of the network that is at work for a share of the time, `others`, has half of the cores meanwhile.
        """
        rates = self._rates(now)
        own = fit_trips(self.trips, cores * (1 - others / 2))
        outputs = {_name(flow): rate for flow, rate in rates.items() if flow.startswith(OUTPUT)}
        return Figures(
            {
                name: BoxFigures(
                    own.growing * sums.seconds / sums.timed,
                    {port: given / sums.taken for port, given in sums.given.items()},
                    rates.get(BOX + name, 0.0),
                )
                for name, sums in self.boxes.items()
                if sums.taken
            },
            {
                name: InputFigures(
                    rates.get(INPUT + name, 0.0),
                    own.growing * sums.seconds / sums.timed if sums.timed else 0.0,
                    self.waiting.get(name),
                    self.growth.get(name, 0.0),
                    name in live,
                    self.comes.get(name),
                    self.waited.get(name, 0.0),
                )
                for name, sums in self.inputs.items()
            },
            {name: OutputFigures(rate, (latency or {}).get(name)) for name, rate in outputs.items()},
            own.fixed,
            own.per_row,
            cores,
            sum(trip.rows for trip in self.trips) / len(self.trips) if self.trips else 0.0,
        )

    def _rates(self, now: float | None) -> dict[str, float]:
        idle = 0.0 if now is None else max(now - self.at, 0.0)
        span = self.span * 0.5 ** (idle / HALF) + idle
        return {name: rows * 0.5 ** (idle / HALF) / max(span, 1e-3) for name, rows in self.flows.items()}

    def find_busy(self, now: float | None = None) -> float:
        """For which share of the time a batch is under way."""
        return min(self._rates(now).get(BUSY, 0.0), 1.0)

    def as_later(self, cores: int, now: float | None = None, others: float = 0.0) -> LaterFigures | None:
        """What batches of the part that may wait cost beside their boxes; None while there are too few to tell."""
        found = self.figures(cores, now, others=others)
        if not self.trips:
            return None
        reading = (
            sum(read.cost * read.rate for read in found.inputs.values()) / found.rate if found.rate else 0.0
        )
        return LaterFigures(
            found.fixed, found.per_row + reading, self._rates(now).get(BATCHES, 0.0), found.rate
        )

    def to_json(self) -> dict[str, Any]:
        """What the next run of the network begins with."""
        return {
            "boxes": {name: _listed(sums) for name, sums in self.boxes.items()},
            "inputs": {name: _listed(sums) for name, sums in self.inputs.items()},
            "flows": dict(self.flows),
            "span": self.span,
            "trips": [[trip.rows, trip.seconds, trip.worked] for trip in self.trips],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Averages":
        """A new run begins with what the last one knew."""
        return cls(
            boxes={name: Sums(*listed) for name, listed in content["boxes"].items()},
            inputs={name: Sums(*listed) for name, listed in content["inputs"].items()},
            flows=dict(content["flows"]),
            span=content["span"],
            trips=tuple(Trip(*listed) for listed in content["trips"]),
        )


INPUT, BOX, PORT, OUTPUT = "input ", "box ", "port ", "output "
# Batches, and the seconds that they took.
BATCHES, BUSY = "batches", "busy"


def _flows(work: Work, outputs: Mapping[str, int]) -> dict[str, float]:
    return {
        BATCHES: 1,
        BUSY: work.before or 0.0,
        **{INPUT + name: read.rows for name, read in work.inputs.items()},
        **{BOX + name: box.taken for name, box in work.boxes.items()},
        **{f"{PORT}{name}.{port}": n for name, box in work.boxes.items() for port, n in box.given.items()},
        **{OUTPUT + name: rows for name, rows in outputs.items()},
    }


def _name(flow: str) -> str:
    return flow.partition(" ")[2]


def _listed(sums: Sums) -> list[Any]:
    return [sums.taken, sums.timed, sums.seconds, dict(sums.given)]


def _add(sums: Mapping[str, float], more: Mapping[str, float], keep: float) -> dict[str, float]:
    kept = {name: value * keep for name, value in sums.items()}
    for name, number in more.items():
        kept[name] = kept.get(name, 0.0) + number
    return kept
