"""The rows that Spark carries: trains and notes on their way to a stage or to the sinks.

The moment of a batch (local time, first arrival number, whether the input ends) goes with it: a task of the source
makes it, every bucket of a stage gets it and hands it on to its bucket of the next stage, and behind the last stage it
comes once to the sinks.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pyarrow as pa

from aurora.algebra.state.turn import Moment
from aurora.algebra.tuples.train import Train
from aurora.engine.controls import Controls
from aurora.engine.durable import cannot_write
from aurora.engine.plan.buckets import labels
from aurora.engine.plan.plan import Entry, Plan
from aurora.engine.sinks.sink import StagingSink, stage_train
from aurora.engine.stage import BoxCounts, departures
from aurora.engine.statistics import sample_arrivals
from aurora.network.bins import Bins
from aurora.network.network import Port

__all__ = ["SINKS", "TAPPED", "Job", "Lane", "Wagon", "output_lane", "read_moment", "read_tap", "to_arrow"]

ARROW = pa.schema(
    [("bucket", pa.int32()), ("stage", pa.int32()), ("lane", pa.int32()), ("payload", pa.binary())]
)


class Lane(IntEnum):
    """What a wagon holds: from 0 on the entries of the plan, below the notes, and from OUTPUTS down the outputs."""

    MOMENT = -1
    COUNTS = -2
    REJECTS = -3
    PARTS = -4
    PLACES = -5
    CONTROLS = -6
    TAPS = -7
    VALUES = -9
    READS = -8
    OUTPUTS = -20


# The stage number of what goes to the sinks.
SINKS = 1_000_000
# A longer train goes in several wagons: what is packed is held in memory several times, here and in Java.
PIECE = 1 << 17
# So many tuples of a stream that somebody looks at are shown of each batch, at most.
TAPPED = 100


def output_lane(number: int) -> int:
    return Lane.OUTPUTS - number


@dataclass(frozen=True)
class Wagon:
    """`bucket` is the label by which Spark groups, `stage` where it is unloaded."""

    bucket: int
    stage: int
    lane: int
    payload: bytes


@dataclass(frozen=True)
class Job:
    """What every task must know: the plan, the number of buckets, the outputs that tasks write themselves, a folder of
    the local disk for copies of the state, and the outputs of which a field is counted by its values."""

    plan: Plan
    buckets: int
    parts: dict[str, StagingSink]
    scratch: str
    values: dict[str, tuple[str, Bins]] = field(default_factory=dict)

    def load_wagons(
        self, number: int, here: Mapping[Port | Entry, Train], counts: dict[str, BoxCounts], label: int
    ) -> Iterator[Wagon]:
        """All that leaves a stage."""
        marks = labels(self.buckets)
        for index, bucket, train in departures(self.plan, number, here, self.buckets):
            for payload in _pack(train):
                yield Wagon(marks[bucket], self.plan.entries[index].stage, index, payload)
        for index, (name, port) in enumerate(self.plan.outputs):
            result = here.get(port)
            if result is None or not len(result) or self.plan.made_in[port] != number:
                continue
            if name in self.values:
                yield Wagon(label, SINKS, Lane.VALUES, _json(_count_values(name, *self.values[name], result)))
            if name in self.parts:
                yield Wagon(label, SINKS, Lane.PARTS, _json(_stage(name, self.parts[name], result.arrange())))
            else:
                for payload in _pack(result):
                    yield Wagon(label, SINKS, output_lane(index), payload)
        if counts:
            yield Wagon(
                label, SINKS, Lane.COUNTS, _json({name: _counts(count) for name, count in counts.items()})
            )

    def tap_wagons(
        self, number: int, here: Mapping[Port | Entry, Train], taps: Iterable[str], label: int
    ) -> Iterator[Wagon]:
        """The last tuples of the streams that somebody looks at, where they are made."""
        for name in taps:
            port = next((port for port in self.plan.made_in if str(port) == name), None)
            train = None if port is None or self.plan.made_in[port] != number else here.get(port)
            if train is not None and len(train):
                shown = train.slice(max(len(train) - TAPPED, 0), TAPPED)
                yield Wagon(label, SINKS, Lane.TAPS, name.encode() + b"\0" + shown.to_bytes())

    def moments(self, stage: int, moment: Moment, controls: Controls | None = None) -> Iterator[Wagon]:
        """The moment and its controls for each bucket of a stage; behind the last stage, once, for the sinks."""
        told = {"now": moment.now, "before": moment.before, "end": moment.end, "wall": moment.wall}
        payload = _json({**told, "controls": (controls or Controls()).to_json()})
        if stage >= len(self.plan.stages):
            yield Wagon(0, SINKS, Lane.MOMENT, payload)
        else:
            for label in labels(self.buckets):
                yield Wagon(label, stage, Lane.MOMENT, payload)


def read_moment(payload: bytes) -> tuple[Moment, Controls]:
    """The moment of a batch, and its controls."""
    content = json.loads(payload)
    controls = Controls.from_json(content.pop("controls"))
    return Moment(**content), controls


def read_tap(payload: bytes) -> tuple[str, Train]:
    name, _, data = payload.partition(b"\0")
    return name.decode(), Train.from_bytes(data)


def to_arrow(wagons: Iterable[Wagon]) -> pa.RecordBatch:
    listed = list(wagons)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([wagon.bucket for wagon in listed], pa.int32()),
            pa.array([wagon.stage for wagon in listed], pa.int32()),
            pa.array([wagon.lane for wagon in listed], pa.int32()),
            pa.array([wagon.payload for wagon in listed], pa.binary()),
        ],
        schema=ARROW,
    )


def _pack(train: Train) -> Iterator[bytes]:
    """A train as it is sent; whoever gets the pieces puts them in order again."""
    for start in range(0, len(train), PIECE):
        yield train.slice(start, PIECE).to_bytes()


def _stage(name: str, sink: StagingSink, train: Train) -> dict[str, Any]:
    """Rows that stay where they are made; `first` is the place of the first of them in the order of emission."""
    try:
        part = stage_train(sink, train)
    except OSError as fault:
        raise cannot_write(sink.place or name, fault) from None
    arrived = sample_arrivals(train.arrived)
    return {
        "output": name,
        "rows": len(train),
        "first": int(train.keys[0, 0]),
        "part": part,
        "arrived": arrived,
    }


def _count_values(name: str, field: str, bins: Bins, train: Train) -> dict[str, Any]:
    values = train.rows.column(field).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return {"output": name, "counts": bins.count(values).tolist()}


def _counts(count: BoxCounts) -> dict[str, Any]:
    return {
        "taken": count.taken,
        "given": count.given,
        "ports": dict(count.ports),
        "nanoseconds": count.nanoseconds,
        "state": count.state,
        "discarded": dict(count.discarded),
    }


def _json(content: Any) -> bytes:
    return json.dumps(content).encode()
