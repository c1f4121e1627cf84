"""One file of lines, written in the order of emission; what a killed run wrote beyond its last commit is cut off."""

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.train import Ints, Train

__all__ = ["TextSink"]

# Makes lines of rows and of their arrival times in milliseconds since 1970.
Encoder = Callable[[pa.RecordBatch, Ints], bytes]


@dataclass(frozen=True)
class TextSink:
    """Outputs whose sinks have one path share the file: each batch has the rows of one output after the other.

    With `in_tasks` the lines are made where the rows are, in other processes, if these have them in order.
    """

    path: str
    encode: Encoder
    header: bytes = b""
    in_tasks: bool = False

    @property
    def _staged(self) -> Path:
        return Path(self.path).parent / f".{Path(self.path).name}.staged"

    def prepare(self, size: int | None) -> int:
        """Cuts the file to its committed size, or begins it anew; gives the size."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._staged, ignore_errors=True)
        if size is not None:
            with open(path, "r+b" if path.exists() else "w+b") as file:
                file.truncate(size)
            return size
        path.write_bytes(self.header)
        return len(self.header)

    def append(self, rows: pa.RecordBatch, arrived: Ints, size: int) -> int:
        """Writes rows at the committed size; gives the new one."""
        content = self.encode(rows, arrived)
        with open(self.path, "r+b") as file:
            file.seek(size)
            file.write(content)
            file.flush()
            os.ftruncate(file.fileno(), size + len(content))
        return size + len(content)

    def write(self, train: Train) -> dict[str, Any]:
        """Writes the lines of a task aside; one that is repeated leaves a file that nobody takes."""
        self._staged.mkdir(parents=True, exist_ok=True)
        path = self._staged / uuid.uuid4().hex
        train = train.arranged()
        path.write_bytes(self.encode(train.rows, train.arrived))
        return {"file": path.name, "rows": len(train), "first": int(train.keys[0, 0])}

    def take(self, parts: list[dict[str, Any]], size: int) -> int:
        """Moves what tasks have written to the committed size, in the order of emission; gives the new one."""
        with open(self.path, "r+b") as file:
            file.seek(size)
            for part in sorted(parts, key=lambda part: int(part["first"])):
                with open(self._staged / part["file"], "rb") as lines:
                    shutil.copyfileobj(lines, file, 1 << 22)
                (self._staged / part["file"]).unlink()
            file.truncate()
            return file.tell()

    def finish(self) -> None:
        shutil.rmtree(self._staged, ignore_errors=True)
