"""One file, written in the order of emission; what a killed run wrote beyond its last commit is cut off."""

import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aurora.algebra.schema import Schema
from aurora.engine.sinks.encode import csv_header, to_csv, to_json

__all__ = ["FileSink"]


@dataclass(frozen=True)
class FileSink:
    path: str
    kind: str
    schema: Schema

    def prepare(self, size: int | None) -> int:
        """Cuts the file to its committed size, or begins it anew; gives the size."""
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if size is not None:
            with open(path, "r+b" if path.exists() else "w+b") as file:
                file.truncate(size)
            return size
        content = csv_header(self.schema.arrow()) if self.kind == "csv" else b""
        path.write_bytes(content)
        return len(content)

    def append(self, rows: pa.RecordBatch, size: int) -> int:
        """Writes rows at the committed size; gives the new one."""
        content = to_csv(rows) if self.kind == "csv" else to_json(rows)
        with open(self.path, "r+b") as file:
            file.seek(size)
            file.write(content)
            file.flush()
            os.ftruncate(file.fileno(), size + len(content))
        return size + len(content)
