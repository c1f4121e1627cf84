"""What leaves a batch: sorted into the sinks, and noted as done in one step, so that nothing comes twice."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Train
from aurora.engine.controls import Controls
from aurora.engine.plan import Plan
from aurora.engine.sinks.address import CallbackSink, Sink
from aurora.engine.sinks.parts import PartSink
from aurora.engine.sinks.text import TextSink
from aurora.engine.wagons import CONTROLS, COUNTS, PARTS, PLACES, REJECTED, TOKEN, moment_of, output_lane

__all__ = ["BatchReport", "Commits", "Totals"]


@dataclass
class Totals:
    """Sums over all committed batches, and the size of each file."""

    batch: int = -1
    end: bool = False
    rejected: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    nanoseconds: Counter[str] = field(default_factory=Counter)
    discarded: dict[str, Counter[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Totals | None":
        if not path.exists():
            return None
        content = json.loads(path.read_text())
        totals = cls(content["batch"], content["end"], content["rejected"])
        for name in ("rows", "taken", "given", "nanoseconds"):
            setattr(totals, name, Counter(content[name]))
        totals.discarded = {box: Counter(reasons) for box, reasons in content["discarded"].items()}
        totals.sizes = content["sizes"]
        return totals

    def write(self, path: Path) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(vars(self)))
        partial.replace(path)

    def add(self, counts: dict[str, Any]) -> None:
        for box, count in counts.items():
            self.taken[box] += count["taken"]
            self.given[box] += count["given"]
            self.nanoseconds[box] += count["nanoseconds"]
            if count["discarded"]:
                self.discarded.setdefault(box, Counter()).update(count["discarded"])


@dataclass(frozen=True)
class BatchReport:
    """One committed batch, for whoever watches the run; `places` are the cursors that the inputs have reached.

    `taken` are the tuples that each box has had since the beginning, `seconds` those since this run started.
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


# No output has this name: the names of outputs are free, and `rejects` is one.
REJECTS_SINK = "#rejects"


class Commits:
    """Takes the wagons of each batch. The note of a commit is written last; a batch that has one is skipped."""

    def __init__(
        self,
        plan: Plan,
        sinks: dict[str, Sink],
        note: Path,
        watch: Callable[[BatchReport], None] | None = None,
    ) -> None:
        self._plan = plan
        self._sinks = sinks
        self._note = note
        self._watch = watch
        self._started = time.monotonic()
        stored = Totals.read(note)
        self.totals = stored or Totals()
        for name, sink in sinks.items():
            if isinstance(sink, PartSink):
                sink.prepare(self.totals.batch, stored is None)
            elif isinstance(sink, TextSink) and (name != REJECTS_SINK or sink.path in self.totals.sizes):
                self.totals.sizes[sink.path] = sink.prepare(self.totals.sizes.get(sink.path))

    def take(self, batch: int, wagons: pa.Table) -> None:
        totals = self.totals
        if batch <= totals.batch:
            return
        by_lane: dict[int, list[bytes]] = {}
        for lane, payload in zip(wagons["lane"].to_pylist(), wagons["payload"].to_pylist(), strict=True):
            by_lane.setdefault(lane, []).append(payload)
        rows: dict[str, int] = {}
        for index, (name, _) in enumerate(self._plan.outputs):
            trains = [Train.from_bytes(payload) for payload in by_lane.get(output_lane(index), [])]
            if trains:
                rows[name] = self._deliver(name, Train.concat(trains).arranged())
        rows |= self._move_parts(batch, [json.loads(payload) for payload in by_lane.get(PARTS, [])])
        rejected = self._reject([Train.from_bytes(payload) for payload in by_lane.get(REJECTED, [])])
        counts = [json.loads(payload) for payload in by_lane.get(COUNTS, [])]
        for count in counts:
            totals.add(count)
        state = sum(box["state"] for count in counts for box in count.values())
        totals.rows.update(rows)
        totals.rejected += rejected
        totals.batch = batch
        totals.end = any(moment_of(payload).end for payload in by_lane.get(TOKEN, []))
        totals.write(self._note)
        if self._watch is not None:
            places = json.loads(by_lane[PLACES][0])
            controls = Controls.from_json(json.loads(by_lane[CONTROLS][0]))
            seconds = time.monotonic() - self._started
            self._watch(
                BatchReport(
                    batch, rows, rejected, state, places, dict(totals.taken), seconds, totals.end, controls
                )
            )

    def _deliver(self, name: str, train: Train) -> int:
        sink = self._sinks.get(name)
        if isinstance(sink, CallbackSink):
            sink.function(train.rows)
        elif isinstance(sink, TextSink):
            sizes = self.totals.sizes
            if sink.path not in sizes:
                sizes[sink.path] = sink.prepare(None)
            sizes[sink.path] = sink.append(train.rows, train.arrived, sizes[sink.path])
        return len(train)

    def _move_parts(self, batch: int, parts: list[dict[str, Any]]) -> dict[str, int]:
        moved: dict[str, int] = {}
        for name, sink in self._sinks.items():
            own = [part for part in parts if part["output"] == name]
            if not own:
                continue
            if isinstance(sink, PartSink):
                sink.commit(batch, own)
            elif isinstance(sink, TextSink):
                self.totals.sizes[sink.path] = sink.take(own, self.totals.sizes[sink.path])
            moved[name] = sum(part["rows"] for part in own)
        return moved

    def _reject(self, trains: list[Train]) -> int:
        """Bad rows go to their sink, by source, file and line; without a sink they are counted all the same."""
        if not trains:
            return 0
        train = Train.concat(trains)
        order = [("source", "ascending"), ("file", "ascending"), ("line", "ascending")]
        return self._deliver(REJECTS_SINK, train.with_rows(train.rows.sort_by(order)))

    def finish(self) -> None:
        for sink in self._sinks.values():
            if isinstance(sink, PartSink | TextSink):
                sink.finish()
