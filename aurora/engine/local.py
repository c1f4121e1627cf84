"""A planned network in this process, without Spark: the same stages, buckets and states, batch by batch."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.state.runs import Sweep
from aurora.algebra.state.state import Changes, State, Stored
from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train, arrival_numbers, from_bytes, to_bytes
from aurora.engine.controls import Controls, Rewrites
from aurora.engine.drops import Drop
from aurora.engine.plan.plan import Entry, Plan
from aurora.engine.plan.rewriting import rewrite_plan
from aurora.engine.sources.in_order.turns import count_turns
from aurora.engine.sources.input_checks import check_portion
from aurora.engine.sources.portion_schema import fit_rows
from aurora.engine.sources.source import Cursor, Portion, Reject, Source, notices
from aurora.engine.stage import BoxCounts, check_buckets, departures, run_stage
from aurora.network.network import Port

__all__ = ["LocalRun", "StoredBytes"]

# The runs of each table of groups, the oldest first.
Tables = Mapping[str, tuple[bytes, ...]]


class StoredBytes:
    """The state of one bucket of a stage, as Spark's store would have it: bytes by name, and runs of bytes by table."""

    def __init__(self, values: Mapping[str, bytes] | None = None, tables: Tables | None = None) -> None:
        self.values = dict(values or {})
        self.tables = dict(tables or {})

    def read(self, name: str) -> pa.RecordBatch | None:
        found = self.values.get(name)
        return None if found is None else from_bytes(found)

    def runs(self, table: str, sweep: Sweep | None) -> list[pa.RecordBatch]:
        stored = Stored()
        stored.tables[table] = [from_bytes(run) for run in self.tables.get(table, ())]
        before, runs = len(stored.tables[table]), stored.runs(table, sweep)
        if len(runs) != before:
            # They were merged.
            self.tables[table] = tuple(map(to_bytes, runs))
        return runs

    def size(self, prefix: str = "") -> int:
        values = sum(len(value) for name, value in self.values.items() if name.startswith(prefix))
        runs = (runs for name, runs in self.tables.items() if name.startswith(prefix))
        return values + sum(len(run) for own in runs for run in own)

    def changed(self, changes: Changes) -> "StoredBytes":
        """What is stored after a turn; this one stays as it is."""
        later = StoredBytes(self.values, self.tables)
        for name, value in changes.values.items():
            later.values.pop(name, None)
            if value is not None:
                later.values[name] = to_bytes(value)
        for table, delta in changes.deltas.items():
            before = () if delta.whole else later.tables.pop(table, ())
            later.tables[table] = (*before, to_bytes(delta.run))
            if delta.whole and not delta.run.num_rows:
                del later.tables[table]
        return later


