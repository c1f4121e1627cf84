"""What System X had as a stored procedure: takes what has arrived, and gives the answers."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.linear_road.records import Reject
from aurora.linear_road.rivals.database import BadLines, Database
from aurora.linear_road.rivals.lines import mend, plain
from aurora.linear_road.rivals.rules import (
    ANSWERS,
    ASK,
    CLOSE,
    JOURNEYS,
    MOVE,
    QUOTE,
    RECORD,
    REPEATED,
    TURN,
)

__all__ = ["Arrival", "Procedure", "half_minute"]

# Travel times are worked out together, every so many seconds.
_JOURNEY_SECONDS = 5


@dataclass(frozen=True)
class Arrival:
    """The file of one second."""

    second: int
    file: Path

    def lines(self) -> int:
        return self.file.read_bytes().count(b"\n")


def half_minute(second: int) -> int:
    return second // 30


class Procedure:
    """Batches come in the order of time, none across the end of a half minute; `spent` has the seconds by statement.

    `vids` and `xways` are the driver's steps from copy to copy (records.replication).
    """

    def __init__(self, database: Database, vids: int, xways: int) -> None:
        self._database = database
        self._steps = {"vids": vids, "xways": xways}
        self._half: int | None = None
        self._quoted: int | None = None
        # The minute whose statistics are still to be made.
        self._open: int | None = None
        self.spent: dict[str, float] = defaultdict(float)
        self.rejects: list[Reject] = []
        self.tuples = 0

    def answer(self, batch: Sequence[Arrival]) -> Iterator[tuple[str, str]]:
        """Names and lines of the answers to a batch, each with `@` in the place of Emit."""
        if not self._load(batch):
            # The rules look at what a car did in earlier batches: no car may be in one twice.
            for arrival in batch:
                yield from self.answer([arrival])
            return
        self.tuples += sum(arrival.lines() for arrival in batch)
        first, last = batch[0].second, batch[-1].second
        minute = first // 60 + 1
        self._begin(half_minute(first), minute)
        names = self._names(first, last, minute)
        self._run(MOVE, names)
        yield from self._ask({name: ANSWERS[name] for name in ("tolls", "alerts")}, names)
        self._run(RECORD, names)
        yield from self._ask({name: ANSWERS[name] for name in ("balances", "expenditures")}, names)
        self._run(ASK, names)
        if first // _JOURNEY_SECONDS != (last + 1) // _JOURNEY_SECONDS:
            yield from self.journeys()
        # Nothing of this minute is to come: what the next one needs is made in the time until it begins.
        if last % 60 == 59:
            self._close(minute)
            self._quote(minute + 1)

    def journeys(self) -> Iterator[tuple[str, str]]:
        """The travel times that were asked for and have not been given."""
        yield from self._ask(JOURNEYS, {})
        self._run({"ask": "truncate asked"}, {})

    def _load(self, batch: Sequence[Arrival]) -> bool:
        """Whether the batch is in the table, each car once."""
        began = time.perf_counter()
        try:
            files = [arrival.file for arrival in batch]
            for file in files:
                if not plain(file.read_bytes()):
                    self.rejects += mend(file)
            try:
                self._database.load(files)
            except BadLines:
                for file in files:
                    self.rejects += mend(file)
                self._database.load(files)
            return len(batch) == 1 or not self._database.ask("repeated", REPEATED)
        finally:
            self.spent["load"] += time.perf_counter() - began

    def _begin(self, half: int, minute: int) -> None:
        if self._open is not None and self._open != minute:
            self._close(self._open)
        if self._quoted != minute:
            self._quote(minute)
        if self._half != half:
            self._half = half
            self._run(TURN, self._names(0, 0, minute))
        self._open = minute

    def _close(self, minute: int) -> None:
        self._run(CLOSE, self._names(0, 0, minute))
        self._open = None

    def _quote(self, minute: int) -> None:
        self._run(QUOTE, self._names(0, 0, minute))
        self._quoted = minute

    def _names(self, first: int, last: int, minute: int) -> dict[str, int | str]:
        which = (self._half or 0) % 2
        tables = {"here": f"reports_{which}", "before": f"reports_{1 - which}", "starts": f"starts_{which}"}
        return {**tables, **self._steps, "first": first, "last": last, "minute": minute}

    def _run(self, statements: dict[str, str], names: dict[str, int | str]) -> None:
        for name, statement in statements.items():
            began = time.perf_counter()
            self._database.run(name, statement.format(**names))
            self.spent[name] += time.perf_counter() - began

    def _ask(self, queries: dict[str, str], names: dict[str, int | str]) -> Iterator[tuple[str, str]]:
        for name, query in queries.items():
            began = time.perf_counter()
            lines = self._database.ask(name, query.format(**names))
            self.spent[name] += time.perf_counter() - began
            if lines:
                yield name, lines
