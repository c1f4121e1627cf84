"""Copies of state on the local disk: files that are mapped, and the runs of tables, merged from time to time.

Everything here can be lost: what is missing is fetched again from Spark's store. Nothing is forced to the disk, so what
was written before the machine started last is not looked at: it may be damaged.

A merged run lies in several files, each with the entries of a range of hashes. So a merge needs memory for one range,
however large the runs are; and a merge of large runs goes on over several turns, so that none of them takes long.
"""

import contextlib
import hashlib
import json
import os
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa

from aurora.algebra.state.runs import LAST, Sweep, are_empty, find_bound, merge_runs, slice_run, sweep_entries
from aurora.engine.private import make_private

__all__ = ["LocalRuns", "find_due"]

# The names of files: a note that names any other was not written here.
FILE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}\.arrow")
# A place where nothing can be read or written: without copies everything is fetched from Spark's store.
NOWHERE = Path(os.devnull, "nowhere")
# Runs of up to so many bytes are of one size; each further size is larger by a factor of WIDE.
SMALL = 1 << 16
WIDE = 4
# About so many entries are merged into one file.
RANGE = 1 << 18
# So many entries are merged in a turn, or so many times those that the last turn changed. Every entry is merged a few
# times before it is old, so a pace below that would fall behind.
A_TURN = 1 << 18
PACE = 3
# A process keeps the files of so many folders mapped from one turn to the next: to map them anew, and to have all their
# pages looked up again, takes longer than to read what a turn needs of them.
FOLDERS = 64
_MAPPED: OrderedDict[Path, dict[str, pa.RecordBatch]] = OrderedDict()


@dataclass
class Run:
    """Files that hold what the deltas with these marks hold together: each a range of hashes, in their order."""

    marks: list[str]
    files: list[str] = field(default_factory=list)
    bytes: int = 0


@dataclass
class Merge:
    """A merge under way: the run as far as it is written, and the hash from which it goes on."""

    run: Run
    start: int = 0


@dataclass
class Note:
    """Which file holds what: for each table its runs, the oldest first, and the merge that is under way."""

    runs: dict[str, list[Run]] = field(default_factory=dict)
    merges: dict[str, Merge] = field(default_factory=dict)

    def files(self) -> set[str]:
        runs = [
            *(run for found in self.runs.values() for run in found),
            *(m.run for m in self.merges.values()),
        ]
        return {file for run in runs for file in run.files}

    @staticmethod
    def read(path: Path) -> "Note":
        try:
            content = json.loads(path.read_text())
            runs = {table: [Run(**run) for run in found] for table, found in content["runs"].items()}
            merges = content["merges"].items()
            found = Note(runs, {table: Merge(Run(**merge["run"]), merge["start"]) for table, merge in merges})
            return found if all(map(FILE.fullmatch, found.files())) else Note()
        except (OSError, ValueError, TypeError, KeyError):
            return Note()


