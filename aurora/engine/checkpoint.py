"""The folder from which a killed run goes on: whose it is, and what must stay the same."""

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from aurora.engine.durable import (
    RESTORE,
    Damaged,
    cannot_write,
    is_sealed,
    read_json,
    read_whole,
    remove_tree,
    sync_folder,
    write_whole,
)
from aurora.engine.locks import Locks
from aurora.engine.plan.plan import Plan
from aurora.engine.plan.tables import Table
from aurora.engine.private import is_owner, is_private, make_private
from aurora.engine.settings import Settings
from aurora.engine.sinks.encode import to_csv
from aurora.engine.sinks.rejects import REJECTS_SINK
from aurora.engine.sinks.sink import Sink, inner_key, moves_along
from aurora.engine.sources.source import Source, source_identity
from aurora.engine.spark.leftovers import has_batches, settle_spark
from aurora.engine.totals import Totals
from aurora.errors import AuroraError
from aurora.network.parameters import shown_value

__all__ = ["Checkpoint", "has_begun", "identity", "is_checkpoint", "locate_checkpoint", "scratch_folder"]

OWNER = "network"
NOTE = "committed.json"
# How boxes lay out what they keep: state of another layout would be passed over in silence. Raise it with the layout.
LAYOUT = 4
# While it is there, the folder is being emptied: nothing else in it counts any more.
DISCARDED = "discarded"
LOCK = "lock"
SPARK = "spark"
# Where Spark's part lies after a start over. Tasks of a run that was just stopped may still be writing into the old
# place, and Spark refuses to begin where anything lies.
MOVED = "spark.at"
MOVED_NAME = re.compile(r"spark-[0-9a-f]{8}")
# The name of the folder for copies of the state below the system's temporary folder, where it is not the usual one.
SCRATCH = "scratch"
SCRATCH_NAME = re.compile(r"aurora-state-[0-9a-f]{16}")
# Endings of the folders, among those of the sources, in which lies what came and will not come again.
RECEIVED = (".spool", ".mqtt", ".opened")
# All that is removed; whatever else lies there is not a run's.
OURS = (
    OWNER,
    MOVED,
    NOTE,
    "buckets",
    "controls.json",
    "controls.seen",
    SCRATCH,
    "sources",
    SPARK,
    "mark",
    "ready",
    "stored",
)
# So many differences from another network are told.
MOST_CHANGES = 4
# What a table of a point was known by in an earlier version: the path of its folder.
POINT_PATH = re.compile(r"^point:.*/(?=[^/]*\Z)")
# What a run that has ended is known by: its note, whose it is, and where its sources began and ended.
TELLING = (OWNER, NOTE, "sources")


