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
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from aurora.engine.controls import ControlNotes, Controls
from aurora.engine.fault_notes import note_fault
from aurora.engine.pacing import RECENT, Trip, train_length
from aurora.engine.spark.garbage import set_loaded_aside
from aurora.engine.spark.lazy_pickle import LazyPickle
from aurora.engine.spark.sums import check_offset, seal_offset
from aurora.engine.waits import waits
from aurora.errors import AuroraError

if TYPE_CHECKING:
    import pyarrow as pa

    from aurora.algebra.state.turn import Moment
    from aurora.engine.sources.source import Cursor, Piece, Source
    from aurora.engine.spark.tending import Visit
    from aurora.engine.wagons import Job

__all__ = ["Admission", "Stopwatch", "Task", "TrainSource", "pack_admission"]

SQL = "bucket int, stage int, lane int, payload binary"
TICK = 200
# So many bytes are read in a batch at most, about, where the sources can say how wide their rows are.
MOST_BYTES = 1 << 29
# How long a batch of live sources should take, in milliseconds, unless the settings say so.
LIVE_TARGET = 1000


@dataclass(frozen=True)
class Admission:
    """What the reader must know: the job, a source for each input, and how many rows of each make a batch at most;
    fewer where they are wide.

    A batch should take `target` milliseconds; without it, stored files come in the longest trains. One of live sources
    takes `longest` at most, about, however much waits. `notes` is the folder through which the reader learns of new
    controls. The first `warm_up` batches have no rows. Where the query is the user's own, `mark` is that of the
    checkpoint of its sources, and `tended` are its folder and the lock of the one who feeds them.
    """

    job: "LazyPickle[Job]"
    sources: "dict[str, Source]"
    rows: int
    pieces: int
    has_timeouts: bool
    buckets: int
    target: int | None = None
    longest: int | None = None
    notes: str | None = None
    mark: str | None = None
    tended: tuple[str, str] | None = None
    warm_up: int = 0
    # Where tasks note what they wait for.
    waits: str | None = None

    @staticmethod
    def of(job: "Job", sources: "dict[str, Source]", rows: int, pieces: int) -> "Admission":
        return Admission(LazyPickle(job), sources, rows, pieces, job.plan.has_timeouts, job.buckets)

    @property
    def live(self) -> bool:
        return any(source.live for source in self.sources.values())

    @property
    def _history(self) -> bool:
        """Whether nobody waits for what is there when the run begins: it is worked through like a stored file."""
        return all(getattr(source, "history", False) for source in self.sources.values())

    def first(self) -> dict[str, Any]:
        return {
            "inputs": {name: source.begin() for name, source in self.sources.items()},
            "batch": 0,
            "number": 0,
            "now": 0,
            "wall": 0,
            "end": False,
            "length": 0,
            "rows": 0,
            "took": None,
            "apart": None,
            "recent": [],
            "waiting": {},
            "controls": Controls().to_json(),
            **({} if self.mark is None else {"mark": self.mark}),
        }

    def next(
        self,
        start: dict[str, Any],
        wall: int,
        controls: Controls | None = None,
        took: int | None = None,
        limits: dict[str, int] | None = None,
    ) -> dict[str, Any]:
        """The offset of the next batch, or the same one if there is nothing to do; `took` is what the last one took.

        The first batch comes at once, with what is there: Spark would make it anyway, and so every batch is counted.
        So do all that warm up.

        Each input advances by the same number of rows: so tuples of several files interleave alike, however the
        files are cut into batches. `limits` are the rows at which live inputs stop.
        """
        from aurora.engine.sources.in_order.turns import count_turns
        from aurora.engine.sources.source import unit_of

        controls = controls or Controls()
        held, first = not controls.allow(start["batch"]), start["batch"] < max(self.warm_up, 1)
        if start["end"] or (held and not first):
            return start
        held = held or start["batch"] < self.warm_up
        live = self.live
        recent = _add_trip(start, took)
        length = self._length(start, controls, took, live, recent)
        places = start["inputs"] if held else self._advance(start["inputs"], length, limits or {})
        end = not held and all(source.finished(places[name]) for name, source in self.sources.items())
        tick = live and limits is None and self.has_timeouts and wall - start["wall"] >= TICK
        if places == start["inputs"] and not end and not tick and not first:
            return start
        moved = {name: places[name]["row"] - start["inputs"][name]["row"] for name in places}
        turns = count_turns(self.sources, moved)
        whole = {name: count // unit_of(self.sources[name]) for name, count in moved.items()}
        given = [place["now"] for place in places.values() if "now" in place]
        now = max(given) if given else wall if live else 0
        return {
            "inputs": places,
            "batch": start["batch"] + 1,
            "number": start["number"] + 2 * (turns * len(places) + 1),
            "now": max(now, start["now"]),
            "wall": wall,
            "end": end,
            "length": length,
            "rows": count_turns(self.sources, whole),
            "took": took,
            "apart": wall - start["wall"] if start["wall"] else None,
            "recent": recent,
            "waiting": self._waiting(places),
            "controls": controls.to_json(),
            **({} if self.mark is None else {"mark": self.mark}),
        }

    def _advance(
        self, places: "dict[str, Cursor]", length: int, limits: dict[str, int]
    ) -> "dict[str, Cursor]":
        from aurora.engine.sources.in_order.turns import find_room

        reached = {}
        for name, source in self.sources.items():
            room = find_room(self.sources, name, places, limits)
            rows = length if room is None else min(length, room)
            reached[name] = source.advance(places[name], rows) if rows > 0 else places[name]
        return reached

    def find_limits(self, places: "dict[str, Cursor]") -> dict[str, int]:
        """How far the live inputs go by now."""
        from aurora.engine.sources.in_order.turns import find_stopping

        chosen = find_stopping(self.sources)
        reached = {name: places[name] for name in chosen}
        while True:
            further = {name: source.advance(reached[name], self.rows) for name, source in chosen.items()}
            if all(further[name]["row"] == place["row"] for name, place in reached.items()):
                return {name: int(place["row"]) for name, place in reached.items()}
            reached = further

    def _waiting(self, places: "dict[str, Cursor]") -> dict[str, int | None]:
        from aurora.engine.sources.source import rows_waiting

        return {name: rows_waiting(source, places[name]) for name, source in self.sources.items()}

    def _length(
        self,
        start: dict[str, Any],
        controls: Controls,
        took: int | None,
        live: bool,
        recent: list[tuple[int, int]],
    ) -> int:
        if controls.rows is not None:
            return min(controls.rows, self.rows)
        longest = None if controls.patient else self.longest
        target = self.target or (min(LIVE_TARGET, longest or LIVE_TARGET) if live else None)
        most = self._find_most(start["inputs"])
        if target is None:
            return most
        left = sum(rows or 0 for rows in start.get("waiting", {}).values())
        last = Trip(start["length"], start["rows"], took, left) if start["length"] else None
        if last is None and self.longest is None and self._history:
            return most
        return train_length(last, target, most, live, longest if live else None, recent)

    def _find_most(self, places: "dict[str, Cursor]") -> int:
        """The rows of each input that fit into memory: those of all inputs advance together."""
        from aurora.engine.sources.source import bytes_of_row

        wide = sum(bytes_of_row(source, places[name]) for name, source in self.sources.items())
        return self.rows if wide == 0 else max(min(self.rows, MOST_BYTES // wide), 1)


def _add_trip(start: dict[str, Any], took: int | None) -> list[tuple[int, int]]:
    """The rows and milliseconds of the last few batches, with the one that has just ended."""
    # An offset of an earlier version says nothing of them.
    known: list[tuple[int, int]] = start.get("recent", [])
    return known if took is None or not start["rows"] else [*known, (start["rows"], took)][-RECENT:]


@dataclass(frozen=True)
class Task(InputPartition):
    """A piece of an input; without one, the task that tells every bucket the moment, and the sinks the places, and the
    number `behind` all that the batch brings forth, the milliseconds that the batch before `took`, and by which it was
    made `apart` from this one, and how many rows of each input are left `waiting`."""

    moment: "Moment"
    wall: int
    controls: Controls
    label: int = 0
    input: int = 0
    start: "Cursor | None" = None
    piece: "Piece | None" = None
    places: "dict[str, Cursor] | None" = None
    behind: int = 0
    took: int | None = None
    apart: int | None = None
    waiting: "dict[str, int | None] | None" = None


class Stopwatch:
    """How long the batches took that were admitted here: what is waited for new input is no part of it."""

    def __init__(self) -> None:
        self._admitted = -1
        self._took: tuple[int, int | None] = (-1, None)

    def took(self, start: dict[str, Any], wall: int) -> int | None:
        """The first question behind a batch comes when it is done. None for one that another process has admitted."""
        batch = start["batch"]
        if self._took[0] != batch:
            self._took = (batch, wall - start["wall"] if batch == self._admitted else None)
        return self._took[1]

    def admit(self, offset: dict[str, Any]) -> None:
        self._admitted = offset["batch"]


class TrainSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "aurora"

    def schema(self) -> str:
        return SQL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return TrainReader(cloudpickle.loads(base64.b64decode(self.options["admission"])))


class TrainReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, admission: "LazyPickle[Admission]") -> None:
        self._admission = admission
        self._watch = Stopwatch()
        self._answered = -1
        self._visit: Visit | None = None
        # With the trigger that takes what there is: where live inputs stop, once that is known.
        self._stops = False
        self._limits: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, Any]:
        return self._admission.open().first()

    def prepareForTriggerAvailableNow(self) -> None:
        self._stops = True

    def _enter(self, start: dict[str, Any]) -> "Admission":
        """What is needed before the first question is answered, where the query is the user's own."""
        admission = self._admission.open()
        if admission.tended is not None and self._visit is None:
            from aurora.engine.spark.tending import Visit

            if start.get("mark") != admission.mark:
                raise AuroraError(
                    f"this query did not begin with the checkpoint {admission.tended[0]}: give to_dataframe the one "
                    "that it began with, or start over with new folders for both"
                )
            self._visit = Visit(*admission.tended)
            self._visit.enter()
        return admission

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        admission = self._enter(start)
        waits.note_in(admission.waits)
        if self._stops and self._limits is None:
            self._limits = admission.find_limits(start["inputs"])
        wall = time.time_ns() // 1_000_000
        controls = self._controls(admission.notes, start["batch"])
        offset = admission.next(start, wall, controls, self._watch.took(start, wall), self._limits)
        if offset is start:
            return start
        self._watch.admit(offset)
        return seal_offset(offset)

    def _controls(self, folder: str | None, made: int) -> Controls:
        """The controls of now. Whoever has set them hears how many batches were made, and are done, without them."""
        if folder is None:
            return Controls()
        notes = ControlNotes(folder)
        number, controls = notes.last_order()
        if made and number != self._answered:
            notes.answer(number, made)
            self._answered = number
        return controls

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Task]:
        from aurora.algebra.state.turn import Moment
        from aurora.engine.plan.buckets import labels
        from aurora.engine.sources.source import EmptyPiece

        for offset in (start, end):
            check_offset(offset, f"the plan of batch {offset.get('batch')} in Spark's checkpoint")
        admission = self._enter(start)
        moment = Moment(end["now"], start["number"], end["end"], end["wall"])
        controls = Controls.from_json(end["controls"])
        tasks = [
            Task(
                moment,
                end["wall"],
                controls,
                places=end["inputs"],
                behind=end["number"],
                # An offset of an earlier version says none of these.
                took=end.get("took"),
                apart=end.get("apart"),
                waiting=end.get("waiting", {}),
            )
        ]
        # What needs no stage on its way to the sinks is spread over all of them.
        marks = labels(admission.buckets)
        for index, (name, source) in enumerate(admission.sources.items()):
            before, after = start["inputs"][name], end["inputs"][name]
            pieces = source.pieces(before, after, admission.pieces)
            if start["batch"] < admission.warm_up:
                pieces = pieces or [EmptyPiece()] * admission.pieces
            for piece in pieces:
                label = marks[len(tasks) % len(marks)]
                tasks.append(Task(moment, end["wall"], controls, label, index, before, piece))
        return tasks

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from aurora.engine.spark.source_task import carry_out

        assert isinstance(partition, Task)
        admission = self._admission.open()
        job = admission.job.open()
        waits.note_in(admission.waits)
        try:
            yield from carry_out(partition, job, len(admission.sources))
            set_loaded_aside()
        except AuroraError as fault:
            note_fault(job.scratch, fault)
            raise

    def commit(self, end: dict[str, Any]) -> None:
        """Spark asks for nothing before this place again."""
        from aurora.engine.sources.source import forget_before

        for name, source in self._admission.open().sources.items():
            forget_before(source, end["inputs"][name])

    def stop(self) -> None:
        if self._visit is not None:
            self._visit.leave()


def pack_admission(admission: Admission) -> str:
    """The admission as an option of the Spark source."""
    return base64.b64encode(cloudpickle.dumps(LazyPickle(admission))).decode()