class LocalRuns:
    """For one turn. `note` writes down which file holds what; files that it does not name are leftovers.

    `folder` is that of a bucket, in the folder for all copies of a run. Where others have, or could change, one of the
    two, there are no copies.
    """

    def __init__(self, folder: str) -> None:
        ours = make_private(os.path.dirname(folder)) and make_private(folder)
        self._folder = Path(folder, _boot()) if ours else NOWHERE
        self._noted = Note.read(self._folder / "runs.json")
        # What is on the disk is mapped for later turns as well; what the disk did not take is open for this one alone.
        self._mapped = _find_mapped(self._folder, self._noted.files())
        self._open = dict(self._mapped)
        self._unused: list[str] = []
        # The tables that had their merge in this turn.
        self._merged: set[str] = set()
        # Whether there is anything to note.
        self.changed = False

    def read(self, name: str, mark: str) -> pa.RecordBatch | None:
        return _map_file(self._folder / _file_name(name, mark))

    def keep(self, name: str, mark: str, value: pa.RecordBatch) -> None:
        self._write(_file_name(name, mark), value)

    def drop(self, name: str, mark: str) -> None:
        self._unused.append(_file_name(name, mark))

    def runs(
        self,
        table: str,
        marks: list[str],
        fetch: Callable[[str], pa.RecordBatch],
        sweep: Sweep | None,
        held: list[str] | None = None,
    ) -> list[pa.RecordBatch]:
        """The entries of the deltas with these marks, older ones first; the run of the deltas `held` is not merged."""
        known: list[Run] = []
        place = 0
        for run in self._noted.runs.get(table, []):
            if run.marks == marks[place : place + len(run.marks)] and self._map(run):
                known.append(run)
                place += len(run.marks)
            else:
                self._unused += run.files
        for mark in marks[place:]:
            known.append(Run([mark]))
            self._append(table, known[-1], fetch(mark))
        self._noted.runs[table] = known
        if known and table not in self._merged:
            self._merged.add(table)
            self._merge_due(table, known, sweep, held)
        return [self._open[file] for run in known for file in run.files]

    def _merge_due(self, table: str, known: list[Run], sweep: Sweep | None, held: list[str] | None) -> None:
        """Merges small runs at once, and large ones bit by bit, one merge at a time. Changes what is `known`."""
        budget = max(A_TURN, PACE * self._count(known[-1:]))
        under_way = self._find_merge(table, known)
        # What stands behind these runs may be merged.
        fixed = [place + 1 for place, run in enumerate(known) if run.marks == held]
        free = max([0, *fixed] if under_way is None else [under_way.stop, *fixed])
        while (due := find_due([run.bytes for run in known[free:]])) is not None:
            first = free + due
            merge = Merge(Run([mark for run in known[first:] for mark in run.marks]))
            if self._count(known[first:]) <= budget:
                self._go_on(table, merge, known[first:], sweep, first == 0, None)
                known[first:] = [merge.run]
            else:
                if under_way is None:
                    self._noted.merges[table], under_way = merge, slice(first, len(known))
                break
        if under_way is not None:
            merge = self._noted.merges[table]
            if self._go_on(table, merge, known[under_way], sweep, under_way.start == 0, budget):
                known[under_way] = [merge.run]
                del self._noted.merges[table]

    def _find_merge(self, table: str, known: list[Run]) -> slice | None:
        """The runs of the merge that is under way. Where they are no longer the same, it is given up."""
        merge = self._noted.merges.get(table)
        if merge is None:
            return None
        for first in range(len(known)):
            marks: list[str] = []
            for last in range(first, len(known)):
                marks += known[last].marks
                if marks == merge.run.marks and self._map(merge.run):
                    return slice(first, last + 1)
        self._unused += self._noted.merges.pop(table).run.files
        return None

    def _go_on(
        self, table: str, merge: Merge, runs: list[Run], sweep: Sweep | None, whole: bool, budget: int | None
    ) -> bool:
        """Merges about so many entries of the runs, or all; says whether that was the last of them.

        `whole` says whether no older run stands before them.
        """
        batches = [[self._open[file] for file in run.files] for run in runs]
        taken = 0
        while merge.start <= LAST and (budget is None or taken < budget):
            stop = find_bound(batches, merge.start, RANGE)
            cut = [slice_run(batch, merge.start, stop) for run in batches for batch in run]
            parts = [part for part in cut if part.num_rows]
            merge.start = stop + 1
            if parts:
                taken += sum(part.num_rows for part in parts)
                merged = merge_runs(parts, drop_empty=whole)
                if sweep is not None:
                    merged = sweep_entries(merged, sweep, whole)
                    if whole:
                        merged = merged.filter(pa.array(~are_empty(merged)))
                if merged.num_rows:
                    self._append(table, merge.run, merged)
        if merge.start <= LAST:
            return False
        self._unused += [file for run in runs for file in run.files]
        return True

    def add(self, table: str, mark: str, run: pa.RecordBatch) -> None:
        self._noted.runs.setdefault(table, []).append(Run([mark]))
        self._append(table, self._noted.runs[table][-1], run)

    def covered(self, table: str) -> list[list[str]]:
        """Which deltas each run stands for, the oldest first; without those that are being merged."""
        known = self._noted.runs.get(table, [])
        merging = self._find_merge(table, known)
        return (
            [run.marks for run in [*known[: merging.start], *known[merging.stop :]]]
            if merging
            else [run.marks for run in known]
        )

    def covering(self, table: str, marks: list[str]) -> list[pa.RecordBatch] | None:
        """The entries of the run that stands for just these deltas."""
        for run in self._noted.runs.get(table, []):
            if run.marks == marks and self._map(run):
                return [self._open[file] for file in run.files]
        return None

    def rename(self, table: str, marks: list[str], mark: str) -> None:
        """The run of these deltas stands for one delta from now on."""
        for run in self._noted.runs.get(table, []):
            if run.marks == marks:
                run.marks = [mark]

    def forget(self, table: str) -> None:
        self._unused += [file for run in self._noted.runs.pop(table, []) for file in run.files]
        merge = self._noted.merges.pop(table, None)
        if merge is not None:
            self._unused += merge.run.files

    def note(self) -> None:
        """Writes down what there is, then removes files that are no longer used."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(0o700, exist_ok=True)
            partial = self._folder / f"runs.json.{os.getpid()}"
            # Every dataclass in it is written as its fields.
            partial.write_text(json.dumps(self._noted, default=vars))
            partial.replace(self._folder / "runs.json")
        for file in self._unused:
            self._mapped.pop(file, None)
            with contextlib.suppress(OSError):
                os.unlink(self._folder / file)
        self._unused.clear()

    def _map(self, run: Run) -> bool:
        """Whether all its files are there: they are open from then on."""
        for file in run.files:
            if file not in self._open:
                batch = _map_file(self._folder / file)
                if batch is None:
                    return False
                self._open[file] = self._mapped[file] = batch
        return True

    def _count(self, runs: list[Run]) -> int:
        return sum(self._open[file].num_rows for run in runs for file in run.files)

    def _append(self, table: str, run: Run, entries: pa.RecordBatch) -> None:
        """Writes entries behind those of a run. Where the disk has taken them, they need no memory."""
        file = _file_name(table, uuid.uuid4().hex)
        run.files.append(file)
        run.bytes += self._write(file, entries)
        batch = _map_file(self._folder / file)
        if batch is not None:
            self._mapped[file] = batch
        self._open[file] = batch or entries

    def _write(self, file: str, value: pa.RecordBatch) -> int:
        """A copy is a convenience: where the disk does not take it, Spark's value is read."""
        self.changed = True
        with contextlib.suppress(OSError):
            self._folder.mkdir(0o700, exist_ok=True)
            path = self._folder / file
            partial = f"{path}.{os.getpid()}"
            with pa.OSFile(partial, "wb") as sink, pa.ipc.new_file(sink, value.schema) as writer:
                writer.write_batch(value)
            os.rename(partial, path)
        return int(value.nbytes)


