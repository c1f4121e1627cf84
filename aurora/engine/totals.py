"""What a run has done so far, and how far it has come: the note that is written last in every batch."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aurora.engine.durable import RESTORE, Damaged, cannot_write, read_json, write_whole
from aurora.engine.sinks.sink import Note
from aurora.engine.sources.source import Cursor

__all__ = ["SUMS", "Totals"]

SUMS = ("rows", "taken", "given", "nanoseconds", "accepted", "unreadable")


@dataclass
class Totals:
    """Sums over all committed batches, restarts included; the number of the last one is `batch`, from 0.

    `notes` are those of the sinks, `places` the cursors that the inputs have reached, `inputs` what their files
    looked like when the run began, `rejects` the file where bad rows are, `behind` an arrival number larger than all
    so far. `finished` is noted last of all: the input has ended, and all that works on what came of it is done; before
    that, no changed input makes the next run start over. `accepted` are the rows of each input that could be read,
    `unreadable` those that could not, which are a single one for a file that is none of its kind. `spark` are the
    checksums of the files in which Spark has noted its batches.
    """

    batch: int = -1
    end: bool = False
    finished: bool = False
    rejected: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    nanoseconds: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    spark: dict[str, int] = field(default_factory=dict)
    discarded: dict[str, Counter[str]] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)
    places: dict[str, Cursor] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    rejects: str | None = None
    behind: int = 0

    @property
    def read(self) -> int:
        """Rows read from all inputs, including rejected ones."""
        return sum(place["row"] for place in self.places.values())

    @property
    def unread(self) -> list[str]:
        """Inputs of which there were rows, and not one could be read."""
        return sorted(name for name in self.unreadable if name in self.places and not self.accepted[name])

    @classmethod
    def load(cls, path: Path) -> "Totals | None":
        if not path.exists():
            return None
        try:
            totals = cls(**read_json(path))
        except TypeError:
            raise Damaged(f"{path} is damaged: it is no note of a run; {RESTORE}") from None
        for name in SUMS:
            setattr(totals, name, Counter(getattr(totals, name)))
        totals.discarded = {box: Counter(reasons) for box, reasons in totals.discarded.items()}
        return totals

    def store(self, path: Path) -> None:
        write_whole(path, json.dumps(vars(self)))

    def finish(self, path: Path) -> None:
        """Notes that all is done; doing it twice does no harm."""
        if not self.finished:
            self.finished = True
            try:
                self.store(path)
            except OSError as fault:
                raise cannot_write(path, fault) from None

    def copy(self) -> "Totals":
        return deepcopy(self)

    def add(self, counts: dict[str, Any]) -> None:
        for box, count in counts.items():
            self.taken[box] += count["taken"]
            self.given[box] += count["given"]
            self.nanoseconds[box] += count["nanoseconds"]
            if count["discarded"]:
                self.discarded.setdefault(box, Counter()).update(count["discarded"])
