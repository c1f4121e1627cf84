"""Structured Streaming as a good Spark engineer writes it: the same Spark as the engine's, without the engine."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from aurora.nexmark.rivals.inputs import longest_auction, write_side
from aurora.nexmark.rivals.system import ARRIVALS, Job, Timing, event_files, timed

__all__ = ["SparkByHand", "fill"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "6g",
    "spark.sql.session.timeZone": "UTC",
}
# The queries whose rows wait for no window to close.
AT_ONCE = ("q0", "q1", "q2", "q3", "q10", "q13", "q14", "q20", "q21", "q22")
FUTURE = "2100-01-01 00:00:00.000"


class SparkByHand:
    """Runs on this interpreter, in a process of its own."""

    name = "spark"
    impossible: Mapping[str, str] = {"q12": ARRIVALS}

    def prepare(self, say: Callable[[str], None]) -> None:
        """Spark is there: this package runs on it."""

    def run(self, job: Job) -> Timing:
        kept = job.out.parent / f"{job.out.name}.kept"
        shutil.rmtree(kept, ignore_errors=True)
        (kept / "input").mkdir(parents=True)
        try:
            fill(kept / "input", job)
            settings = SETTINGS | {"spark.sql.shuffle.partitions": str(job.cores)}
            work = asdict(job.rules) | {"query": job.query, "cores": job.cores, "settings": settings}
            work |= {"folder": str(kept / "input"), "out": str(job.out), "kept": str(kept)}
            work["longest"] = longest_auction(job)
            (kept / "work.json").write_text(json.dumps(work))
            whole, seconds = timed(
                [sys.executable, "-m", "aurora.nexmark.rivals.spark_by_hand.job", str(kept / "work.json")],
                job.out,
                f"hand-written Spark with {job.query}",
            )
        finally:
            shutil.rmtree(kept)
        return Timing(whole, seconds, tuple(sorted(job.out.glob("part-*.json"))))


def fill(folder: Path, job: Job) -> None:
    """The files, in the order in which Spark takes them (by their age), and the events that close every window."""
    files = event_files(job.data)
    ages = [path.stat().st_mtime_ns for path in files]
    for path in files:
        if ages == sorted(ages):
            (folder / path.name).symlink_to(path.resolve())
        else:
            shutil.copyfile(path, folder / path.name)
    if job.query == "q13":
        write_side(folder.parent)
    if job.query in AT_ONCE:
        return
    last = folder / "events-end.jsonl"
    last.write_text("".join(json.dumps(event) + "\n" for event in _far_events()))
    now = max(path.stat().st_mtime for path in folder.iterdir()) + 1
    os.utime(last, (now, now))


def _far_events() -> list[dict[str, dict[str, object]]]:
    """One event of each kind, all fields given, for Spark looks at none in which a needed one is missing."""
    names: dict[str, object] = dict.fromkeys(["name", "city", "state", "channel", "url", "extra"], "")
    person = {"id": -1, "dateTime": FUTURE, **names}
    auction = {"id": -1, "reserve": 0, "dateTime": FUTURE, "expires": FUTURE, "seller": -2, "category": -1}
    bid = {"auction": -2, "bidder": -1, "price": 0, "dateTime": FUTURE, **names}
    return [{"person": person}, {"auction": auction}, {"bid": bid}]
