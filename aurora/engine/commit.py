"""What leaves a batch: sorted into the sinks, and noted as done in one step, so that nothing comes twice."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import LAST, Train
from aurora.engine.controls import Controls
from aurora.engine.durable import cannot_write
from aurora.engine.fault_places import tell_with_place
from aurora.engine.plan.plan import Plan
from aurora.engine.sinks.rejects import REJECTS_SINK, rejects_train
from aurora.engine.sinks.sink import (
    Sink,
    StagingSink,
    deliver_train,
    inner_key,
    moves_along,
    publish,
    sink_key,
    syncs_aside,
    take_refused,
)
from aurora.engine.spark.sums import SparkSums
from aurora.engine.statistics import BatchReport, Delays, sample_arrivals
from aurora.engine.totals import Totals
from aurora.engine.unloading import sort_wagons, unload_trains
from aurora.engine.wagons import TAPPED, Lane, read_moment, read_tap
from aurora.engine.work import sum_work
from aurora.errors import AuroraError

__all__ = ["Commits"]


class Commits:
    """Takes the wagons of each batch. The note of a commit is written last; a batch that has one is skipped.

    `spark` is the folder in which Spark notes its batches.
    """

    def __init__(
        self,
        plan: Plan,
        sinks: Mapping[str, Sink],
        note: Path,
        watch: Callable[[BatchReport], None] | None = None,
        inputs: Mapping[str, Any] | None = None,
        lock: Callable[[str, Sink], None] = lambda name, sink: None,
        spark: Path | None = None,
    ) -> None:
        self._plan = plan
        self._lock = lock
        self._sinks = sinks
        self._note = note
        self._sums = None if spark is None else SparkSums(spark)
        self._watch = watch
        self._started = time.monotonic()
        totals = Totals.load(note) or Totals()
        # What lies in the home moves with it.
        self._root = str(note.parent.parent)
        for name, sink in sinks.items():
            key = self._key(name, sink)
            _rename_note(totals.notes, key, sink)
            try:
                totals.notes[key] = sink.open(totals.notes.get(key))
            except OSError as fault:
                raise cannot_write(sink.place or key, fault) from None
            lock(name, sink)
        if not totals.end:
            totals.inputs = dict(inputs or {})
            totals.rejects = sinks[REJECTS_SINK].place if REJECTS_SINK in sinks else None
            # Before Spark notes anything: what it knows without a note here is not of this run.
            self._store(totals)
        self.totals = totals

    def take(self, batch: int, wagons: pa.Table) -> None:
        if batch <= self.totals.batch:
            return
        by_lane = sort_wagons(wagons)
        totals = self.totals.copy()
        rows, arrived = self._write(batch, by_lane, totals)
        rejected = rows.pop(REJECTS_SINK, 0)
        counts = [json.loads(payload) for payload in by_lane.get(Lane.COUNTS, [])]
        reads = [json.loads(payload) for payload in by_lane.get(Lane.READS, [])]
        for count in counts:
            totals.add(count)
        for read in reads:
            totals.accepted[read["input"]] += read["rows"]
        totals.rows.update(rows)
        totals.rejected += rejected
        totals.batch = batch
        totals.end = any(read_moment(payload)[0].end for payload in by_lane.get(Lane.MOMENT, []))
        totals.places = json.loads(by_lane[Lane.PLACES][0])
        said = json.loads(by_lane[Lane.CONTROLS][0])
        totals.behind = LAST + 1 if totals.end else said["behind"]
        if self._sums is not None:
            totals.spark = self._sums.take(batch, totals.spark)
        self._store(totals)
        self.totals = totals
        for name in rows:
            if (sink := self._sinks.get(name)) is not None:
                with _told(name, sink):
                    publish(sink, totals.notes[self._key(name, sink)])
        if self._watch is not None:
            controls = Controls.from_json(said)
            states: Counter[str] = Counter()
            values = [json.loads(payload) for payload in by_lane.get(Lane.VALUES, [])]
            for count in counts:
                states.update({name: box["state"] for name, box in count.items()})
            self._watch(
                BatchReport(
                    batch,
                    rows,
                    rejected,
                    states.total(),
                    totals.places,
                    dict(totals.taken),
                    time.monotonic() - self._started,
                    totals.end,
                    controls,
                    dict(states),
                    _delays(rows, arrived),
                    _shown(by_lane.get(Lane.TAPS, [])),
                    totals.behind,
                    sum_work(counts, reads, said["waiting"], said["took"], values, said["apart"]),
                )
            )

    def _key(self, name: str, sink: Sink) -> str:
        moves = sink.place is not None and (name == REJECTS_SINK or moves_along(sink))
        return (moves and inner_key(str(sink.place), self._root)) or sink_key(name, sink)

    def _store(self, totals: Totals) -> None:
        try:
            totals.store(self._note)
        except OSError as fault:
            raise cannot_write(self._note, fault) from None

    def _write(
        self, batch: int, by_lane: dict[int, list[Any]], totals: Totals
    ) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Puts everything into the sinks and on the disk; gives the number of rows by sink, and some arrival times."""
        rows: dict[str, int] = {}
        arrived: dict[str, list[int]] = {}
        written: dict[str, Sink] = {}
        refused: list[Train] = []
        for name, train in unload_trains(self._plan, by_lane, refused):
            rows[name] = len(train)
            if name == REJECTS_SINK:
                for source in train.rows["source"].value_counts().to_pylist():
                    totals.unreadable[source["values"]] += source["counts"]
            arrived[name] = sample_arrivals(train.arrived)
            if (sink := self._sinks.get(name)) is not None:
                with _told(name, sink):
                    key = self._key(name, sink)
                    note = totals.notes[key]
                    totals.notes[key] = deliver_train(sink, batch, train, note)
                    if note is None:
                        # Only now is there a file.
                        self._lock(name, sink)
                    written[key] = sink
                    bad = take_refused(sink)
                    if bad:
                        rows[name] -= len(bad)
                        refused.append(rejects_train(f"sink {name}", bad))
        for name, parts in _parts_by_output(by_lane).items():
            sink = self._sinks[name]
            assert isinstance(sink, StagingSink)
            rows[name] = sum(part["rows"] for part in parts)
            arrived[name] = [moment for part in parts for moment in part["arrived"]]
            with _told(name, sink):
                key = self._key(name, sink)
                totals.notes[key] = sink.take(batch, [part["part"] for part in parts], totals.notes[key])
                written[key] = sink
        _sync(written)
        return rows, arrived

    def finish(self) -> None:
        """Behind the last batch, whether the input has ended or not."""
        for sink in self._sinks.values():
            sink.finish()


