"""Where the tuples of a connection point go: behind each other into the files of its log."""

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import RESTORE, Damaged, named_faults, sync_file, sync_folder
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError
from aurora.history.log import DATA, INDEX, PUBLISHED, Log, Published, log_file
from aurora.history.segments import Segment, encode_segments
from aurora.network.points import Keep, Point

__all__ = ["PointSink"]

# Bytes from which on a new file is begun, and the share of what is kept that one file may have.
FILE = 64 << 20
SHARE = 4
STAGED = "_staged"


@dataclass(frozen=True)
class PointSink:
    """A sink of the run that makes the tuples; its note is what is published once the batch counts.

    It is `numbered`: the arrival numbers of what caused the rows come with them.
    """

    folder: str
    point: Point
    # Called when something new can be read, with the log's folder.
    told: Callable[[str], None] | None = None
    numbered: ClassVar[bool] = True
    aside: ClassVar[bool] = True
    inside: ClassVar[bool] = True

    @property
    def place(self) -> str:
        return os.path.join(os.path.realpath(self.folder), "")

    def __reduce__(self) -> tuple[Any, ...]:
        # Tasks write aside, and tell nobody.
        return PointSink, (self.folder, self.point)

    def open(self, note: Note) -> Note:
        os.makedirs(self.folder, exist_ok=True)
        if note is None:
            return self._begin()
        known = Published(**note)
        if known.form != self._form:
            raise AuroraError(
                f"point {self.point.name} was kept by {known.form} before, and is kept by {self._form} now: "
                "use the old one again, or start over with --fresh"
            )
        shutil.rmtree(os.path.join(self.folder, STAGED), ignore_errors=True)
        oldest = Log(self.folder).first()
        for name in os.listdir(self.folder):
            stem, kind = os.path.splitext(name)
            alone = kind == DATA and not os.path.exists(os.path.join(self.folder, stem + INDEX))
            if kind in (DATA, INDEX) and (int(stem) > known.file or (alone and int(stem) < known.file)):
                if int(stem) < known.file and (self.point.keep == Keep() or int(stem) > oldest):
                    # Whoever removes old rows begins with the oldest.
                    raise Damaged(f"{os.path.join(self.folder, stem)}{INDEX} is missing; {RESTORE}")
                os.unlink(os.path.join(self.folder, name))
        self._cut(known)
        # Whoever has worked through a stream that has ended need not begin again.
        there = _read_there(self.folder)
        ended = there.ended and (there.mark, there.rows) == (known.mark, known.rows)
        self.publish(vars(replace(known, ended=ended)))
        return vars(known)

    def _begin(self) -> Note:
        """Of a log that was here before nothing stays, neither copies nor readers."""
        known = Published(mark=uuid.uuid4().hex, form=self._form)
        Path(self.folder, PUBLISHED).unlink(missing_ok=True)
        for entry in os.scandir(self.folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        self.publish(vars(known))
        return vars(known)

    @property
    def _form(self) -> str:
        key = f", key {', '.join(self.point.key)}" if self.point.key else ""
        latest = ", latest" if self.point.keep.latest else ""
        return f"{self.point.on or 'arrival'}{key}{latest}"

    def _cut(self, known: Published) -> None:
        """Takes back what a killed run has written behind its last note."""
        for kind, size in ((DATA, known.data), (INDEX, known.index)):
            path = log_file(self.folder, known.file, kind)
            there = os.path.getsize(path) if os.path.exists(path) else 0
            if there < size:
                raise AuroraError(
                    f"{path} has {there:,} bytes, the checkpoint says that {size:,} were written: "
                    "restore it, or start over with --fresh"
                )
            if there > size:
                os.truncate(path, size)

    def deliver(
        self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note, numbers: Ints | None = None
    ) -> Note:
        before = self._room(Published(**note))
        with named_faults(log_file(self.folder, before.file)), self._at_end(before) as file:
            segments = _write(file, rows, arrived, numbers, self.point)
        return self._noted(before, segments)

    def stages(self, in_order: bool, local: bool) -> bool:
        return in_order

    def stage(self, rows: pa.RecordBatch, arrived: Ints, numbers: Ints | None = None) -> Note:
        aside = Path(self.folder, STAGED)
        aside.mkdir(parents=True, exist_ok=True)
        path = aside / uuid.uuid4().hex
        with named_faults(path), path.open("wb") as file:
            segments = _write(file, rows, arrived, numbers, self.point)
        return {"file": path.name, "segments": [vars(segment) for segment in segments]}

    def take(self, batch: int, parts: list[Note], note: Note) -> Note:
        known = self._room(Published(**note))
        with named_faults(log_file(self.folder, known.file)), self._at_end(known) as file:
            for part in parts:
                with open(os.path.join(self.folder, STAGED, part["file"]), "rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 22)
                file.flush()
                known = Published(**self._noted(known, [Segment.from_json(s) for s in part["segments"]]))
        for part in parts:
            os.unlink(os.path.join(self.folder, STAGED, part["file"]))
        return vars(known)

    def _at_end(self, known: Published) -> BinaryIO:
        """Open the last file for what comes next; raise a fault if something else has written to it."""
        path = log_file(self.folder, known.file)
        file = open(path, "ab")  # noqa: SIM115
        found = file.tell()
        if found != known.data:
            file.close()
            raise Damaged(
                f"{path} was changed by something else while the run wrote it: it has {found:,} bytes, "
                f"{known.data:,} were written; {RESTORE}"
            )
        return file

    def _room(self, known: Published) -> Published:
        """The same log, with a new file if the last one has enough."""
        keep = self.point.keep
        enough = known.data >= FILE
        if keep.rows is not None:
            enough |= known.rows - known.file >= max(keep.rows // SHARE, 1)
        elif keep.span is not None and known.since is not None:
            enough |= known.reached - known.since >= keep.span / SHARE
        if not enough or known.rows == known.file:
            return known
        return replace(known, file=known.rows, index=0, data=0, since=known.reached)

    def _noted(self, known: Published, segments: list[Segment]) -> Note:
        """Writes the lines of the index; gives the note with the segments behind what was known."""
        moved = [segment.moved(known.rows, known.data) for segment in segments]
        lines = b"".join(segment.to_line() for segment in moved)
        path = log_file(self.folder, known.file, INDEX)
        with named_faults(path), open(path, "ab") as file:
            file.write(lines)
        extents = (s.arrived if self.point.on is None else s.on for s in moved)
        values = [extent[1] for extent in extents if extent is not None]
        reached = max(values + ([] if known.reached is None else [known.reached]), default=None)
        later = replace(
            known,
            rows=known.rows + sum(segment.rows for segment in moved),
            index=known.index + len(lines),
            data=known.data + sum(segment.head + segment.length for segment in moved),
            reached=reached,
            since=reached if known.since is None else known.since,
        )
        return vars(later)

    def sync(self) -> None:
        last = (Log(self.folder).files() or [0])[-1]
        for kind in (DATA, INDEX):
            path = log_file(self.folder, last, kind)
            if os.path.exists(path):
                sync_file(path)
        sync_folder(self.folder)

    def publish(self, note: Note) -> None:
        """The batch counts: what it brought may be read."""
        Published(**note).write(self.folder)
        if self.told is not None:
            self.told(self.folder)

    def finish(self) -> None:
        shutil.rmtree(os.path.join(self.folder, STAGED), ignore_errors=True)


def _read_there(folder: str) -> Published:
    """Return what was published last, or nothing where that is damaged: it is written anew."""
    try:
        return Published.read(folder)
    except Damaged:
        return Published()


def _write(
    file: BinaryIO, rows: pa.RecordBatch, arrived: Ints, numbers: Ints | None, point: Point
) -> list[Segment]:
    segments = []
    for segment, data in encode_segments(rows, arrived, point.on, point.key, numbers):
        file.write(data)
        segments.append(segment)
    return segments
