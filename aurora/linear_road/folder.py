"""The folder of a run: whose it is, what lies there, and that nobody else writes to it meanwhile."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aurora.engine.locks import Locks
from aurora.errors import AuroraError
from aurora.linear_road.notes import read_note, write_note

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """The files of a run: results in plain sight, what a restart needs hidden."""

    out: Path

    @property
    def output(self) -> Path:
        return self.out / "output.csv"

    @property
    def requests(self) -> Path:
        """The answers to requests, where these may wait."""
        return self.out / "requests.csv"

    @property
    def rejects(self) -> Path:
        return self.out / "rejects.csv"

    @property
    def report(self) -> Path:
        return self.out / "report.json"

    def hidden(self, name: str) -> Path:
        return self.out / ".run" / name

    def check(self, reads: Sequence[Path | None]) -> None:
        """Raises a fault if something that is read is what the run would write, by whatever name."""
        written = [path for path in (self.output, self.requests, self.rejects, self.report) if path.exists()]
        for path in filter(None, reads):
            inside = self.hidden("").resolve() in path.resolve().parents
            if inside or any(path.samefile(other) for other in written):
                raise AuroraError(
                    f"the run reads {path}, and with --out {self.out} it writes there, too: choose another folder"
                )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Raises a fault if another run has the folder, or a file that is written; keeps others out meanwhile."""
        with Locks() as locks:
            locks.take(f"--out {self.out}", self.out / ".run.lock")
            # The network locks its files for itself, and later than what lies hidden may be touched.
            with Locks() as now:
                for path in (self.output, self.requests, self.rejects):
                    now.take_place(str(path), str(path))
            yield

    def claim(self, meant: dict[str, Any], fresh: bool) -> bool:
        """Makes the folder this run's: goes on with an unfinished one of the same kind, refuses any other.

        Whether the run begins anew. The folder must be locked.
        """
        note = self.hidden("meant.json")
        if note.exists() and not fresh and (found := read_note(note)) != meant:
            what = f"whose {note.name} cannot be read" if found is None else "of other data or settings"
            raise AuroraError(f"{self.out} holds an unfinished run {what}; start over with --fresh")
        anew = fresh or not note.exists()
        if anew:
            self.clear()
        note.parent.mkdir(parents=True, exist_ok=True)
        write_note(note, meant)
        return anew

    @contextmanager
    def claimed(self, meant: dict[str, Any], fresh: bool) -> Iterator[bool]:
        """The same, and the folder is nobody's again if the run fails before it has begun."""
        anew = self.claim(meant, fresh)
        try:
            yield anew
        except BaseException:
            if anew and not self.begun.exists():
                self.clear()
            raise

    @property
    def begun(self) -> Path:
        """It is there once a batch is done."""
        return self.hidden("begun")

    def clear(self) -> None:
        # From here on the folder is no run's: one that is killed while it is emptied is not gone on with.
        self.hidden("meant.json").unlink(missing_ok=True)
        shutil.rmtree(self.hidden(""), ignore_errors=True)
