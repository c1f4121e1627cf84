"""Copies of state on the local disk: files that are mapped, and the runs of tables, merged from time to time.

Everything here can be lost: what is missing is fetched again from Spark's store. Nothing is forced to the disk, so what
was written before the machine started last is not looked at: it may be damaged.
"""

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa

from aurora.algebra.state.runs import Sweep, are_empty, merge_runs, sweep_entries

__all__ = ["LocalRuns", "find_due"]

# Runs of up to so many bytes are of one size; each further size is larger by a factor of WIDE.
SMALL = 1 << 16
WIDE = 4


@dataclass
class Run:
    """A file that holds what the deltas with these marks hold together."""

    marks: list[str]
    file: str
    bytes: int


class LocalRuns:
    """`note` writes down which file holds what; files that it does not name are leftovers."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) / _boot()
        self._noted = _read_note(self._folder / "runs.json")
        self._unused: list[str] = []

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
    ) -> list[pa.RecordBatch]:
        """The runs that hold the deltas with these marks, the oldest first."""
        known: list[Run] = []
        batches: list[pa.RecordBatch] = []
        place = 0
        for run in self._noted.get(table, []):
            batch = None
            if run.marks == marks[place : place + len(run.marks)]:
                batch = _map_file(self._folder / run.file)
            if batch is None:
                self._unused.append(run.file)
                continue
            known.append(run)
            batches.append(batch)
            place += len(run.marks)
        for mark in marks[place:]:
            batches.append(fetch(mark))
            known.append(self._keep_run(table, [mark], batches[-1]))
        self._noted[table] = known
        while (first := find_due([run.bytes for run in known])) is not None:
            merged = merge_runs(batches[first:], drop_empty=first == 0)
            if sweep is not None:
                merged = sweep_entries(merged, sweep, whole=first == 0)
                if first == 0:
                    merged = merged.filter(pa.array(~are_empty(merged)))
            covered = [mark for run in known[first:] for mark in run.marks]
            self._unused += [run.file for run in known[first:]]
            batches[first:] = [merged]
            known[first:] = [self._keep_run(table, covered, merged)]
        return batches

    def add(self, table: str, mark: str, run: pa.RecordBatch) -> None:
        self._noted.setdefault(table, []).append(self._keep_run(table, [mark], run))

    def covered(self, table: str) -> list[list[str]]:
        """Which deltas each run stands for, the oldest first."""
        return [run.marks for run in self._noted.get(table, [])]

    def covering(self, table: str, marks: list[str]) -> pa.RecordBatch | None:
        """The run that stands for just these deltas."""
        files = [run.file for run in self._noted.get(table, []) if run.marks == marks]
        return _map_file(self._folder / files[0]) if files else None

    def rename(self, table: str, marks: list[str], mark: str) -> None:
        """The run of these deltas stands for one delta from now on."""
        for run in self._noted.get(table, []):
            if run.marks == marks:
                run.marks = [mark]

    def forget(self, table: str) -> None:
        self._unused += [run.file for run in self._noted.pop(table, [])]

    def note(self) -> None:
        """Writes down what there is, then removes files that are no longer used."""
        content = {
            table: [[run.marks, run.file, run.bytes] for run in runs] for table, runs in self._noted.items()
        }
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = self._folder / f"runs.json.{os.getpid()}"
            partial.write_text(json.dumps(content))
            partial.replace(self._folder / "runs.json")
        for file in self._unused:
            with contextlib.suppress(OSError):
                os.unlink(self._folder / file)
        self._unused.clear()

    def _keep_run(self, table: str, marks: list[str], run: pa.RecordBatch) -> Run:
        file = _file_name(table, uuid.uuid4().hex)
        return Run(marks, file, self._write(file, run))

    def _write(self, file: str, value: pa.RecordBatch) -> int:
        """A copy is a convenience: where the disk does not take it, Spark's value is read."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
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


def _read_note(path: Path) -> dict[str, list[Run]]:
    try:
        content = json.loads(path.read_text())
        return {table: [Run(*run) for run in runs] for table, runs in content.items()}
    except (OSError, ValueError):
        return {}


def _map_file(path: Path) -> pa.RecordBatch | None:
    """A file that never changes, mapped; None where it is not, or no longer, there."""
    try:
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).get_batch(0)
    except (OSError, pa.ArrowInvalid):
        return None
