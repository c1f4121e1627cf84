"""The driver as a process of its own, for runs in real time: delivers each second as a file, when it is due.

It reads and prepares first, then waits for a line on its standard input, and goes when the input ends: so it never
outlives the run that it feeds.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from aurora.errors import AuroraError
from aurora.linear_road.drive import FolderReceiver, drive

__all__ = ["ENDED", "Clock", "Delivery", "delivered_seconds"]

# Appears in the folder behind the last second.
ENDED = "_ended"
_DELIVERED = re.compile(r"second-(\d+)\.csv")


@dataclass(frozen=True)
class Clock:
    """The simulation clock, in a file of the run's folder: a restarted run goes on with it, downtime included."""

    path: Path

    def epoch(self) -> float | None:
        """The moment of second 0, in seconds since 1970; None before the clock has been started."""
        return float(json.loads(self.path.read_text())["epoch"]) if self.path.exists() else None

    def now(self) -> float:
        epoch = self.epoch()
        return -1.0 if epoch is None else time.time() - epoch

    def start(self, second: int) -> None:
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps({"epoch": time.time() - second}))
        partial.replace(self.path)


@dataclass(frozen=True)
class Delivery:
    """What the process is told. `folder` gets a file a second, and one named ENDED behind the last."""

    data: str
    folder: str
    clock: str
    report: str
    replicate: int
    start_at: int
    stop_at: int

    def start(self) -> "subprocess.Popen[str]":
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-m", "aurora.linear_road.delivery", json.dumps(asdict(self))],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def deliver(self) -> None:
        clock, folder = Clock(Path(self.clock)), Path(self.folder)
        delivered = delivered_seconds(folder)
        first = delivered[-1] + 1 if delivered else self.start_at
        if first <= self.stop_at:
            receiver = _Waiting(folder, clock, self.start_at)
            epoch = clock.epoch()
            report = drive(
                Path(self.data),
                receiver,
                replicate=self.replicate,
                start_at=first,
                stop_at=self.stop_at,
                begin=None if epoch is None else epoch + first,
                clock=time.time,
            )
            Path(self.report).write_text(json.dumps(report.asdict()))
        (folder / ENDED).touch()


def delivered_seconds(folder: str | Path) -> list[int]:
    """The seconds whose files are there, ascending: none is missing before the last.

    A file that comes while a folder is listed may be left out, and a later one not; so the folder is listed twice.
    """
    last = max(_listed(folder), default=-1)
    return sorted(second for second in _listed(folder) if second <= last)


def _listed(folder: str | Path) -> list[int]:
    found = (_DELIVERED.fullmatch(entry.name) for entry in os.scandir(folder))
    return [int(match[1]) for match in found if match]


class _Waiting(FolderReceiver):
    """A folder that may hold seconds of a run before; the clock starts with a line from the run."""

    def __init__(self, folder: Path, clock: Clock, start_at: int) -> None:
        super().__init__(folder)
        self._clock = clock
        self._start_at = start_at

    def open(self) -> None:
        self._beside.mkdir(parents=True, exist_ok=True)
        sys.stdin.readline()
        threading.Thread(target=_end_with_the_run, daemon=True).start()
        if self._clock.epoch() is None:
            self._clock.start(self._start_at)


def _end_with_the_run() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    try:
        Delivery(**json.loads(sys.argv[1])).deliver()
    except AuroraError as fault:
        sys.exit(str(fault))
    except KeyboardInterrupt:
        sys.exit(1)
