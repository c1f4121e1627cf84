"""The systems of a comparison, each behind the same door: run on data in real time, leave output.csv and a report."""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from aurora.errors import AuroraError
from aurora.linear_road.answers import response_times
from aurora.linear_road.reading import survey
from aurora.linear_road.rivals.database import Database, empty
from aurora.linear_road.rivals.duck import DuckDatabase
from aurora.linear_road.rivals.feed import Feed, drive_in_real_time
from aurora.linear_road.rivals.poll import Batch, poll
from aurora.linear_road.rivals.postgres import PostgresDatabase
from aurora.linear_road.rivals.procedure import Procedure
from aurora.linear_road.rivals.server import running_server
from aurora.linear_road.run import Progress, RunReport, run_benchmark
from aurora.linear_road.stored_histories import find_histories
from aurora.linear_road.validate import write_rejects

__all__ = ["SYSTEMS", "Input", "Relational", "System", "Telling", "open_system"]

HOPELESS = 60.0


@dataclass(frozen=True)
class Input:
    """What a system is run on: the data, so many copies of each expressway."""

    data: Path
    replicate: int = 1
    history: Path | None = None
    today: int = 2


@contextmanager
def _never() -> Iterator[threading.Event]:
    yield threading.Event()


@dataclass(frozen=True)
class Telling:
    """Who hears of a run: what the user should know, and where it is. `stoppable` gives the event that stops it."""

    tell: Callable[[str], None] = lambda _: None
    watch: Callable[[Progress], None] = lambda _: None
    stoppable: Callable[[], AbstractContextManager[threading.Event]] = field(default=_never)


class System(Protocol):
    name: str

    def run(self, given: Input, out: Path, telling: Telling) -> RunReport:
        """Runs in real time; leaves output.csv, rejects.csv and report.json in `out`."""


class Aurora:
    """This project's own network on Spark: that of boxes, or the one with superboxes compiled by hand."""

    def __init__(self, fused: bool = False) -> None:
        self.name = "aurora-fused" if fused else "aurora"
        self._fused = fused

    def run(self, given: Input, out: Path, telling: Telling) -> RunReport:
        with telling.stoppable() as stop:
            report = run_benchmark(
                given.data,
                out,
                history=given.history,
                pace="realtime",
                replicate=given.replicate,
                today=given.today,
                hopeless=HOPELESS,
                fresh=True,
                fused=self._fused,
                watch=telling.watch,
                tell=telling.tell,
                stop=stop,
            )
        # A run that is given up sets the event as well, and says so.
        if stop.is_set() and not any(note.startswith("given up") for note in report.notes):
            raise KeyboardInterrupt
        return report


# Gives the seconds of the data in real time, through files in a folder.
Driver = Callable[..., AbstractContextManager[Feed]]


class Relational:
    """A relational system that polls. Histories are loaded before the clock starts, once for runs with the same."""

    def __init__(self, database: Database, driver: Driver = drive_in_real_time) -> None:
        self.name = database.name
        self._database = database
        self._driver = driver
        self._remembered: tuple[object, ...] | None = None

    def run(self, given: Input, out: Path, telling: Telling) -> RunReport:
        began = time.monotonic()
        found = survey(given.data)
        histories = find_histories(given.data, given.history)
        notes = [note] if (note := histories.note()) else []
        out.mkdir(parents=True, exist_ok=True)
        empty(self._database)
        # Slices of the same data have links to the same histories.
        wanted = (*(path and path.resolve() for path in (histories.toll, histories.segment)), given.today)
        if self._remembered != wanted:
            telling.tell(f"{self.name}: loading the histories")
            self._database.remember(histories, given.today)
            self._remembered = wanted
        copies = found.replication(given.replicate)
        procedure = Procedure(self._database, copies.vid_step, copies.xways)
        scratch = Path(tempfile.mkdtemp(prefix=".feed-", dir=out))
        output = scratch / "output.csv"

        def watched(batch: Batch) -> None:
            taken = max(batch.second - found.first_second + batch.behind, 0.001)
            telling.watch(
                Progress(
                    batch.second,
                    found.last_second,
                    batch.tuples,
                    batch.tuples / taken,
                    batch.behind,
                    batch.responses,
                )
            )

        try:
            with self._driver(given.data, found, given.replicate, scratch) as feed:
                polled = poll(feed, procedure, output, hopeless=HOPELESS, watch=watched)
            output.replace(out / "output.csv")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        write_rejects(tuple(procedure.rejects), out / "rejects.csv")
        spent = {
            name: round(took, 3)
            for took, name in sorted(((t, n) for n, t in procedure.spent.items()), reverse=True)
        }
        (out / "spent.json").write_text(json.dumps(spent, indent=2) + "\n")
        report = RunReport(
            pace="realtime",
            replicate=given.replicate,
            tuples=polled.tuples,
            tuples_per_s=round(polled.tuples / polled.seconds) if polled.seconds else 0,
            seconds=round(polled.seconds, 3),
            start_up=round(time.monotonic() - began - polled.seconds, 3),
            rejected=len(procedure.rejects),
            ended=polled.given_up is None,
            cores=os.cpu_count() or 1,
            largest_lag=round(polled.largest_lag, 3),
            responses=response_times(out / "output.csv"),
            notes=notes + ([polled.given_up] if polled.given_up else []),
        )
        report.write(out / "report.json")
        return report


SYSTEMS = ("aurora", "duckdb", "postgres")


@contextmanager
def open_system(name: str, tell: Callable[[str], None] = lambda _: None) -> Iterator[System]:
    """The system of this name, ready to run; whatever it started is gone afterwards."""
    with ExitStack() as stack:
        if name == "aurora":
            yield Aurora()
            return
        if name == "duckdb":
            database: Database = DuckDatabase()
        elif name == "postgres":
            database = PostgresDatabase(stack.enter_context(running_server(tell)))
        else:
            raise AuroraError(f"unknown system {name}: give some of {', '.join(SYSTEMS)}")
        stack.callback(database.close)
        yield Relational(database)
