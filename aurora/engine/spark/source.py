"""The Spark source: says which tuples make a batch, and cuts them into pieces for the tasks.

One source for all inputs, so that one offset says which tuples a batch holds: arrival numbers follow from it, and a
batch that is run again is the same batch. What it takes to read them is loaded in the tasks only.
"""

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from aurora.engine.spark.parcel import Parcel

if TYPE_CHECKING:
    import pyarrow as pa

    from aurora.algebra.state.turn import Moment
    from aurora.engine.sources.source import Cursor, Piece, Source
    from aurora.engine.wagons import Job

__all__ = ["Admission", "Task", "TrainSource", "packed"]

SQL = "bucket int, stage int, lane int, payload binary"
TICK = 200


@dataclass(frozen=True)
class Admission:
    """What the reader must know: the job, a source for each input, and how many rows of each make a batch."""

    job: "Parcel[Job]"
    sources: "dict[str, Source]"
    rows: int
    pieces: int
    has_timeouts: bool
    buckets: int

    @staticmethod
    def of(job: "Job", sources: "dict[str, Source]", rows: int, pieces: int) -> "Admission":
        return Admission(Parcel(job), sources, rows, pieces, job.plan.has_timeouts, job.buckets)

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
        tick = live and self.has_timeouts and wall - start["wall"] >= TICK
        if places == start["inputs"] and not end and not tick:
            return start
        rows = max(places[name]["row"] - start["inputs"][name]["row"] for name in places)
        given = [place["now"] for place in places.values() if "now" in place]
        now = max(given) if given else wall if live else 0
        number = start["number"] + rows * len(places) + 1
        return {"inputs": places, "number": number, "now": max(now, start["now"]), "wall": wall, "end": end}


@dataclass(frozen=True)
class Task(InputPartition):
    """A piece of an input; without one, the task that tells every bucket the moment, and the sinks the places."""

    moment: "Moment"
    wall: int
    label: int = 0
    input: int = 0
    start: "Cursor | None" = None
    piece: "Piece | None" = None
    places: "dict[str, Cursor] | None" = None


class TrainSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "aurora"

    def schema(self) -> str:
        return SQL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return TrainReader(cloudpickle.loads(base64.b64decode(self.options["admission"])))


class TrainReader(DataSourceStreamReader):
    def __init__(self, admission: "Parcel[Admission]") -> None:
        self._admission = admission

    def initialOffset(self) -> dict[str, Any]:
        return self._admission.open().first()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._admission.open().next(start, time.time_ns() // 1_000_000)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Task]:
        from aurora.algebra.state.turn import Moment
        from aurora.engine.buckets import labels

        admission = self._admission.open()
        moment = Moment(end["now"], start["number"], end["end"])
        tasks = [Task(moment, end["wall"], places=end["inputs"])]
        # What needs no stage on its way to the sinks is spread over all of them.
        marks = labels(admission.buckets)
        for index, (name, source) in enumerate(admission.sources.items()):
            before, after = start["inputs"][name], end["inputs"][name]
            for piece in source.pieces(before, after, admission.pieces):
                label = marks[len(tasks) % len(marks)]
                tasks.append(Task(moment, end["wall"], label, index, before, piece))
        return tasks

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from aurora.engine.spark.source_task import carry_out

        assert isinstance(partition, Task)
        admission = self._admission.open()
        yield from carry_out(partition, admission.job.open(), len(admission.sources))

    def commit(self, end: dict[str, Any]) -> None:
        """Spark asks for nothing before this place again."""
        from aurora.engine.sources.source import forget_before

        for name, source in self._admission.open().sources.items():
            forget_before(source, end["inputs"][name])

    def stop(self) -> None:
        pass


def packed(admission: Admission) -> str:
    """The admission as an option of the Spark source."""
    return base64.b64encode(cloudpickle.dumps(Parcel(admission))).decode()