class LocalRun:
    """Between batches there is nothing but bytes, so that every batch begins as one after a restart does.

    A batch that fails changes nothing, and can be run again. `now` is the local time, which passes when it is set, or
    when a source says so. `drops` and `rewrites` may be set between batches. What came out is in `outputs`, a train for
    each batch; what the boxes did is in `counts`.

    >>> from aurora.engine.plan.plan import plan_network
    >>> from aurora.engine.sources.in_memory.memory import Memory
    >>> from aurora.network.network import Network
    >>> network = Network("counts")
    >>> readings = network.input("readings", "Sid int, Time int")
    >>> order = {"on": "Time", "group_by": ["Sid"]}
    >>> network.output("counts", readings.aggregate({"n": "count(*)"}, order=order, size=10, name="count"))
    >>> run = LocalRun(plan_network(network), buckets=3)
    >>> rows = [{"Sid": i % 2, "Time": i} for i in range(20)]
    >>> run.read({"readings": Memory.of("Sid int, Time int", rows)}, [4])
    >>> run.rows("counts")[:2]
    [{'Sid': 0, 'Time': 0, 'n': 5}, {'Sid': 1, 'Time': 1, 'n': 5}]
    """

    def __init__(self, plan: Plan, buckets: int = 1) -> None:
        self.plan = plan
        self.buckets = buckets
        self.now = 0
        self.ended = False
        self.stored: dict[tuple[int, int], StoredBytes] = {}
        self.outputs: dict[str, list[Train]] = {name: [] for name, _ in plan.outputs}
        self.counts: dict[str, BoxCounts] = {}
        self.rejects: list[tuple[str, Reject]] = []
        # What the sources have to tell their user.
        self.notices: list[str] = []
        self.drops: tuple[Drop, ...] = ()
        self.rewrites: Rewrites = ()
        self._number = 0
        self._places: dict[str, Cursor] = {}

    def read(self, sources: Mapping[str, Source], rows: Sequence[int] = (10_000,), pieces: int = 2) -> None:
        """Runs batches of so many rows of each source, in turns, until there is no more, for now or for good."""
        self._places = self._places or {name: sources[name].begin() for name, _ in self.plan.inputs}
        for step in itertools.cycle(rows):
            places = self._places
            reached = {name: sources[name].advance(place, step) for name, place in places.items()}
            end = all(sources[name].finished(place) for name, place in reached.items())
            if self.ended or (reached == places and not end):
                return
            now = max([self.now, *(place["now"] for place in reached.values() if "now" in place)])
            portions = [
                (name, self._numbered(index, piece.read(schema), places[name]["row"], now))
                for index, (name, schema) in enumerate(self.plan.inputs)
                for piece in sources[name].pieces(places[name], reached[name], pieces)
            ]
            trains = [(name, train) for name, (train, _) in portions]
            self.feed(trains, Moment(now, self._number, end, now))
            self.rejects += [(name, bad) for name, (_, rejects) in portions for bad in rejects]
            self.notices += notices({name: at for name, at in reached.items() if at is not places[name]})
            moved = {name: reached[name]["row"] - places[name]["row"] for name in reached}
            self._number += 2 * (count_turns(sources, moved) * len(reached) + 1)
            self._places = reached

    def _numbered(
        self, index: int, portion: Portion, start: int, now: int
    ) -> tuple[Train, tuple[Reject, ...]]:
        name, schema = self.plan.inputs[index]
        portion = replace(portion, rows=fit_rows(f"source {name}", portion, schema))
        portion = check_portion(name, portion, self.plan.checks.get(name, ()))
        if portion.order is not None:
            keys = arrival_numbers(self._number, portion.order, 0, 1)
        else:
            keys = arrival_numbers(self._number, portion.numbers - start, index, len(self.plan.inputs))
        arrived = np.full(len(keys), now, np.int64) if portion.arrived is None else portion.arrived
        return Train(portion.rows, arrived, keys[None]), portion.rejects

    def feed(self, trains: Iterable[tuple[str, Train]], moment: Moment) -> dict[str, Train]:
        """Runs one batch: trains of the inputs, each read by a task of its own. Gives what came out."""
        plan = rewrite_plan(self.plan, self.rewrites, Controls(drops=self.drops).streams)
        batch = _Batch(plan, self.buckets, moment, self.drops)
        for name, train in trains:
            batch.run(0, 0, {Port(name): [train]}, State())
        stored = {}
        for number in range(1, len(self.plan.stages)):
            for bucket in range(self.buckets):
                before = self.stored.get((number, bucket), StoredBytes())
                state = State(before)
                batch.run(number, bucket, batch.waiting.get((number, bucket), {}), state)
                stored[number, bucket] = before.changed(state.changes())
        self.stored, self.ended, self.now = stored, moment.end, moment.now
        for name, counts in batch.counts.items():
            total = self.counts.setdefault(name, BoxCounts())
            total.add(counts)
            total.state = counts.state
        given = {name: Train.concat(parts).arrange() for name, parts in batch.given.items()}
        for name, train in given.items():
            self.outputs[name].append(train)
        return given

    def restarted(self) -> "LocalRun":
        """A run that goes on from here as another process would: it has the plan, the bytes and the places."""
        later = LocalRun(self.plan, self.buckets)
        later.drops = self.drops
        later.stored = dict(self.stored)
        later.now, later.ended, later._number, later._places = (
            self.now,
            self.ended,
            self._number,
            self._places,
        )
        return later

    def rows(self, output: str) -> list[dict[str, Any]]:
        """All that came out so far."""
        return [row for train in self.outputs[output] for row in train.rows.to_pylist()]

    @property
    def discarded(self) -> Counter[str]:
        """What was left out so far, by reason."""
        return sum((counts.discarded for counts in self.counts.values()), Counter[str]())

    @property
    def state_bytes(self) -> int:
        return sum(stored.size() for stored in self.stored.values())


class _Batch:
    """Trains on their way through the stages of one batch."""

    def __init__(self, plan: Plan, buckets: int, moment: Moment, drops: tuple[Drop, ...]) -> None:
        self.plan = plan
        self.drops = drops
        self.buckets = buckets
        self.moment = moment
        self.waiting: dict[tuple[int, int], dict[Entry | Port, list[Train]]] = {}
        self.given: dict[str, list[Train]] = {}
        self.counts: dict[str, BoxCounts] = {}

    def run(self, number: int, bucket: int, arrived: dict[Entry | Port, list[Train]], state: State) -> None:
        here, counts = run_stage(self.plan, number, arrived, state, self.moment, bucket == 0, self.drops)
        if number:
            check_buckets(self.plan, number, here, bucket, self.buckets)
        for name, count in counts.items():
            self.counts.setdefault(name, BoxCounts()).add(count)
        for index, target, part in departures(self.plan, number, here, self.buckets):
            entry = self.plan.entries[index]
            to = self.waiting.setdefault((entry.stage, target), {})
            to.setdefault(entry, []).append(Train.from_bytes(part.to_bytes()))
        for name, port in self.plan.outputs:
            if self.plan.made_in[port] == number and port in here and len(here[port]):
                self.given.setdefault(name, []).append(here[port])
