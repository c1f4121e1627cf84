"""Stored sets made ready to be pulled by key: built once from their addresses, in bounded memory."""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.ordering.pairs import are_complete
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.engine.durable import Damaged, cannot_write, read_json, sync_file, sync_folder, write_whole
from aurora.engine.locks import Locks
from aurora.engine.paths import survey
from aurora.engine.plan.fingerprint import feed_values
from aurora.engine.postgres.address import is_postgres
from aurora.engine.postgres.hosts import tell_connection
from aurora.engine.sources.address import open_whole, source_path
from aurora.engine.sources.all_rows import read_all_rows
from aurora.errors import AuroraError
from aurora.history.keyed_rows import ROWS, StoredSet, hashes_file, places_file
from aurora.network.points import check_key

__all__ = ["Progress", "store_by_key"]

# So many rows are read and written at once.
GROUP = 1 << 17
# So many rows are sorted by their hashes at once: it takes about 30 bytes of memory for each.
RUN = 1 << 23
NOTE = "note.json"
# Bytes of a file that are read at once for its checksum.
CHUNK = 1 << 22
# The form of the files: a set that another one has written is built anew.
FORM = 1
Progress = Callable[[str, int], None]


def store_by_key(
    name: str,
    address: str,
    schema: Schema,
    key: tuple[str, ...],
    folder: Path,
    progress: Progress | None = None,
    fresh: bool = False,
) -> StoredSet:
    """The rows at an address, stored by key in a folder of this run; what is there already, and is the same, is used.

    `progress` hears the name of the set and how many rows it has so far. It is built aside and renamed when it is
    complete: a run that is killed leaves nothing behind that another would take for the set. Rows of a database, which
    has no files to look at, are read anew only if `fresh`, so that a run goes on with those that it began with.
    """
    if not check_key(key, schema, f"stored set {name}"):
        raise AuroraError(
            f"stored set {name}: it cannot be stored by key, because it has none; add key: [FIELD]"
        )
    place = source_path(name, address)
    if place is None and not is_postgres(address):
        raise AuroraError(f"stored set {name}: {address} can be read only once; give a file")
    files = None if place is None else os.path.abspath(place)
    made_of = {
        "form": FORM,
        "address": address,
        "place": files,
        "schema": str(schema),
        "key": list(key),
        "files": _survey(files),
    }
    building = _Building(name, address, schema, key, folder, progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Locks() as locks:
            locks.take(f"the stored set {name}", folder / f".{building.prefix}.lock")
            found = None if fresh and place is None else building.find(made_of)
            if found is None:
                tell_connection(name, address)
                found = building.build(made_of)
        return found
    except OSError as fault:
        raise cannot_write(folder, fault) from None


def _survey(place: str | None) -> str:
    # A database in a file notes its latest changes beside it.
    return "" if place is None else f"{survey(place)} {survey(f'{place}-wal')}"


def _sum(path: Path) -> int:
    """Return the checksum of a file."""
    check = 0
    with open(path, "rb") as file:
        while part := file.read(CHUNK):
            check = zlib.crc32(part, check)
    return check


class _Building:
    """One set on its way into a folder."""

    def __init__(
        self,
        name: str,
        address: str,
        schema: Schema,
        key: tuple[str, ...],
        folder: Path,
        progress: Progress | None,
    ) -> None:
        self.name = name
        self.address = address
        self.schema = schema
        self.key = key
        self.folder = folder
        self.progress = progress
        self.prefix = quote(name, safe="")

    @property
    def partial(self) -> Path:
        return self.folder / f"{self.prefix}.partial"

    def find(self, made_of: dict[str, Any]) -> StoredSet | None:
        """The set, if it is there and made of the very same files."""
        for note in self.folder.glob(f"{self.prefix}@*/{NOTE}"):
            noted = self._read_note(note)
            if noted is not None and noted["made_of"] == made_of:
                return self._stored(note.parent, noted)
        return None

    def _read_note(self, note: Path) -> dict[str, Any] | None:
        """Return the note of a set that is as it was written; of another one nothing, and it is no set any more."""
        try:
            noted: dict[str, Any] = read_json(note)
            sums = noted.get("sums", {})
            damaged = next((name for name in sums if _sum(note.parent / name) != sums[name]), None)
        except Damaged:
            damaged = NOTE
        except FileNotFoundError as fault:
            damaged = os.path.basename(fault.filename)
        if damaged is None:
            return noted
        note.unlink(missing_ok=True)
        logging.getLogger("aurora").warning(
            f"stored set {self.name}: {note.parent / damaged} is damaged, its checksum does not fit; the set is "
            f"stored anew from {self.address}"
        )
        return None

    def build(self, made_of: dict[str, Any]) -> StoredSet:
        place = made_of["place"]
        shutil.rmtree(self.partial, ignore_errors=True)
        self.partial.mkdir()
        try:
            noted = {"made_of": made_of, **self._write()}
            if _survey(place) != made_of["files"]:
                raise AuroraError(
                    f"stored set {self.name}: {place} was changed while it was read; start again when it is complete"
                )
            noted["sums"] = {
                path.name: _sum(path) for path in sorted(self.partial.iterdir()) if path.is_file()
            }
            for path in self.partial.iterdir():
                sync_file(path)
            target = self._target(noted["mark"])
            before = self._read_note(target / NOTE) if (target / NOTE).exists() else None
            if before is not None:
                # The same rows from files that were written anew.
                noted = {**before, "made_of": made_of}
                write_whole(target / NOTE, json.dumps(noted, indent=1))
            else:
                shutil.rmtree(target, ignore_errors=True)
                write_whole(self.partial / NOTE, json.dumps(noted, indent=1))
                self.partial.rename(target)
            sync_folder(self.folder)
        finally:
            shutil.rmtree(self.partial, ignore_errors=True)
        for other in self.folder.glob(f"{self.prefix}@*"):
            if other != target:
                # Without its note it is no set any more, however far a kill lets the rest be removed.
                (other / NOTE).unlink(missing_ok=True)
                shutil.rmtree(other, ignore_errors=True)
        return self._stored(target, noted)

    def _target(self, mark: str) -> Path:
        """What is in a folder of this name never changes: rows with this mark, and their index by this key."""
        name = hashlib.sha256(f"{FORM} {mark} {self.key}".encode()).hexdigest()
        return self.folder / f"{self.prefix}@{name[:16]}"

    def _stored(self, path: Path, noted: dict[str, Any]) -> StoredSet:
        given = {name: noted[name] for name in ("rows", "size", "group", "mark")}
        starts, place = tuple(noted["starts"]), noted["made_of"]["place"]
        return StoredSet(str(path.absolute()), self.key, starts=starts, place=place, **given)

    def _write(self) -> dict[str, Any]:
        """Writes rows and index; gives what is to be noted."""
        path, index, size = self.partial / ROWS, _Index(self.partial), 0
        schema, mark = self.schema.arrow(), hashlib.sha256(str(self.schema).encode())
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for batch in _grouped(self._read(), GROUP):
                writer.write_batch(batch)
                index.add(batch, self.key)
                size += batch.nbytes
                for column in batch.columns:
                    feed_values(mark, column)
                if self.progress is not None:
                    self.progress(self.name, index.rows)
        index.flush()
        return {
            "rows": index.rows,
            "size": size,
            "group": GROUP,
            "starts": index.starts,
            "mark": mark.hexdigest(),
        }

    def _read(self) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="unpacked-", dir=self.partial) as unpacked:
            source = open_whole(self.name, self.address, self.schema, Path(unpacked))
            yield from read_all_rows(f"stored set {self.name}", source, self.schema, GROUP)