def _rename_note(notes: dict[str, Any], key: str, sink: Sink) -> None:
    """Take over the note of a sink that an earlier version kept under its path, wherever the home was then."""
    moved = moves_along(sink) and key.startswith("./")
    for known in list(notes):
        if key not in notes and (known == sink.place or (moved and known.endswith(key[1:]))):
            notes[key] = notes.pop(known)


def _sync(written: Mapping[str, Sink]) -> None:
    """All that was written is on the disk. Each file waits for the disk alone, so they wait together."""

    def sync(key: str) -> None:
        with _told(key, written[key]):
            written[key].sync()

    aside = [key for key, sink in written.items() if syncs_aside(sink)]
    if len(aside) > 1:
        with ThreadPoolExecutor(len(aside)) as pool:
            for _ in pool.map(sync, aside):
                pass
    for key in [key for key in written if len(aside) < 2 or key not in aside]:
        sync(key)


def _parts_by_output(by_lane: dict[int, list[Any]]) -> dict[str, list[dict[str, Any]]]:
    """What tasks have written aside, in the order of emission."""
    parts = [json.loads(payload) for payload in by_lane.get(Lane.PARTS, [])]
    found: dict[str, list[dict[str, Any]]] = {}
    for part in sorted(parts, key=lambda part: (part["first"], json.dumps(part["part"]))):
        found.setdefault(part["output"], []).append(part)
    return found


def _shown(taps: list[bytes]) -> dict[str, pa.RecordBatch]:
    """The last tuples of each stream that somebody looks at."""
    found: dict[str, list[Train]] = {}
    for name, train in map(read_tap, taps):
        found.setdefault(name, []).append(train)
    arranged = {name: Train.concat(trains).arrange().rows for name, trains in found.items()}
    return {name: rows.slice(max(rows.num_rows - TAPPED, 0)) for name, rows in arranged.items()}


def _delays(rows: Mapping[str, int], arrived: Mapping[str, list[int]]) -> dict[str, Delays]:
    now = time.time_ns() // 1_000_000
    return {
        name: Delays(number, tuple(max(now - moment, 0) for moment in arrived[name]))
        for name, number in rows.items()
        if number
    }


@contextmanager
def _told(name: str, sink: Sink) -> Iterator[None]:
    """What a sink cannot do, in one line: a disk that is full, or what a user's own function raises."""
    try:
        yield
    except (AuroraError, BrokenPipeError):
        raise
    except OSError as fault:
        if sink.place is None:
            raise
        raise cannot_write(sink.place, fault) from None
    except Exception as fault:
        raise AuroraError(f"sink {name}: {tell_with_place(fault)}") from fault
