"""A folder of parts: each task writes its own file aside, and the commit of the batch moves it in."""

import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.train import Train
from aurora.engine.sinks.encode import csv_header, to_csv, to_json
from aurora.errors import AuroraError

__all__ = ["PartSink"]

STAGED = "_staged"
NAME = re.compile(r"part-(\d{8})-\d{5}\.\w+")


@dataclass(frozen=True)
class PartSink:
    """Parts are called part-BATCH-NUMBER.KIND, so that a restart knows which belong to unfinished batches."""

    path: str
    kind: str

    def write(self, train: Train) -> dict[str, Any]:
        """Writes one file aside; a task that is repeated leaves a file that nobody commits."""
        folder = Path(self.path) / STAGED
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{uuid.uuid4().hex}.{self.kind}"
        rows = train.rows
        if self.kind == "parquet":
            pyarrow.parquet.write_table(pa.Table.from_batches([rows]), path)
        else:
            content = csv_header(rows.schema) + to_csv(rows) if self.kind == "csv" else to_json(rows)
            path.write_bytes(content)
        return {"file": path.name, "rows": rows.num_rows, "first": int(train.keys[0, 0])}

    def prepare(self, committed: int, fresh: bool) -> None:
        """Removes what a run left behind that did not come to the commit of its batch."""
        folder = Path(self.path)
        folder.mkdir(parents=True, exist_ok=True)
        for entry in sorted(folder.iterdir()):
            match = NAME.fullmatch(entry.name)
            if match is None and entry.name not in (STAGED, "_SUCCESS"):
                if fresh:
                    raise AuroraError(
                        f"sink folder {folder} holds {entry.name}, no part of a result; empty it first"
                    )
            elif match is not None and (fresh or int(match[1]) > committed):
                entry.unlink()
        staged = folder / STAGED
        if staged.exists():
            for entry in staged.iterdir():
                entry.unlink()

    def commit(self, batch: int, parts: list[dict[str, Any]]) -> None:
        folder = Path(self.path)
        for number, part in enumerate(sorted(parts, key=lambda part: (part["first"], part["file"]))):
            os.replace(folder / STAGED / part["file"], folder / f"part-{batch:08d}-{number:05d}.{self.kind}")

    def finish(self) -> None:
        """The folder as others will read it: parts alone."""
        staged = Path(self.path) / STAGED
        if staged.exists() and not any(staged.iterdir()):
            staged.rmdir()