def _grouped(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of so many: what is stored does not depend on how it was cut."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= rows:
            whole = pa.concat_batches(held)
            yield whole.slice(0, rows)
            held, count = [whole.slice(rows)], count - rows
    if count:
        yield pa.concat_batches(held)


class _Index:
    """The index of a set, a run after the other. Rows with a null in their key, which equals nothing, are in none."""

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self.starts: list[int] = []
        self._folder = folder
        self._begun = 0
        self._hashes: list[Hashes] = []
        self._places: list[npt.NDArray[np.uint32]] = []

    def add(self, batch: pa.RecordBatch, key: tuple[str, ...]) -> None:
        if self.rows - self._begun + batch.num_rows > RUN:
            self.flush()
        complete = np.flatnonzero(are_complete(batch, key))
        hashes = hash_rows([batch.column(name) for name in key], batch.num_rows)
        self._hashes.append(hashes[complete])
        self._places.append((complete + (self.rows - self._begun)).astype(np.uint32))
        self.rows += batch.num_rows

    def flush(self) -> None:
        if sum(map(len, self._hashes)):
            hashes, places = np.concatenate(self._hashes), np.concatenate(self._places)
            order = stable_order(hashes)
            number = len(self.starts)
            np.save(self._folder / hashes_file(number), hashes[order])
            np.save(self._folder / places_file(number), places[order])
            self.starts.append(self._begun)
        self._hashes, self._places = [], []
        self._begun = self.rows
