"""One file of lines, written in the order of emission; what a killed run wrote beyond its last commit is cut off."""

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import sync_file, sync_folder
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["TextSink"]

# Makes lines of rows and of their arrival times in milliseconds since 1970.
Encoder = Callable[[pa.RecordBatch, Ints], bytes]


@dataclass(frozen=True)
class TextSink:
    """Its note is the size of the file.

    With `in_tasks` the lines are made where the rows are, in other processes, if these have them in order. Outputs
    whose sinks are all `shared` may have one path: each batch has the rows of one output after the other.
    """

    path: str
    encode: Encoder
    header: bytes = b""
    in_tasks: bool = False
    shared: bool = False

    @property
    def place(self) -> str:
        return os.path.realpath(self.path)

    @property
    def _staged(self) -> Path:
        return Path(self.place).parent / f".{Path(self.place).name}.staged"

    def open(self, note: Note) -> Note:
        path = Path(self.place)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._staged, ignore_errors=True)
        if note is None:
            path.write_bytes(self.header)
            sync_folder(path.parent)
            return len(self.header)
        found = path.stat().st_size if path.exists() else 0
        if found < note:
            raise AuroraError(
                f"{path} has {found:,} bytes, the checkpoint says that {note:,} were written: "
                "restore it, or start over with --fresh"
            )
        os.truncate(path, note)
        return note

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> int:
        content = self.encode(rows, arrived)
        with open(self.place, "r+b") as file:
            file.seek(note)
            file.write(content)
            file.truncate()
            return file.tell()

    def stages(self, in_order: bool, local: bool) -> bool:
        # The parts are put together here, so the tasks and this process must see the same disk.
        return self.in_tasks and in_order and local

    def stage(self, rows: pa.RecordBatch, arrived: Ints) -> str:
        self._staged.mkdir(parents=True, exist_ok=True)
        path = self._staged / uuid.uuid4().hex
        path.write_bytes(self.encode(rows, arrived))
        return path.name

    def take(self, batch: int, parts: list[Note], note: Note) -> int:
        with open(self.place, "r+b") as file:
            file.seek(note)
            for part in parts:
                with open(self._staged / part, "rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 22)
                (self._staged / part).unlink()
            file.truncate()
            return file.tell()

    def sync(self) -> None:
        if os.path.exists(self.place):
            sync_file(self.place)

    def finish(self) -> None:
        shutil.rmtree(self._staged, ignore_errors=True)
