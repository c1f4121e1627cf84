"""Where a run is: what it has done since the beginning, and how it does now."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.controls import Controls
from aurora.engine.totals import Totals
from aurora.engine.work import Work

__all__ = ["BatchReport", "Change", "Delays", "Recent", "Statistics", "Weighted", "sample_arrivals", "sum_up"]

# Values in order, and how many rows each stands for.
Weighted = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]

# How far back "now" goes, in seconds.
WINDOW = 10.0
# So many values stand for the arrival times of a batch.
SAMPLES = 32


@dataclass(frozen=True)
class Delays:
    """How long rows of one output were under way in one batch, in milliseconds: values that stand for all of them."""

    rows: int
    samples: tuple[int, ...]


def sample_arrivals(arrived: Ints) -> list[int]:
    """A few arrival times that stand for all: evenly spread over their order."""
    if len(arrived) <= SAMPLES:
        return sorted(arrived.tolist())
    if arrived[0] == arrived[-1] and (arrived == arrived[0]).all():
        return [int(arrived[0])]
    places = np.linspace(0, len(arrived) - 1, SAMPLES).astype(np.int64)
    # A partition by so many places takes eight times as long as this sort does.
    found: list[int] = np.sort(arrived)[places].tolist()
    return found


@dataclass(frozen=True)
class BatchReport:
    """One committed batch, for whoever watches the run; `places` are the cursors that the inputs have reached.

    `taken` counts the tuples that each box has taken since the beginning; `seconds` counts from the start of this run.
    `states` are the bytes that each box stores, `delays` the latencies of the rows of each output, `shown` some tuples
    of the streams that somebody looks at, `behind` an arrival number larger than all so far, and `work` what this batch
    did and cost, box by box.
    """

    batch: int
    rows: dict[str, int]
    rejected: int
    state_bytes: int
    places: dict[str, Any]
    taken: dict[str, int]
    seconds: float
    end: bool
    controls: Controls = field(default_factory=Controls)
    states: dict[str, int] = field(default_factory=dict)
    delays: dict[str, Delays] = field(default_factory=dict)
    shown: dict[str, pa.RecordBatch] = field(default_factory=dict, repr=False, compare=False)
    behind: int = 0
    work: Work = field(default_factory=Work)


@dataclass(frozen=True)
class Change:
    """What was changed in a network while it ran, from which batch on, and why."""

    batch: int
    what: str
    why: str


@dataclass(frozen=True)
class Statistics:
    """How far a run has come: batches and rows since the beginning, what the boxes took and gave, and the last batch.

    `nanoseconds` is how long each box has worked, `states` the bytes that it stores. The rates, in rows per second, and
    the `latency` of each output (median and 99th percentile, in seconds) are those of the last ten seconds; `delays`
    are the latencies themselves, each with its number of rows. `changes` lists how boxes changed places in this run.
    `places` are how far each input is read, as of the same batch as all the rest.
    """

    state: str
    batches: int = 0
    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    last: BatchReport | None = None
    controls: Controls = field(default_factory=Controls)
    nanoseconds: dict[str, int] = field(default_factory=dict)
    states: dict[str, int] = field(default_factory=dict)
    input_rates: dict[str, float] = field(default_factory=dict)
    output_rates: dict[str, float] = field(default_factory=dict)
    latency: dict[str, tuple[float, float]] = field(default_factory=dict)
    delays: dict[str, Weighted] = field(default_factory=dict, repr=False)
    changes: tuple[Change, ...] = ()
    places: dict[str, Any] = field(default_factory=dict)


def sum_up(totals: Totals) -> Statistics:
    """What the batches so far have done, before a run has made one itself."""
    return Statistics(
        "stopped",
        totals.batch + 1,
        rows=dict(totals.rows),
        taken=dict(totals.taken),
        given=dict(totals.given),
        rejected=totals.rejected,
        nanoseconds=dict(totals.nanoseconds),
        places=totals.places,
    )


class Recent:
    """The batches of the last seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._batches: deque[tuple[float, dict[str, int], BatchReport]] = deque()
        self._reached: dict[str, int] = {}

    def add(self, report: BatchReport) -> None:
        reached = {name: int(place["row"]) for name, place in report.places.items()}
        read = {name: row - self._reached.get(name, 0) for name, row in reached.items()}
        if not self._reached and report.batch > 0:
            # What earlier runs have read is no part of this one's rate.
            read = dict.fromkeys(reached, 0)
        self._reached = reached
        self._batches.append((self._clock(), read, report))
        self._forget()

    def _forget(self) -> None:
        while self._batches and self._batches[0][0] < self._clock() - WINDOW:
            self._batches.popleft()

    def rates(self) -> tuple[dict[str, float], dict[str, float]]:
        """Rows a second of each input and of each output."""
        self._forget()
        seconds = max(min(self._clock() - self._began, WINDOW), 0.001)
        inputs: dict[str, float] = dict.fromkeys(self._reached, 0.0)
        outputs: dict[str, float] = {}
        for _, read, report in list(self._batches):
            _add(inputs, read, seconds)
            _add(outputs, report.rows, seconds)
        return inputs, outputs

    def delays(self) -> dict[str, Weighted]:
        """How long rows of each output took, in seconds and in order, and for how many rows each value stands."""
        self._forget()
        values: dict[str, list[tuple[int, float]]] = {}
        for _, _, report in list(self._batches):
            for name, delays in report.delays.items():
                weight = delays.rows / max(len(delays.samples), 1)
                values.setdefault(name, []).extend((delay, weight) for delay in delays.samples)
        ordered = {name: np.array(sorted(found)).T for name, found in values.items()}
        return {name: (found[0] / 1000, found[1]) for name, found in ordered.items()}

    def latency(self) -> dict[str, tuple[float, float]]:
        """The median and the 99th percentile of each output, in seconds."""
        found = self.delays().items()
        return {name: (_quantile(delays, 0.5), _quantile(delays, 0.99)) for name, delays in found}


def _add(sums: dict[str, float], rows: Mapping[str, int], seconds: float) -> None:
    for name, number in rows.items():
        sums[name] = sums.get(name, 0.0) + number / seconds


def _quantile(delays: Weighted, share: float) -> float:
    """The value below which a share of the rows is."""
    values, weights = delays
    reached = np.cumsum(weights)
    return float(values[np.searchsorted(reached, share * reached[-1]).clip(max=len(values) - 1)])
