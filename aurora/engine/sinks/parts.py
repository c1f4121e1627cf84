"""A folder of parts: each task writes its own file aside, and once the batch counts it is moved in."""

import os
import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from aurora.algebra.tuples.train import Ints
from aurora.engine.durable import named_faults, sync_file, sync_folder
from aurora.engine.sinks.notation import PLAIN, Notation
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["PartSink"]

STAGED = "_staged"
NAME = re.compile(r"part-(\d{8,})-\d{5,}\.\w+")


@dataclass(frozen=True)
class PartSink:
    """Parts are called part-BATCH-NUMBER.KIND, so that a restart knows which belong to unfinished batches.

    Its note is the last batch that had parts, how many parts of how many bytes there are up to then, and the names
    under which those of that batch lie aside until the note is on the disk; and the device and inode of the folder.
    """

    path: str
    kind: str
    notation: Notation = PLAIN

    @property
    def place(self) -> str:
        return os.path.join(os.path.realpath(self.path), "")

    def open(self, note: Note) -> Note:
        folder = Path(self.place)
        folder.mkdir(parents=True, exist_ok=True)
        if note is None:
            self.check()
        else:
            self._move_in(note)
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
        if note is not None and found != {name: note[name] for name in found}:
            raise AuroraError(
                f"{folder} has {kept:,} parts with {size:,} bytes, the checkpoint says that {note['parts']:,} "
                f"with {note['bytes']:,} were written: restore it, or start over with --fresh"
            )
        there = os.stat(folder)
        return {**(note or found), "device": there.st_dev, "inode": there.st_ino}

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
        with named_faults(path):
            if self.kind == "parquet":
                pyarrow.parquet.write_table(pa.Table.from_batches([rows]), path, write_page_checksum=True)
            elif self.kind == "csv":
                path.write_bytes(self.notation.csv_header(rows.schema) + self.notation.to_csv(rows))
            else:
                path.write_bytes(self.notation.to_json(rows))
            sync_file(path)
        return path.name

    def take(self, batch: int, parts: list[Note], note: Note) -> Note:
        there = os.stat(self.place)
        if (there.st_dev, there.st_ino) != (note["device"], note["inode"]):
            raise AuroraError(
                f"{self.place} was replaced by another folder while the run wrote it, and {note['parts']:,} parts are "
                "not in it: restore it and give the same command again, or start over with --fresh"
            )
        size = note["bytes"] + sum(os.path.getsize(Path(self.place) / STAGED / part) for part in parts)
        return {**note, "batch": batch, "parts": note["parts"] + len(parts), "bytes": size, "staged": parts}

    def publish(self, note: Note) -> None:
        """Whoever reads the folder sees the parts of a batch from now on, and not before nobody can take them back."""
        for missing in self._move_in(note):
            raise AuroraError(
                f"{missing} is missing, something else has removed it: restore it and give the same command again, or "
                "start over with --fresh"
            )

    def _move_in(self, note: Note) -> list[Path]:
        """Give the parts of the last batch their places; return those that are nowhere."""
        folder, missing = Path(self.place), []
        for number, part in enumerate(note.get("staged", [])):
            target = folder / f"part-{note['batch']:08d}-{number:05d}.{self.kind}"
            if not (folder / STAGED / part).exists():
                # A run that was killed may have moved it already.
                missing += [] if target.exists() else [target]
            elif target.exists():
                raise AuroraError(
                    f"{target} was written by something else, and is where the next part of the result goes: "
                    "move it away and give the same command again"
                )
            else:
                os.replace(folder / STAGED / part, target)
        return missing

    def sync(self) -> None:
        """Whatever was moved in after the batch before, too."""
        if os.path.isdir(os.path.join(self.place, STAGED)):
            sync_folder(os.path.join(self.place, STAGED))
        sync_folder(self.place)

    def finish(self) -> None:
        """The folder as others will read it: parts alone."""
        shutil.rmtree(Path(self.place) / STAGED, ignore_errors=True)
