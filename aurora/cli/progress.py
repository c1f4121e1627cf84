"""How far a run is: a line on the terminal; without one, a line on stderr from time to time."""

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from aurora.engine.statistics import BatchReport

__all__ = ["RunWatch"]

# Between two lines where there is no terminal, in seconds.
EVERY = 10.0


class RunWatch:
    """Called with each batch; tells rows and rejects so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        console = Console(stderr=True)
        self._terminal = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True,
            disable=not self._terminal,
        )  # fmt: skip
        self._clock = clock
        self._rows = self._rejected = 0
        self._started = self._told = clock()

    def __enter__(self) -> "RunWatch":
        self._progress.start()
        self._task = self._progress.add_task("starting Spark", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, report: BatchReport) -> None:
        self._rows += sum(report.rows.values())
        self._rejected += report.rejected
        now = self._clock()
        if self._terminal:
            self._progress.update(self._task, description=self._line(report, now))
        elif now - self._told >= EVERY and not report.end:
            self._told = now
            print(f"{now - self._started:.0f} s: {self._line(report, now)}", file=sys.stderr, flush=True)

    def store(self, name: str, rows: int) -> None:
        """Called while a stored set is stored by key."""
        now = self._clock()
        line = f"storing {name}: {rows:,} rows"
        if self._terminal:
            self._progress.update(self._task, description=line)
        elif now - self._told >= EVERY:
            self._told = now
            print(f"{now - self._started:.0f} s: {line}", file=sys.stderr, flush=True)

    def _line(self, report: BatchReport, now: float) -> str:
        rate = self._rows / max(now - self._started, 0.001)
        rejects = f", {self._rejected:,} rejects" if self._rejected else ""
        return f"batch {report.batch}: {self._rows:,} rows out, {rate:,.0f} rows/s{rejects}"
