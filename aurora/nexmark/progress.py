"""How a run gets on: events answered, and how far it is behind the rate that it was asked for."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aurora import BatchReport
from aurora.nexmark.record import Record

__all__ = ["Pace", "Progress"]

# Seconds of events that wait from which on a run says that it is behind, and between two such words.
BEHIND, AGAIN = 2.0, 5.0


@dataclass(frozen=True)
class Progress:
    """Where a run is: events answered, of how many, and the seconds by which it is behind."""

    events: int
    total: int | None
    behind: float


class Pace:
    """Follows how many events are answered, and says so where a run falls behind the rate that it was asked for.

    With a `record` it notes there what tasks have written.
    """

    def __init__(
        self,
        rate: float | None,
        total: int | None,
        watch: Callable[[Progress], None],
        tell: Callable[[str], None],
        record: Record | None = None,
    ) -> None:
        self.rate = rate
        self._record = record
        self._batch_began: int | None = None
        self.moments: list[tuple[int, int]] = []
        self.began: int | None = None
        self.largest_lag = 0.0
        self._total = total
        self._watch = watch
        self._tell = tell
        self._told = 0.0

    def __call__(self, report: BatchReport) -> None:
        place = report.places["events"]
        now = time.time_ns() // 1_000_000
        self.moments.append((now, place["row"]))
        if self._record is not None and report.rows.get("result"):
            began = self._batch_began or now - round(report.seconds * 1000)
            self._record.came(report.rows["result"], began)
        self._batch_began = now
        lag = 0.0
        if self.rate is not None:
            self.began = place["began"]
            due = (now - place["began"]) / 1000 * self.rate
            # What is due after the last event of the input is nothing to be behind with.
            lag = 0.0 if report.end else max(0.0, (due - place["row"]) / self.rate)
            self.largest_lag = max(self.largest_lag, lag)
            if lag >= BEHIND and time.monotonic() - self._told >= AGAIN:
                self._told = time.monotonic()
                self._tell(f"behind: {lag * self.rate:,.0f} events wait, {lag:.1f} s of them; none is lost")
        self._watch(Progress(place["row"], self._total, lag))

    @property
    def events(self) -> int:
        return self.moments[-1][1] if self.moments else 0

    def described(self) -> dict[str, Any] | None:
        if self.rate is None:
            return None
        return {"asked": self.rate, "largest_lag_s": self.largest_lag, "kept_up": self.largest_lag < BEHIND}
