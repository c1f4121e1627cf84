"""A DataFrame of Spark's as a source: its rows go, each once and in order, into a log that the network reads."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import cannot_write, read_json, read_whole, write_whole
from aurora.engine.sinks.sink import Note
from aurora.engine.sources.source import Cursor, Feed, Piece, Source
from aurora.engine.spark.callbacks import guard_callbacks
from aurora.engine.spark.faults import tell_fault
from aurora.engine.spark.stopping import Stopping
from aurora.errors import AuroraError
from aurora.history.frame_fields import choose_fields
from aurora.history.keeping import remove_old
from aurora.history.log import Log, Published
from aurora.history.point_sink import PointSink
from aurora.history.point_source import READERS, PointSource, note_reader, reader_name
from aurora.network.network import Port
from aurora.network.points import Keep, Point

__all__ = ["Frame", "FrameFeed", "FrameSource"]

# So many rows of a partition are written aside together.
CHUNK = 1 << 18
READER = reader_name("#network", 0)
# Nothing is kept but what the network has not taken yet.
POINT = Point("frame", Port("frame"), Keep(rows=0))
LOG, TAKEN, BROKEN, SPARK = "log", "taken.json", "broken", "spark"
FAULTS = (PySparkException, Py4JError, OSError)
# How long a micro-batch under way may take to end before it is interrupted, in seconds.
PATIENCE = 5.0


@dataclass(frozen=True, eq=False)
class Frame:
    """A batch or streaming DataFrame of your Spark session, as a source.

    Its rows arrive in the order of its partitions, those of a stream micro-batch by micro-batch. They are written
    into the checkpoint before the network sees them, so a run that continues after a kill finds the same rows, even if
    the DataFrame would give others. A stream ends with the rows available now, unless the run follows its sources.
    """

    frame: DataFrame

    def open_source(
        self, name: str, schema: Schema, folder: Path, follow: bool
    ) -> tuple[Source, Feed | None]:
        """A feed that stores the rows of the DataFrame in `folder`, and the source that reads them from there."""
        if not isinstance(self.frame, DataFrame) or not hasattr(self.frame, "_jdf"):
            raise AuroraError(
                f"source {name}: a Frame holds a DataFrame of a Spark session in this process, found a "
                f"{type(self.frame).__module__}.{type(self.frame).__qualname__}; give other rows as Memory.of(..)"
            )
        streaming = self.frame.isStreaming
        chosen = choose_fields(self.frame, name, schema)
        feed = FrameFeed(name, chosen, schema, folder, streaming, follow and streaming)
        return FrameSource(str(folder), str(schema), follow and streaming, uuid.uuid4().hex), feed


@dataclass(frozen=True)
class FrameSource:
    """What the log holds so far. `live` if rows come as long as the network runs."""

    folder: str
    fields: str
    live: bool
    # Tells it from one that was opened before: what a process has read of an earlier log is not taken for this.
    mark: str = ""

    @property
    def keeps(self) -> bool:
        return True

    @cached_property
    def _log(self) -> PointSource:
        return PointSource(str(Path(self.folder, LOG)), 0, READER)

    def identity(self) -> str:
        return f"DataFrame ({self.fields})"

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        reached = self._log.advance(cursor, rows)
        if reached["row"] == cursor["row"]:
            with suppress(FileNotFoundError):
                raise AuroraError(read_whole(Path(self.folder, BROKEN)))
        return reached

    def finished(self, cursor: Cursor) -> bool:
        return self._log.finished(cursor)

    def waiting(self, cursor: Cursor) -> int:
        return self._log.waiting(cursor)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        return self._log.pieces(start, end, number)

    def forget(self, cursor: Cursor) -> None:
        self._log.forget(cursor)


class FrameFeed:
    """Writes the rows into the log. A stream is a query of its own in the session of its DataFrame.

    A micro-batch counts when it is noted; one that comes again after a kill is left out. `once`: nobody can say
    whether the DataFrame would give the same rows again, so a run that has ended begins anew.
    """

    once = True

    def __init__(
        self, name: str, frame: DataFrame, schema: Schema, folder: Path, streaming: bool, follow: bool
    ) -> None:
        self._name = name
        self._frame = frame
        self._schema = schema
        self._folder = folder
        self._streaming, self._follow = streaming, follow
        self._sink = PointSink(str(folder / LOG), POINT, _remove)
        self._batch = -1
        self._note: Note = None
        self._query: StreamingQuery | None = None
        self._watching: threading.Thread | None = None
        self._stopped = threading.Event()
        self._stopping = Stopping()

    def connect(self) -> None:
        self._open()
        ended = Published.read(self._sink.folder).ended
        if not self._streaming and not ended:
            with self._told():
                self._write(self._frame, 0)
            self._end()
        elif self._streaming and (self._follow or not ended):
            self._set_ended(False)
            with self._told():
                self._query = self._start()
            self._watching = threading.Thread(target=self._watch, name=f"source {self._name}", daemon=True)
            self._watching.start()

    def catch_up(self) -> None:
        if self._query is not None and self._follow:
            with suppress(*FAULTS):
                self._query.processAllAvailable()
        elif self._watching is not None:
            self._watching.join()

    def stop(self) -> None:
        self._stopped.set()
        if self._query is not None:
            with suppress(*FAULTS):
                self._stopping.stop(self._query, PATIENCE)

    def _open(self) -> None:
        """Goes on behind the last micro-batch that is noted."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / BROKEN).unlink(missing_ok=True)
            noted = self._folder / TAKEN
            found: dict[str, Any] = read_json(noted) if noted.exists() else {}
            self._batch = found.get("batch", -1)
            self._note = self._sink.open(found.get("note"))
            if not Path(self._sink.folder, READERS, READER).exists():
                note_reader(self._sink.folder, READER, 0)
            if not found:
                self._store()
        except OSError as fault:
            raise cannot_write(self._folder, fault) from None

    def _store(self) -> None:
        write_whole(self._folder / TAKEN, json.dumps({"batch": self._batch, "note": self._note}))

    def _start(self) -> StreamingQuery:
        guard_callbacks(self._frame.sparkSession.sparkContext)
        writer = self._frame.writeStream.foreachBatch(self._take).queryName(f"aurora source {self._name}")
        writer = writer.option("checkpointLocation", f"file://{(self._folder / SPARK).absolute()}")
        # As often as rows come, or until there are no more.
        return (writer if self._follow else writer.trigger(availableNow=True)).start()

    def _take(self, rows: DataFrame, batch: int) -> None:
        if self._stopped.is_set():
            # If this came back in peace, Spark would count the batch as done.
            raise self._stopping.leave(self._query)
        if batch <= self._batch:
            return
        try:
            self._write(rows, batch)
        except FAULTS:
            if not self._stopped.is_set():
                raise
            raise self._stopping.leave(self._query) from None

    def _write(self, rows: DataFrame, batch: int) -> None:
        """Write a micro-batch into the log, and note it."""
        stage = _stager(self._sink, str(self._schema), time.time_ns() // 1_000_000)
        staged = rows.mapInArrow(stage, "partition int, number int, note string").collect()
        parts = [json.loads(part.note) for part in sorted(staged, key=lambda part: part[:2])]
        if parts:
            self._note = self._sink.take(batch, parts, self._note)
            self._sink.sync()
        self._batch = batch
        self._store()
        self._sink.publish(self._note)

    def _watch(self) -> None:
        """Notes the end of the query: all is there, or it has failed, or somebody has stopped it."""
        assert self._query is not None
        fault = f"source {self._name}: the query of its DataFrame was stopped; start the run again to go on"
        try:
            self._query.awaitTermination()
        except FAULTS as error:
            fault = _tell(self._name, error)
        else:
            if not self._follow and not self._stopped.is_set():
                self._end()
                return
        if not self._stopped.is_set():
            with suppress(OSError):
                write_whole(self._folder / BROKEN, fault)

    def _end(self) -> None:
        self._set_ended(True)

    def _set_ended(self, ended: bool) -> None:
        known = Published.read(self._sink.folder)
        if known.ended != ended:
            replace(known, ended=ended).write(self._sink.folder)

    def _told(self) -> "_Told":
        return _Told(self._name)


class _Told:
    """What Spark cannot do with a DataFrame, in one line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if isinstance(fault, FAULTS):
            raise AuroraError(_tell(self._name, fault)) from None


def _tell(name: str, fault: BaseException) -> str:
    cause = tell_fault(fault).removeprefix("the run failed: ")
    return f"source {name}: its DataFrame cannot be read: {cause}"


def _remove(folder: str) -> None:
    remove_old(Log(folder), POINT)


def _stager(
    sink: PointSink, fields: str, arrived: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Writes the rows of a partition aside, where they are, and tells which files they are in."""

    def stage(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for number, rows in enumerate(_chunks(batches, Schema.parse(fields).arrow())):
            note = sink.stage(rows, np.full(rows.num_rows, arrived, np.int64))
            told = [[context.partitionId()], [number], [json.dumps(note)]]
            arrays = [pa.array(value, kind) for value, kind in zip(told, NOTED.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=NOTED)

    return stage


NOTED = pa.schema({"partition": pa.int32(), "number": pa.int32(), "note": pa.string()})


def _chunks(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch.cast(schema))
        if sum(part.num_rows for part in held) >= CHUNK:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)
