"""How far a run is: a bar on the terminal; without one, a line on stderr every ten seconds."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from aurora.cli.bars import open_bar
from aurora.cli.telling import shows_progress, tell

if TYPE_CHECKING:
    from aurora.engine.statistics import BatchReport
    from aurora.history.running import Running

__all__ = ["RunWatch", "Standing", "shorten"]

# Between two lines where there is no terminal, in seconds.
EVERY = 10.0


@dataclass(frozen=True)
class Standing:
    """How far a run is; rows are those since the beginning, also of earlier runs, the rate is that of this one.

    `waiting` rows have come and are not read; `lag_seconds` is how long the slowest row of the last batch was under
    way, `done` the share of the input that is read. None where that is not known, or says nothing.
    """

    batch: int = 0
    seconds: float = 0.0
    rows_in: int = 0
    rows_out: int = 0
    rows_per_second: float = 0.0
    rejected: int = 0
    discarded: int = 0
    waiting: int | None = None
    lag_seconds: float | None = None
    done: float | None = None

    def line(self) -> str:
        """For a file, all figures whole.

        >>> Standing(7, 20.0, 300_000, 1200, 15_000.0, 1, 0, done=0.25).line()
        '25%, batch 7: 300,000 rows in, 1,200 out, 15,000 rows/s, 1 rejected'
        """
        done = "" if self.done is None else f"{self.done:.0%}, "
        counted = f"{self.rows_in:,} rows in, {self.rows_out:,} out, {self.rows_per_second:,.0f} rows/s"
        more = [
            f"{number:,} {word}"
            for number, word in (
                (self.rejected, "rejected"),
                (self.discarded, "left out"),
                (self.waiting, "waiting"),
            )
            if number
        ]
        lag = [] if self.lag_seconds is None else [f"lag {self.lag_seconds:.1f} s"]
        return ", ".join([f"{done}batch {self.batch}: {counted}", *more, *lag])

    def short(self) -> str:
        """For a bar, on a terminal of 80 columns.

        >>> Standing(7, 20.0, 12_345_678, 1200, 9.0, 1, 34_567, lag_seconds=1.25).short()
        '12.3M in, 1,200 out, 1 rejected, 34.6k left out, lag 1.2 s'
        """
        parts = [f"{shorten(self.rows_in)} in", f"{shorten(self.rows_out)} out"]
        parts += [f"{shorten(self.rejected)} rejected"] if self.rejected else []
        parts += [f"{shorten(self.discarded)} left out"] if self.discarded else []
        if self.lag_seconds is not None:
            parts.append(f"lag {self.lag_seconds:.1f} s")
        elif not self.rejected and not self.discarded:
            parts.append(f"{shorten(round(self.rows_per_second))} rows/s")
        return ", ".join(parts)


def shorten(number: int) -> str:
    """A number in at most six characters, up to a quadrillion.

    >>> [shorten(number) for number in (9, 9_999, 10_000, 999_960, 1_234_567, 45_600_000_000)]
    ['9', '9,999', '10.0k', '1.0M', '1.2M', '45.6G']
    """
    if number < 10_000:
        return f"{number:,}"
    units = ((1e3, "k"), (1e6, "M"), (1e9, "G"))
    unit, letter = next((each for each in units if round(number / each[0], 1) < 1000), units[-1])
    return f"{number / unit:.1f}{letter}"


class RunWatch:
    """Called with each batch of a network; `outputs` are those whose rows count.

    Until `running` is set, what the run as a whole knows is not shown.
    """

    def __init__(self, outputs: Collection[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._outputs = set(outputs)
        self._clock = clock
        self._bar = open_bar(width=12) if shows_progress() else None
        self.running: Running | None = None
        self._standing: Standing | None = None
        self._doing, self._what = "starting Spark", "starting"
        self._rows_out = self._rejected = self._before = 0
        self._started = self._told = clock()
        self._new = True
        self._over = threading.Event()
        self._noting = threading.Lock()

    def __enter__(self) -> "RunWatch":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._doing, total=None)
        else:
            threading.Thread(target=self._tick, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, report: "BatchReport") -> None:
        with self._noting:
            standing = self._standing = self._find(report)
            self._new = True
        if self._bar is not None:
            total = None if standing.done is None else 1.0
            self._bar.update(
                self._task, description=standing.short(), completed=standing.done or 0, total=total
            )
        else:
            tell(standing.line(), "batch", logging.DEBUG, **asdict(standing))
            if report.end:
                # The summary is next.
                self._over.set()
            else:
                self.look()

    def store(self, name: str, rows: int) -> None:
        """Called while a stored set is stored by key."""
        self._doing, self._what = f"storing {name}: {rows:,} rows", "storing"
        self._new = True
        if self._bar is not None:
            self._bar.update(self._task, description=self._doing)
        else:
            self.look()

    def look(self) -> None:
        """Tells how far the run is, if that is due."""
        with self._noting:
            now = self._clock()
            if now - self._told < EVERY or not (self._new or self._is_at_work()):
                return
            self._told, self._new = now, False
            standing = self._standing
        seconds = now - self._started
        if standing is None:
            tell(f"{seconds:.0f} s: {self._doing}", self._what, seconds=round(seconds, 1))
        else:
            tell(f"{seconds:.0f} s: {standing.line()}", "progress", **asdict(standing))

    def _is_at_work(self) -> bool:
        """Whether there is something to wait for: a network whose inputs are live may have nothing to do."""
        return self.running is None or not self.running.live

    def _tick(self) -> None:
        while not self._over.wait(EVERY / 10):
            self.look()

    def _find(self, report: "BatchReport") -> Standing:
        rows_in = sum(int(place["row"]) for place in report.places.values())
        if self._standing is None:
            self._before = rows_in - report.work.rows
        self._rows_out += sum(rows for name, rows in report.rows.items() if name in self._outputs)
        self._rejected += report.rejected
        rows_out, rejected, discarded, live = self._rows_out, self._rejected, 0, True
        if self.running is not None:
            seen = self.running.statistics()
            rows_out = sum(rows for name, rows in seen.rows.items() if name in self._outputs)
            rejected, live = seen.rejected, bool(self.running.live)
            discarded = sum(reasons.total() for reasons in self.running.discarded().values())
        left = [read.waiting for read in report.work.inputs.values()]
        waiting = None if None in left or not left else sum(number or 0 for number in left)
        seconds = self._clock() - self._started
        slowest = max((max(delays.samples, default=0) for delays in report.delays.values()), default=0)
        known = self.running is not None and not live and waiting is not None
        return Standing(
            report.batch,
            round(seconds, 1),
            rows_in,
            rows_out,
            # Without the seconds that Spark takes to start.
            round((rows_in - self._before) / max(report.seconds, 0.001), 1),
            rejected,
            discarded,
            waiting if live else None,
            round(slowest / 1000, 3) if self.running is not None and live and slowest else None,
            rows_in / max(rows_in + (waiting or 0), 1) if known else None,
        )
