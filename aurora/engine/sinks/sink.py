"""What a sink is: the one contract between a run and the places where its results go."""

import os
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Train
from aurora.engine.sources.source import Reject
from aurora.errors import AuroraError

__all__ = [
    "Interrupted",
    "Note",
    "Sink",
    "StagingSink",
    "deliver_train",
    "inner_key",
    "interrupt",
    "is_shared",
    "moves_along",
    "publish",
    "sink_key",
    "stage_train",
    "syncs_aside",
    "take_refused",
]

# How far a sink has come: plain JSON, kept with the batch that it tells of.
Note = Any


class Interrupted(AuroraError):
    """A sink stopped waiting because the run is to stop; the next run repeats its batch."""


@runtime_checkable
class Sink(Protocol):
    """What a network may write to. Pass a sink of your own to `run` as an object.

    A batch counts only once its note is on disk: `open` undoes what a killed run wrote after the last note. A sink may
    have more methods: `publish(note)` is called when the batch of a note counts; `refused()` returns the rows of the
    last batch that the target did not accept, and they go to the rejects; `interrupt()` is called from another thread
    when the run is to stop, and a sink that waits then raises `Interrupted`.
    """

    @property
    def place(self) -> str | None:
        """The real path of the file that it writes, so that no other run or sink writes there; None if it writes none.

        The path of a folder ends in a slash.
        """
        ...

    def open(self, note: Note) -> Note:
        """Before the first batch of a run: undoes what came after `note`, or starts over if it is None.

        Returns the note to continue from. Calling it twice does no harm.
        """
        ...

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        """The rows of a batch, in the order of emission, with their arrival in milliseconds since 1970."""
        ...

    def sync(self) -> None:
        """Makes sure that what was delivered survives a power cut; the note is written afterwards."""
        ...

    def finish(self) -> None:
        """After the last batch of a run: removes everything that is not part of the result."""
        ...


@runtime_checkable
class StagingSink(Sink, Protocol):
    """A sink whose rows can be written where they are made, in Spark's tasks, and collected later."""

    def stages(self, in_order: bool, local: bool) -> bool:
        """Whether to stage: `in_order` if parts do not overlap in the order of emission, `local` if tasks run here."""
        ...

    def stage(self, rows: pa.RecordBatch, arrived: Ints) -> Note:
        """Writes rows to a temporary place and returns where; what a repeated task wrote is never taken."""
        ...

    def take(self, batch: int, parts: list[Note], note: Note) -> Note:
        """Like `deliver`, for rows that are staged: `parts` are the notes of `stage`, in the order of emission."""
        ...


def is_shared(sink: Sink) -> bool:
    """Whether others may write to the same place: only what says so."""
    return bool(getattr(sink, "shared", False))


def moves_along(sink: Sink) -> bool:
    """Whether it writes into the home of its run, so that it lies elsewhere once the home does."""
    return bool(getattr(sink, "inside", False))


def syncs_aside(sink: Sink) -> bool:
    """Whether another thread may make sure that its rows survive a power cut, while others do so with theirs."""
    return bool(getattr(sink, "aside", False))


def deliver_train(sink: Sink, batch: int, train: Train, note: Note) -> Note:
    """Rows of a batch for a sink; one that is `numbered` also gets the arrival numbers of what caused them."""
    if getattr(sink, "numbered", False):
        return sink.deliver(batch, train.rows, train.arrived, note, numbers=train.keys[0])  # type: ignore[call-arg]
    return sink.deliver(batch, train.rows, train.arrived, note)


def stage_train(sink: StagingSink, train: Train) -> Note:
    """The same where the rows are written aside."""
    if getattr(sink, "numbered", False):
        return sink.stage(train.rows, train.arrived, numbers=train.keys[0])  # type: ignore[call-arg]
    return sink.stage(train.rows, train.arrived)


def publish(sink: Sink, note: Note) -> None:
    """Tells the sink, if it wants to know, that the batch of this note counts."""
    told = getattr(sink, "publish", None)
    if callable(told):
        told(note)


def take_refused(sink: Sink) -> list[Reject]:
    """The rows of the batch just delivered that the place of the sink did not take."""
    ask = getattr(sink, "refused", None)
    return list(ask()) if callable(ask) else []


def interrupt(sink: Sink) -> None:
    """Tells the sink, if it wants to know, that the run is to stop."""
    told = getattr(sink, "interrupt", None)
    if callable(told):
        told()


def sink_key(name: str, sink: Sink) -> str:
    """Return under what the note of a sink is kept: sinks that share a place go on from one note."""
    return sink.place or name


def inner_key(place: str, root: str) -> str | None:
    """Return what stands for a place within a folder, wherever that is moved; None for a place outside."""
    outer = os.path.join(os.path.realpath(root), "")
    return f"./{place.removeprefix(outer)}" if place.startswith(outer) else None
