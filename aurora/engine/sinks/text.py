"""One file of lines, written in the order of emission; what a killed run wrote beyond its last commit is cut off."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aurora.algebra.train import Ints

__all__ = ["TextSink"]

# Makes lines of rows and of their arrival times in milliseconds since 1970.
Encoder = Callable[[pa.RecordBatch, Ints], bytes]


@dataclass(frozen=True)
class TextSink:
    """Outputs whose sinks have one path share the file: each batch has the rows of one output after the other."""

    path: str
    encode: Encoder
    header: bytes = b""

    def prepare(self, size: int | None) -> int:
        """Cuts the file to its committed size, or begins it anew; gives the size."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
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
