"""The Spark source: reads all inputs of a network, runs the boxes without state, and loads trains for the buckets.

One source for all inputs, so that one offset says which tuples a batch holds: arrival numbers follow from it, and a
batch that is run again is the same batch.
"""

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from aurora.algebra.train import Train
from aurora.algebra.turn import Moment, State
from aurora.engine.buckets import labels
from aurora.engine.projection import narrowed
from aurora.engine.sources.source import REJECTS, Cursor, Piece, Portion, Source
from aurora.engine.stage import run_stage
from aurora.engine.wagons import PLACES, REJECTED, SINKS, SQL, Job, Wagon, to_arrow
from aurora.network.network import Port

__all__ = ["Admission", "TrainSource", "packed"]

TICK = 200


@dataclass(frozen=True)
class Admission:
    """What the reader must know: the job, a source for each input, and how many rows of each make a batch."""

    job: Job
    sources: dict[str, Source]
    rows: int
    pieces: int

    def first(self) -> dict[str, Any]:
        return {
            "inputs": {name: source.begin() for name, source in self.sources.items()},
            "number": 0,
            "now": 0,
            "wall": 0,
            "end": False,
        }

    def next(self, start: dict[str, Any], wall: int) -> dict[str, Any]:
        """The offset of the next batch, or the same one if there is nothing to do.

        Each input advances by the same number of rows: so tuples of several files interleave alike, however the
        files are cut into batches.
        """
        if start["end"]:
            return start
        places = {
            name: source.advance(start["inputs"][name], self.rows) for name, source in self.sources.items()
        }
        end = all(source.finished(places[name]) for name, source in self.sources.items())
        live = any(source.live for source in self.sources.values())
        tick = live and self.job.plan.has_timeouts and wall - start["wall"] >= TICK
        if places == start["inputs"] and not end and not tick:
            return start
        rows = max(places[name]["row"] - start["inputs"][name]["row"] for name in places)
        given = [place["now"] for place in places.values() if "now" in place]
        now = max(given) if given else wall if live else 0
        number = start["number"] + rows * len(places) + 1
        return {"inputs": places, "number": number, "now": max(now, start["now"]), "wall": wall, "end": end}


@dataclass(frozen=True)
class _Task(InputPartition):
    """A piece of an input; without one, the task that tells every bucket the moment, and the sinks the places."""

    moment: Moment
    wall: int
    label: int = 0
    input: int = 0
    start: Cursor | None = None
    piece: Piece | None = None
    places: dict[str, Cursor] | None = None


class TrainSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "aurora"

    def schema(self) -> str:
        return SQL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return TrainReader(cloudpickle.loads(base64.b64decode(self.options["admission"])))


class TrainReader(DataSourceStreamReader):
    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def initialOffset(self) -> dict[str, Any]:
        return self._admission.first()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._admission.next(start, time.time_ns() // 1_000_000)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[_Task]:
        moment = Moment(end["now"], start["number"], end["end"])
        tasks = [_Task(moment, end["wall"], places=end["inputs"])]
        # What needs no stage on its way to the sinks is spread over all of them.
        marks = labels(self._admission.job.buckets)
        for index, (name, source) in enumerate(self._admission.sources.items()):
            before, after = start["inputs"][name], end["inputs"][name]
            for piece in source.pieces(before, after, self._admission.pieces):
                label = marks[len(tasks) % len(marks)]
                tasks.append(_Task(moment, end["wall"], label, index, before, piece))
        return tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Task)
        job = self._admission.job
        if partition.piece is None:
            places = Wagon(0, SINKS, PLACES, json.dumps(partition.places).encode())
            yield to_arrow([*job.tokens(1, partition.moment), places])
            return
        name, schema = job.plan.inputs[partition.input]
        portion = partition.piece.read(schema)
        train = self._numbered(portion, partition)
        here, counts = run_stage(job.plan, 0, {Port(name): [train]}, State(), partition.moment)
        wagons = list(job.loaded(0, here, counts, partition.label))
        if portion.rejects:
            wagons.append(Wagon(partition.label, SINKS, REJECTED, _rejects(name, portion, train)))
        if wagons:
            yield to_arrow(wagons)

    def _numbered(self, portion: Portion, task: _Task) -> Train:
        """Arrival numbers: row by row through all inputs, behind those of the batches before."""
        assert task.start is not None
        inputs = len(self._admission.sources)
        keys = task.moment.before + 1 + (portion.numbers - task.start["row"]) * inputs + task.input
        rows = narrowed(portion.rows, self._admission.job.plan.inputs[task.input][1])
        arrived = np.full(len(keys), task.wall, np.int64) if portion.arrived is None else portion.arrived
        return Train(rows, arrived, keys[None])

    def commit(self, end: dict[str, Any]) -> None:
        pass

    def stop(self) -> None:
        pass


def _rejects(name: str, portion: Portion, train: Train) -> bytes:
    rows = [
        {"source": name, "file": bad.file, "line": bad.line, "reason": bad.reason, "text": bad.text}
        for bad in portion.rejects
    ]
    batch = pa.RecordBatch.from_pylist(rows, REJECTS.arrow())
    line = np.array([bad.line for bad in portion.rejects], np.int64)
    return Train(batch, np.zeros(len(rows), np.int64), line[None]).to_bytes()


def packed(admission: Admission) -> str:
    """The admission as an option of the Spark source."""
    return base64.b64encode(cloudpickle.dumps(admission)).decode()