def find_due(sizes: list[int]) -> int | None:
    """The first of the youngest runs to be merged, which stand behind it; None while there are few of each size."""
    classes = [_size_class(size) for size in sizes]
    for each in range(max(classes, default=-1) + 1):
        first = len(classes)
        while first > 0 and classes[first - 1] <= each:
            first -= 1
        if classes[first:].count(each) >= WIDE:
            return first
    return None


def _size_class(size: int) -> int:
    number = 0
    while size > SMALL:
        size //= WIDE
        number += 1
    return number


@cache
def _boot() -> str:
    """A name for the time since the machine was started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "boot"


def _file_name(name: str, mark: str) -> str:
    """Names may hold what a file system does not take."""
    return f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{mark}.arrow"


def _find_mapped(folder: Path, files: set[str]) -> dict[str, pa.RecordBatch]:
    """Those of these files that this process has mapped in an earlier turn. All others of the folder are given up."""
    before = _MAPPED.pop(folder, {})
    _MAPPED[folder] = {file: batch for file, batch in before.items() if file in files}
    while len(_MAPPED) > FOLDERS:
        _MAPPED.popitem(last=False)
    return _MAPPED[folder]


def _map_file(path: Path) -> pa.RecordBatch | None:
    """A file that never changes, mapped; None where it is not, or no longer, there."""
    try:
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).get_batch(0)
    except (OSError, pa.ArrowInvalid):
        return None
