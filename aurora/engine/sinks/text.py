"""One file of lines, written in the order of emission; what a killed run wrote beyond its last commit is cut off."""

import os
import shutil
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import BinaryIO, ClassVar

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import sync_file, sync_folder
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["TextSink"]

# Makes lines of rows and of their arrival times in milliseconds since 1970.
Encoder = Callable[[pa.RecordBatch, Ints], bytes]
# So many rows are made lines of together: the text of millions need not be in memory.
ROWS = 1 << 17
# Bytes at the end of a file by which it is known again.
LOOKED_AT = 4096
# What to do about a file that others have changed. Nothing was written to it since.
RESTORE = "nothing was added to it; restore it and give the same command again, or start over with --fresh"


@dataclass(frozen=True)
class TextSink:
    """A file of lines. Its note is the size of the file, a checksum of its last bytes, and its device and inode.

    While a run writes, nobody else may: a batch that finds another file there, or one of another size, ends the run.
    With `in_tasks`, Spark's workers make the lines, if they have the rows in order. Several outputs may share one path
    if all their sinks are `shared`: each batch then has the rows of one output after the other.
    """

    path: str
    encode: Encoder
    header: bytes = b""
    in_tasks: bool = False
    shared: bool = False
    aside: ClassVar[bool] = True

    @property
    def place(self) -> str:
        """The real path of the file."""
        return os.path.realpath(self.path)

    @property
    def _staged(self) -> Path:
        return Path(self.place).parent / f".{Path(self.place).name}.staged"

    def open(self, note: Note) -> Note:
        """Creates the file, or cuts it back to the length that `note` says."""
        path = Path(self.place)
        path.parent.mkdir(parents=True, exist_ok=True)
        if note is None:
            self._begin()
            with open(path, "w+b") as file:
                file.write(self.header)
                sync_folder(path.parent)
                return _describe(file)
        found = path.stat().st_size if path.exists() else 0
        if found < note["bytes"]:
            raise AuroraError(
                f"{path} has {found:,} bytes, the checkpoint says that {note['bytes']:,} were written: "
                "restore it, or start over with --fresh"
            )
        with open(path, "r+b") as file:
            file.seek(note["bytes"])
            known = _describe(file)
            if known["mark"] != note["mark"]:
                raise AuroraError(
                    f"{path} is not the file that the checkpoint describes: something else has written to it; "
                    "restore it, or start over with --fresh"
                )
            # Only a run that was killed, or ended by a fault, leaves more than its note says.
            ours = self._staged.exists() and note.get("inode", known["inode"]) == known["inode"]
            if found > note["bytes"] and not ours:
                raise AuroraError(
                    f"{path} has {found:,} bytes, and the run before left {note['bytes']:,}: something else has added "
                    f"to it; cut it with truncate -s {note['bytes']} {quote(str(path))}, or start over with --fresh"
                )
            file.truncate(note["bytes"])
        self._begin()
        return known

    def _begin(self) -> None:
        """Makes the folder for parts anew. While it is there, a run writes the file, or has not come to its end."""
        shutil.rmtree(self._staged, ignore_errors=True)
        self._staged.mkdir()
        sync_folder(self._staged.parent)

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        """Writes the rows of a batch at the end of the file."""
        with self._at_end(note) as file:
            self._write(file, rows, arrived)
            return _describe(file)

    def _at_end(self, note: Note) -> BinaryIO:
        """Opens the file where the next lines go; raises a fault if it is not as the batch before left it."""
        file = open(self.place, "r+b")  # noqa: SIM115
        try:
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino) != (note["device"], note["inode"]):
                raise AuroraError(
                    f"{self.place} was replaced by another file, of {found.st_size:,} bytes, while the run wrote it: "
                    f"{RESTORE}"
                )
            if found.st_size != note["bytes"]:
                # The next run must not take what is too much for this one's.
                shutil.rmtree(self._staged, ignore_errors=True)
                raise AuroraError(
                    f"{self.place} was changed by something else while the run wrote it: it has {found.st_size:,} "
                    f"bytes, {note['bytes']:,} were written: {RESTORE}"
                )
            file.seek(note["bytes"])
        except BaseException:
            file.close()
            raise
        return file

    def stages(self, in_order: bool, local: bool) -> bool:
        """Whether tasks write parts: if `in_tasks` is set, they come in order, and the tasks see the same disk."""
        # The parts are put together here, so the tasks and this process must see the same disk.
        return self.in_tasks and in_order and local

    def stage(self, rows: pa.RecordBatch, arrived: Ints) -> str:
        """Writes rows to a part of its own, in a task; returns the name of the part."""
        self._staged.mkdir(parents=True, exist_ok=True)
        path = self._staged / uuid.uuid4().hex
        with path.open("wb") as file:
            self._write(file, rows, arrived)
        return path.name

    def _write(self, file: BinaryIO, rows: pa.RecordBatch, arrived: Ints) -> None:
        for start in range(0, rows.num_rows, ROWS):
            file.write(self.encode(rows.slice(start, ROWS), arrived[start : start + ROWS]))

    def take(self, batch: int, parts: list[Note], note: Note) -> Note:
        """Appends the parts that tasks have written, in order."""
        with self._at_end(note) as file:
            for part in parts:
                with open(self._staged / part, "rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 22)
                (self._staged / part).unlink()
            return _describe(file)

    def sync(self) -> None:
        """Makes sure that the file survives a power cut."""
        if os.path.exists(self.place):
            sync_file(self.place)

    def finish(self) -> None:
        """Removes the folder of parts that tasks have written."""
        shutil.rmtree(self._staged, ignore_errors=True)


def _describe(file: BinaryIO) -> Note:
    """Return the note of a file that has been written up to where it stands."""
    file.flush()
    found = os.fstat(file.fileno())
    return {"bytes": file.tell(), "mark": _mark(file), "device": found.st_dev, "inode": found.st_ino}


def _mark(file: BinaryIO) -> int:
    """Of the bytes before the place in a file, where it stays."""
    end = file.tell()
    file.seek(max(end - LOOKED_AT, 0))
    mark = zlib.crc32(file.read(end - file.tell()))
    file.seek(end)
    return mark
