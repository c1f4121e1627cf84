"""What every compared system offers, and how its work is run and timed: always in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aurora.errors import AuroraError
from aurora.nexmark.check import Rules

__all__ = ["ARRIVALS", "REPORT", "Job", "System", "Timing", "event_files", "timed"]

# The line with which a child tells its times.
REPORT = "nexmark-times "
# Why no system is compared on q12.
ARRIVALS = "its windows are of processing time, so there is no answer to check its rows against"
# Seconds that a child has to end by itself after its report.
FAREWELL = 30


@dataclass(frozen=True)
class Job:
    """One query to run over the events of a folder; the result goes to `out`, a folder that does not exist yet."""

    query: str
    data: Path
    out: Path
    rules: Rules
    cores: int = 2


@dataclass(frozen=True)
class Timing:
    """Seconds, always to the last row written: `whole` from the start of the process, `job` from that of the query.

    When the query starts, the process is up, and so are its Java and its session; it has read no event yet.
    """

    whole: float
    job: float
    results: tuple[Path, ...]


class System(Protocol):
    """One of the compared systems."""

    @property
    def name(self) -> str: ...

    @property
    def impossible(self) -> Mapping[str, str]:
        """The queries that it cannot run, each with the reason."""
        ...

    def prepare(self, say: Callable[[str], None]) -> None:
        """Installs what is missing; what takes long is said."""
        ...

    def run(self, job: Job) -> Timing: ...


def timed(
    command: Sequence[str], out: Path, name: str, environment: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """Runs a child that reports the seconds of its query; gives the whole time and that. Its words go to a log."""
    out.mkdir(parents=True, exist_ok=True)
    path = out.parent / f"{out.name}.log"
    times: tuple[float, float] | None = None
    start = time.perf_counter()
    with _orderly_end(), open(path, "wb") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if line.startswith(REPORT.encode()):
                    times = (
                        time.perf_counter() - start,
                        float(json.loads(line.removeprefix(REPORT.encode()))["job"]),
                    )
        finally:
            # Whatever the child has started goes with it, also when this process is interrupted.
            _end(child, times is not None)
            child.stdout.close()
    if child.returncode != 0 or times is None:
        raise AuroraError(f"{name} failed: {_cause(path)}; its log is {path}")
    path.unlink()
    return times


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Makes a plain kill of this process an exception, so that its children end too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(child: "subprocess.Popen[bytes]", done: bool) -> None:
    try:
        if done:
            with suppress(subprocess.TimeoutExpired):
                child.wait(FAREWELL)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _cause(log: Path) -> str:
    """The innermost cause that Java names, else the last line that is no place in a program."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    told = [line for line in lines if line and not line.startswith("at ")]
    causes = [line for line in told if line.startswith("Caused by: ")]
    return (causes or told or ["it said nothing"])[-1].removeprefix("Caused by: ")[:300]


def event_files(data: Path) -> list[Path]:
    """The JSON files of a data folder in the order of their events."""
    files = sorted(data.glob("events-*.jsonl"))
    if not files:
        raise AuroraError(
            f"{data} has no events-NNNNN.jsonl: make them with aurora nexmark generate --format json"
        )
    return files
