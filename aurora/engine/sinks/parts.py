"""A folder of parts: each task writes its own file aside, and the commit of the batch moves it in."""

import os
import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import sync_file, sync_folder
from aurora.engine.sinks.encode import csv_header, to_csv, to_json
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["PartSink"]

STAGED = "_staged"
NAME = re.compile(r"part-(\d{8,})-\d{5,}\.\w+")


@dataclass(frozen=True)
class PartSink:
    """Parts are called part-BATCH-NUMBER.KIND, so that a restart knows which belong to unfinished batches.

    Its note is the last batch that had parts, and how many parts of how many bytes there are up to then.
    """

    path: str
    kind: str

    @property
    def place(self) -> str:
        return os.path.join(os.path.realpath(self.path), "")

    def open(self, note: Note) -> Note:
        folder = Path(self.place)
        folder.mkdir(parents=True, exist_ok=True)
        if note is None:
            self.check()
        shutil.rmtree(folder / STAGED, ignore_errors=True)
        last = -1 if note is None else note["batch"]
        kept, size = 0, 0
        for entry in list(folder.iterdir()):
            match = NAME.fullmatch(entry.name)
            if match is not None and int(match[1]) > last:
                entry.unlink()
            elif match is not None:
                kept, size = kept + 1, size + entry.stat().st_size
        found = {"batch": last, "parts": kept, "bytes": size}
        if note is not None and found != note:
            raise AuroraError(
                f"{folder} has {kept:,} parts with {size:,} bytes, the checkpoint says that {note['parts']:,} "
                f"with {note['bytes']:,} were written: restore it, or start over with --fresh"
            )
        return found

    def check(self) -> None:
        """Refuses a folder with anything in it but results, before it is emptied."""
        folder = Path(self.place)
        for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
            known = NAME.fullmatch(entry.name) or entry.name in (STAGED, "_SUCCESS")
            if not known and not entry.name.endswith(".lock"):
                raise AuroraError(
                    f"sink folder {folder} holds {entry.name}, which is not part of a result; empty it first"
                )

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        return self.take(batch, [self.stage(rows, arrived)], note)

    def stages(self, in_order: bool, local: bool) -> bool:
        return True

    def stage(self, rows: pa.RecordBatch, arrived: Ints) -> str:
        folder = Path(self.place) / STAGED
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{uuid.uuid4().hex}.{self.kind}"
        if self.kind == "parquet":
            pyarrow.parquet.write_table(pa.Table.from_batches([rows]), path)
        else:
            path.write_bytes(csv_header(rows.schema) + to_csv(rows) if self.kind == "csv" else to_json(rows))
        sync_file(path)
        return path.name

    def take(self, batch: int, parts: list[Note], note: Note) -> Note:
        folder, size = Path(self.place), note["bytes"]
        for number, part in enumerate(parts):
            size += os.path.getsize(folder / STAGED / part)
            os.replace(folder / STAGED / part, folder / f"part-{batch:08d}-{number:05d}.{self.kind}")
        return {"batch": batch, "parts": note["parts"] + len(parts), "bytes": size}

    def sync(self) -> None:
        sync_folder(self.place)

    def finish(self) -> None:
        """The folder as others will read it: parts alone."""
        shutil.rmtree(Path(self.place) / STAGED, ignore_errors=True)