@dataclass(frozen=True)
class Checkpoint:
    """`kept` if it stays when the input has ended; a temporary one goes in any case."""

    folder: Path
    kept: bool
    temporary: bool = False

    @property
    def note(self) -> Path:
        return self.folder / NOTE

    @property
    def spark(self) -> Path:
        moved = self.folder / MOVED
        name = read_whole(moved) if moved.exists() else SPARK
        if name != SPARK and not MOVED_NAME.fullmatch(name):
            raise Damaged(f"{moved} names {name!r}, which no run has made; {RESTORE}")
        return self.folder / name

    def _has_spark(self) -> bool:
        """Whether Spark's part has been begun, as far as can be told."""
        try:
            return self.spark.exists()
        except Damaged:
            return True

    @property
    def sources(self) -> Path:
        return self.folder / "sources"

    @property
    def lock(self) -> Path:
        return self.folder / LOCK

    def take(self, locks: Locks) -> None:
        """Take the folder for this run. It is made closed to others, unless it is there: then its user says who may see
        what is in it. One that the user has not named must be his own, for everybody can tell where it will be."""
        with suppress(OSError):
            os.makedirs(self.folder, 0o700, exist_ok=True)
            owner = self.folder.lstat().st_uid
            if not self.kept and not is_owner(owner, self.folder):
                raise AuroraError(
                    f"the checkpoint {self.folder} belongs to another user, number {owner}; remove it, or name another "
                    "folder with --checkpoint"
                )
        locks.take(f"the checkpoint {self.folder}", self.lock)

    def open(self, fresh: bool) -> None:
        """Makes the folder, and empties it if it is to be begun anew, or if a run was killed while it did that."""
        with _told(self.folder):
            if fresh or (self.folder / DISCARDED).exists():
                begun = self._has_spark()
                self.discard()
                if begun:
                    write_whole(self.folder / MOVED, f"{SPARK}-{uuid.uuid4().hex[:8]}")
            self.sources.mkdir(parents=True, exist_ok=True)

    @property
    def unused(self) -> bool:
        """Whether no batch was ever begun from it, and nothing has come that cannot be fetched a second time.

        So it is where Java, or the master, was not there. To be asked before sources are opened, which leave notes.
        """
        # The state of a DataFrame lies elsewhere; and what no run has made is not to be removed.
        if (self.folder / "mark").exists() or not is_checkpoint(self.folder):
            return False
        noted = Totals.load(self.note)
        return (noted is None or noted.batch < 0) and not has_batches(self.spark) and not self._has_received()

    def _has_received(self) -> bool:
        folders = [entry for entry in self.sources.glob("*") if entry.suffix in RECEIVED]
        found = (path for folder in folders for path in folder.rglob("*"))
        return any(path.is_file() and path.stat().st_size for path in found)

    def fits(self, owner: Mapping[str, Any]) -> bool:
        """Whether it is nobody's, or that of the very same run."""
        try:
            self._check_owner(owner)
        except AuroraError:
            return False
        return True

    def claim(self, owner: Mapping[str, Any]) -> Totals | None:
        """Makes it this run's, or raises a fault; gives what was noted so far."""
        with _told(self.folder):
            self._check_owner(owner)
            noted = Totals.load(self.note)
            if noted is None or not noted.end:
                # Nobody goes on with Spark's part behind the end, and a run that was killed may have removed it.
                settle_spark(
                    self.spark, None if noted is None else noted.batch, {} if noted is None else noted.spark
                )
            if not (self.folder / OWNER).exists():
                write_whole(self.folder / OWNER, json.dumps(owner, indent=1))
        return noted

    def _check_owner(self, owner: Mapping[str, Any]) -> None:
        if not (self.folder / OWNER).exists():
            self._check_begun(OWNER)
            return
        found = read_json(self.folder / OWNER)
        if isinstance(found, dict):
            self._check_parameters(found.get("parameter", {}), owner.get("parameter", {}))
        if not isinstance(found, dict) or found.get("network") != owner["network"]:
            raise AuroraError(
                f"{self.folder} is the checkpoint of another network or run{_find_changes(found, owner)}; "
                "give the same network and sinks again, or start over with --fresh"
            )
        if found.get("layout") != owner["layout"]:
            raise AuroraError(
                f"{self.folder} was written by another version of Aurora, whose state this one cannot read; "
                "finish the run with that version, or start over with --fresh"
            )
        for what in ("source", "table", "sink"):
            was, now = found.get(what, {}), owner[what]
            for name in sorted(was.keys() | now.keys()):
                if not _is_same(was.get(name), now.get(name)):
                    raise AuroraError(
                        f"{self.folder} is the checkpoint of a run with another {what} {name}"
                        f"{_difference(what, was.get(name), now.get(name))}: "
                        f"give the same {what} again, or start over with --fresh"
                    )

    def _check_begun(self, lost: str) -> None:
        """Raise a fault if a run that is to go on has lost a note: another one would not say what it began with."""
        noted = Totals.load(self.note)
        if noted is not None and not noted.end:
            raise Damaged(f"{self.folder / lost} is missing, and the run has begun with it; {RESTORE}")

    def _check_parameters(self, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Raise a fault that names the first parameter with another value than the run began with."""
        for name in [*was, *now]:
            if name in was and name in now and was[name] != now[name]:
                before, after = shown_value(was[name]), shown_value(now[name])
                raise AuroraError(
                    f"{self.folder} holds a run in which parameter {name} is {before}, not {after}: give --set "
                    f"{name}={before}, or start over with --fresh"
                )

    def buckets(self, number: int) -> int:
        """State lies in buckets: a run that goes on keeps the number that it began with, a new one has this number."""
        note = self.folder / "buckets"
        if not note.exists():
            self._check_begun(note.name)
            with _told(note):
                write_whole(note, str(number))
        found = read_whole(note)
        if not found.isdecimal():
            raise Damaged(f"{note} is damaged: it holds no number; {RESTORE}")
        return int(found)

    def mark(self) -> str:
        """What tells it from one that was begun anew in its place."""
        note = self.folder / "mark"
        if not note.exists():
            with _told(note):
                write_whole(note, uuid.uuid4().hex)
        return read_whole(note)

    def discard(self) -> None:
        """Empties the folder, in steps that a kill may part anywhere: the next run then goes on with it."""
        if not self.folder.is_dir():
            return
        mark = self.folder / DISCARDED
        mark.touch()
        sync_folder(self.folder)
        noted = _read_scratch(self.folder)
        if noted is not None and is_private(noted):
            shutil.rmtree(noted, ignore_errors=True)
        for entry in sorted(self.folder.iterdir()):
            if _is_ours(entry.name):
                _remove(entry)
        _remove(mark)

    def close(self, totals: Totals, waits: bool = False) -> None:
        """Behind a run: if its input has ended, that is noted, and what nobody will go on from is removed.

        If others go on with what came of it, it `waits`, and they note the end when they are done, too. What tells the
        next run that this one has ended goes last: sinks that only append would get all rows again.
        """
        if totals.end and not waits and not self.temporary:
            totals.finish(self.note)
        if totals.end and not self.kept:
            for entry in sorted(self.folder.iterdir()):
                if _is_ours(entry.name) and entry.name not in TELLING:
                    _remove(entry)
            self.discard()

    def leave(self) -> None:
        """When the lock is released: a folder that was for this run alone goes, an empty one too."""
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif not self.kept and self.folder.is_dir() and not os.listdir(self.folder):
            with suppress(NotADirectoryError):
                # Unless it is a link to one, which somebody else has made.
                self.folder.rmdir()


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise cannot_write(folder, fault) from None


def _is_ours(name: str) -> bool:
    return name.removesuffix(".partial") in OURS or name.startswith(f"{SPARK}-")


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        remove_tree(entry)
    else:
        entry.unlink(missing_ok=True)


def _difference(what: str, was: Any, now: Any) -> str:
    """Contents are told apart by a hash, which says nothing to anybody."""
    told = what != "table" and isinstance(was, str) and isinstance(now, str)
    return f" (it was {was}, now it is {now})" if told else ""


def _find_changes(found: Any, owner: Mapping[str, Any]) -> str:
    """Say in which parts another network differs from this one, as far as it was noted."""
    if not isinstance(found, dict) or "parts" not in found:
        return ""
    told = (
        []
        if found["name"] == owner["name"]
        else [f"it is called {owner['name']}, and was called {found['name']}"]
    )
    was, now = found["parts"], owner["parts"]
    for kind in ("sink", "input", "box"):
        for name in sorted(was.keys() | now.keys()):
            # What the planner has put in has no name that anybody has given.
            if name.startswith(f"{kind} ") and "#" not in name and was.get(name) != now.get(name):
                told.append(f"{name} {_change(kind, name in was, name in now)}")
    most = [
        *told[:MOST_CHANGES],
        *([f"and {len(told) - MOST_CHANGES} more"] if len(told) > MOST_CHANGES else []),
    ]
    return ": " + (
        ", ".join(most) or "the same boxes are carried out in another way, by other settings or a new version"
    )


def _change(kind: str, was: bool, now: bool) -> str:
    if was and now:
        return "is another one"
    return "is new" if now else "was left out" if kind == "sink" else "is gone"


def _is_same(was: Any, now: Any) -> bool:
    """Whether two sources, sinks or tables are one, also where an earlier version has noted a path in the home."""
    if was == now or not (isinstance(was, str) and isinstance(now, str)):
        return bool(was == now)
    if now.startswith("./"):
        return was.endswith(now[1:])
    return now.startswith("point:") and POINT_PATH.sub("point:", was) == now


def _sink_place(sink: Sink, folder: Path) -> str | None:
    place = sink.place
    return place if place is None or not moves_along(sink) else inner_key(place, str(folder.parent)) or place


def locate_checkpoint(sinks: Mapping[str, Sink], settings: Settings) -> Checkpoint:
    """Where it is: as given, or beside the first file that is written, or for this run alone."""
    if settings.checkpoint is None:
        places = [sink.place for name, sink in sinks.items() if name != REJECTS_SINK]
        first = next((place for place in places if place is not None), None)
        if first is None:
            return Checkpoint(Path(tempfile.mkdtemp(prefix="aurora-")), kept=False, temporary=True)
        path = Path(first)
        return Checkpoint(path.parent / f".{path.name}.checkpoint", kept=False)
    folder = Path(os.path.abspath(settings.checkpoint))
    if not settings.checkpoint or (folder.exists() and not folder.is_dir()):
        raise AuroraError(f"checkpoint '{settings.checkpoint}' is not a folder; name another one")
    if not is_checkpoint(folder):
        found = min(os.listdir(folder))
        raise AuroraError(
            f"checkpoint {folder} holds {found}, so it is not a checkpoint; choose another folder"
        )
    return Checkpoint(folder, kept=True)


def has_begun(folder: Path) -> bool:
    """Whether a checkpoint is that of a run, or of one that was killed while it started over."""
    return (folder / OWNER).exists() or (folder / DISCARDED).exists()


def is_checkpoint(folder: Path) -> bool:
    """Whether a run may take a folder for its checkpoint: there is none, it is empty, or a run has made it.

    The names alone do not tell: a folder of the user's may have a `network` and `sources`, too.
    """
    inside = set(os.listdir(folder)) if folder.is_dir() else set()
    if not inside:
        return True
    try:
        if OWNER in inside and is_sealed((folder / OWNER).read_bytes()):
            # Whether it is damaged says who needs what is in it.
            return True
        if OWNER in inside:
            return isinstance(read_json(folder / OWNER), dict)
        if DISCARDED in inside:
            return not (folder / DISCARDED).read_bytes()
        # A run that was killed before it had claimed the folder has left but its lock, with the number of a process.
        lock = (folder / LOCK).read_bytes().strip()
        return all(map(_is_ours, inside - {LOCK})) and (not lock or lock.isdigit())
    except (OSError, ValueError, Damaged):
        return False


def identity(
    plan: Plan,
    tables: Mapping[str, Table],
    sources: Mapping[str, Source],
    sinks: Mapping[str, Sink],
    folder: Path,
    parameters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What must not change between a run and its continuation."""
    return {
        **({"parameter": dict(parameters)} if parameters else {}),
        "layout": LAYOUT,
        "network": _mark(plan.fingerprint().encode()),
        "name": plan.name,
        "parts": {name: _mark(text.encode())[:16] for name, text in plan.describe_parts().items()},
        "table": {name: _table_mark(table) for name, table in tables.items()},
        "source": {name: source_identity(source) for name, source in sources.items()},
        "sink": {name: _sink_place(sink, folder) for name, sink in sinks.items() if name != REJECTS_SINK},
    }


def _table_mark(table: Table) -> str:
    return _mark(to_csv(table)) if isinstance(table, pa.RecordBatch) else table.identity()


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def scratch_folder(checkpoint: Path, local: bool) -> str:
    """Return the folder for copies of the state on the local disk; where all tasks are `local`, it is made here.

    It is the same for every run that goes on from a checkpoint, so that a killed one leaves nothing behind for good.
    Everybody can compute its name, so another user may have taken it: then it is a random one, noted in the checkpoint.
    """
    usual = os.path.join(tempfile.gettempdir(), f"aurora-state-{_mark(str(checkpoint).encode())[:16]}")
    folder = _read_scratch(checkpoint) or usual
    ours = make_private(folder) if local else is_private(folder)
    if ours or not os.path.lexists(folder):
        return folder
    folder = os.path.join(tempfile.gettempdir(), f"aurora-state-{secrets.token_hex(8)}")
    with _told(checkpoint / SCRATCH):
        write_whole(checkpoint / SCRATCH, os.path.basename(folder))
    if local:
        make_private(folder)
    return folder


def _read_scratch(checkpoint: Path) -> str | None:
    """Return the folder that is noted, if one is and it has the form of our names."""
    try:
        name = read_whole(checkpoint / SCRATCH)
    except (OSError, Damaged):
        return None
    return os.path.join(tempfile.gettempdir(), name) if SCRATCH_NAME.fullmatch(name) else None
