"""A whole simulation: a job for each direction, then one for each expressway, then the files appear."""

import errno
import json
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkContext

from aurora.errors import AuroraError
from aurora.linear_road.simulator.direction import Direction, simulate_direction
from aurora.linear_road.simulator.figures import summary
from aurora.linear_road.simulator.plots import draw_page, page_name
from aurora.linear_road.simulator.returning import number_cars
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.write import file_name, write_expressway

__all__ = ["SUMMARY", "run_jobs", "simulate", "spread"]

SUMMARY = "simulation.json"
UNFINISHED = ".simulating-"
# What an older simulation has left.
OLDER = re.compile(r"xway-\d+\.csv|traffic-\d+\.png")
POLL_SECONDS = 0.5

Job = Callable[[], Any]
# Runs the jobs, in whatever order and process, and returns their results in the order given.
Runner = Callable[[Sequence[Job]], list[Any]]


def run_jobs(jobs: Sequence[Job]) -> list[Any]:
    """In this process, one after the other."""
    return [job() for job in jobs]


def spread(spark: SparkContext) -> Runner:
    """Over Spark. What a user can mend (a full disk) comes back as a value, not as a Spark trace."""

    def attempt(job: Job) -> Any:
        try:
            return job()
        except OSError as fault:
            # A fault of numpy's has no number; the name of the file is of no use, it is about to go.
            return OSError(fault.errno or errno.EIO, fault.strerror or str(fault))

    def runner(jobs: Sequence[Job]) -> list[Any]:
        # In a thread, so that Ctrl-C finds this one at leisure and Spark's handler can cancel the jobs.
        with ThreadPoolExecutor(1) as thread:
            results: list[Any] = thread.submit(
                spark.parallelize(jobs, len(jobs)).map(attempt).collect
            ).result()
        for result in results:
            if isinstance(result, OSError):
                raise result
        return results

    return runner


def simulate(
    settings: Settings,
    out: Path,
    runner: Runner,
    plots: bool = False,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Leaves xway-N.csv and, last of all, simulation.json in `out`; returns what is in the latter.

    `progress` hears the share of the work that is done, from another thread.
    """
    with _unfinished(out) as folder, _watched(settings, folder, progress):
        directions: list[Direction] = runner(
            [
                _SimulateJob(settings, expressway, direction, folder)
                for expressway in range(settings.expressways)
                for direction in (0, 1)
            ]
        )
        numbered = number_cars(settings, folder)
        jobs = []
        for expressway in range(settings.expressways):
            np.save(folder / f"vids-{expressway}.npy", numbered.vids[expressway])
            counts = np.stack([each.reports for each in directions if each.expressway == expressway])
            jobs.append(_WriteJob(settings, expressway, counts, folder))
        written = runner(jobs)
        result = summary(settings, directions, written, numbered)
        names = [file_name(expressway) for expressway in range(settings.expressways)]
        if plots:
            for expressway in range(settings.expressways):
                draw_page(folder, expressway, result["accidents"])
                names.append(page_name(expressway))
        (folder / SUMMARY).write_text(json.dumps(result, indent=2) + "\n")
        _move_in(folder, out, names)
    return result


class _SimulateJob:
    def __init__(self, settings: Settings, expressway: int, direction: int, folder: Path) -> None:
        self.arguments = (settings, expressway, direction, folder)

    def __call__(self) -> Direction:
        return simulate_direction(*self.arguments)


class _WriteJob:
    def __init__(self, settings: Settings, expressway: int, counts: Any, folder: Path) -> None:
        self.settings, self.expressway, self.counts, self.folder = settings, expressway, counts, folder

    def __call__(self) -> Any:
        vids = np.load(self.folder / f"vids-{self.expressway}.npy")
        return write_expressway(self.settings, self.expressway, self.counts, vids, self.folder)


def _move_in(folder: Path, out: Path, names: Sequence[str]) -> None:
    """An older simulation goes first, its summary before its data, so that no mixture ever looks complete."""
    (out / SUMMARY).unlink(missing_ok=True)
    for old in [path for path in out.iterdir() if OLDER.fullmatch(path.name)]:
        old.unlink()
    for name in [*names, SUMMARY]:
        (folder / name).rename(out / name)


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """A folder in `out` for the work under way; it never stays, nor does an `out` made for nothing."""
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=out)).resolve()
    except OSError as fault:
        raise AuroraError(f"cannot write to --out {out}: {fault.strerror}; choose another folder") from fault
    try:
        yield folder
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = (
            "make room (about 1 GB an expressway) or choose another folder"
            if full
            else "choose another folder"
        )
        raise AuroraError(f"writing to --out {out} failed: {fault.strerror or fault}; {remedy}") from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if made and not any(out.iterdir()):
            out.rmdir()


@contextmanager
def _watched(settings: Settings, folder: Path, progress: Callable[[float], None] | None) -> Iterator[None]:
    """Tells `progress` what the jobs have done, which they show by the length of small files."""
    if progress is None:
        yield
        return
    total = settings.expressways * (2 * settings.minutes + len(settings.kept_minutes))
    over = threading.Event()

    def watch() -> None:
        while not over.wait(POLL_SECONDS):
            progress(sum(path.stat().st_size for path in folder.glob("progress-*")) / total)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        progress(1.0)
    finally:
        over.set()
        watcher.join()
