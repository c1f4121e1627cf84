"""Scheduling by quality of service: an urgent output beside one that can wait, and an input that is too much for both.

The input comes at 1.5 times what the network takes in, for 30 seconds, then at half of it. With scheduling the urgent
output stays in its good zone of 2 seconds and the other one catches up later; without it both fall behind.
"""

import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aurora import Network, Settings, start
from aurora.engine.spark.session import spark_session
from benchmarks.clock import show
from benchmarks.surge import SCHEMA, Arrivals, Surge, as_fast_as_it_can, plot_over_time

__all__ = ["main"]

CORES = 2
# Seconds at a third of what is taken in, to warm up; at 1.5 times that; and at half of it.
WARM, SURGE, CALM = 15.0, 30.0, 45.0
ZONES = {"alarms": 2.0, "report": 60.0}
# Some microseconds a tuple: text is made, matched and hashed.
TEXT = "CAST(v AS string)"
COSTLY = f"v + length(regexp_replace({TEXT}, '[0-9]{{3}}', 'x')) + length(sha2({TEXT}, 256))"


def network() -> Network:
    made = Network("two outputs")
    rows = made.input("r", SCHEMA)
    alarms = rows.filter("v > 0.99", name="high")
    made.output("alarms", alarms, qos={"latency": [[0, 1], [ZONES["alarms"], 1], [5, 0]]})
    scored = rows.map({"k": "k", "t": "t", "s": COSTLY, "due": "due"}, name="score")
    order = {"on": "t", "slack": 2, "group_by": ["k"]}
    functions = {"n": "count(*)", "s": "sum(s)", "due": "max(due)"}
    report = scored.aggregate(functions, order=order, size=5, align=True, name="sums")
    made.output("report", report, qos={"latency": [[0, 1], [ZONES["report"], 1], [120, 0]]})
    return made


@dataclass
class Course:
    """How a run went: the sinks, and how many tuples waited, second by second."""

    sinks: dict[str, Arrivals]
    began: float = 0.0
    waiting: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0


def run_once(source: Surge, folder: Path, defer: bool) -> Course:
    course = Course({name: Arrivals() for name in ZONES}, time.time())
    settings = Settings(home=str(folder), defer=defer, shed=False, fresh=True)
    with start(network(), {"r": source}, course.sinks, settings) as running:
        over = threading.Event()
        watch = threading.Thread(target=_note_waiting, args=(running, course, over), daemon=True)
        watch.start()
        running.wait()
        over.set()
        watch.join()
    course.seconds = time.time() - course.began
    return course


def _note_waiting(running: object, course: Course, over: threading.Event) -> None:
    while not over.wait(0.5):
        status = running.status()  # type: ignore[attr-defined]
        here = sum(each["waiting"] or 0 for each in status["inputs"].values())
        there = sum(each["waiting"] for each in status["arcs"].values())
        course.waiting.append((time.time(), here + there))


def find_capacity(folder: Path, rows: int) -> float:
    """Rows a second that the network takes in, in the last third of a run."""
    moments = run_once(as_fast_as_it_can(rows), folder, defer=False).sinks["alarms"].moments
    total = sum(each[3] for each in moments)
    reached = np.cumsum([each[3] for each in moments])
    first = int(np.searchsorted(reached, 2 * total / 3))
    return (total - reached[first]) / total * rows / (moments[-1][0] - moments[first][0])


def find_sustained(guess: float, folder: Path) -> float:
    """Rows a second that are taken in while far too many come, in real time."""
    source = Surge(((WARM, 0.3 * guess), (20.0, 2.5 * guess)))
    course = run_once(source, folder, defer=False)
    sink = course.sinks["alarms"]
    began = sink.moments[0][0]
    late = [each for each in sink.moments if began + WARM + 6 <= each[0] <= began + WARM + 20]
    share = sum(each[3] for each in late[1:]) / sink.total
    return share * source.total / (late[-1][0] - late[0][0])


def main(scale: float = 1.0, plot: str = "scheduling.png") -> None:
    spark_session("benchmarks", f"local[{CORES}]")
    surge, calm = SURGE * scale, CALM * scale
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        capacity = find_capacity(Path(name) / "capacity", int(3_000_000 * max(scale, 0.3)))
        capacity = find_sustained(capacity, Path(name) / "sustained")
        source = Surge(((WARM, 0.3 * capacity), (surge, 1.5 * capacity), (calm, 0.5 * capacity)))
        courses = {
            label: run_once(source, Path(name) / f"run-{defer}", defer)
            for label, defer in (("with scheduling", True), ("without", False))
        }
    rows = []
    for label, course in courses.items():
        for output, zone in ZONES.items():
            sink = course.sinks[output]
            begin = sink.moments[0][0] + WARM
            slowest, worst = sink.quantile(0.99, begin), sink.slowest(begin)
            told = [
                f"{slowest:.1f} s",
                "yes" if slowest <= zone else "no",
                f"{worst:.1f} s",
                f"{sink.total:,}",
                f"{sink.counted:,}",
            ]
            rows.append([label, output, f"{zone:g} s", *told])
    show(
        f"Scheduling: {capacity:,.0f} rows/s are taken in; 1.5 times that for {surge:g} s, then half of it",
        ["", "output", "good zone", "p99", "in its zone", "p99 of the worst batch", "rows", "tuples"],
        rows,
    )
    plot_over_time(
        plot,
        "1.5 times what the network takes in, then half of it",
        {
            f"{label}: p99, s": {
                output: (
                    [each[0] - course.began for each in sink.moments],
                    [each[2] for each in sink.moments],
                )
                for output, sink in course.sinks.items()
            }
            for label, course in courses.items()
        }
        | {
            "tuples that wait": {
                label: (
                    [now - course.began for now, _ in course.waiting],
                    [rows for _, rows in course.waiting],
                )
                for label, course in courses.items()
            }
        },
    )


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 1.0,
        sys.argv[2] if len(sys.argv) > 2 else "scheduling.png",
    )
