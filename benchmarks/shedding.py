"""Load shedding at twice what a network takes in: nothing shed, chance at the source, by graphs, by values.

Utility is measured at the sinks: for every second of input, what came out of it in time, by the graphs of the outputs.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from aurora import Network, Settings, start
from aurora.adapt.shedding import find_cuts
from aurora.engine.spark.session import spark_session
from aurora.history.shedder import Shedder
from aurora.network.qos import Qos
from benchmarks.clock import show
from benchmarks.scheduling import COSTLY
from benchmarks.surge import SCHEMA, Surge, as_fast_as_it_can, plot_over_time

__all__ = ["main"]

CORES = 2
WARM, SURGE, CALM = 15.0, 40.0, 20.0
LATENCY = [[0, 1], [3, 1], [8, 0]]
# The alarms are a tenth of the input and lose at once what they lose; scores can lose some, and low ones more.
GRAPHS: dict[str, dict[str, Any]] = {
    "alarms": {"latency": LATENCY, "delivered": [[100, 1], [0, 0]]},
    "scores": {
        "latency": LATENCY,
        "delivered": [[100, 1], [60, 0.8], [0, 0]],
        "value": {"of": "v", "graph": [[0, 0.05], [0.45, 0.05], [0.46, 1], [1, 1]]},
    },
}
SHARES = {"alarms": 0.1, "scores": 0.9}
POLICIES = ("nothing shed", "chance, at the source", "by graphs", "by graphs and values")


def network() -> Network:
    made = Network("shedding")
    high = made.input("r", SCHEMA).filter("v > 0.9", name="high")
    made.output("alarms", high.map({"v": "v", "due": "due"}, name="alarm"), qos=GRAPHS["alarms"])
    scores = high["rest"].map({"v": "v", "due": "due", "s": COSTLY}, name="score")
    made.output("scores", scores, qos=GRAPHS["scores"])
    return made


@dataclass
class Worth:
    """A sink: for each second of input the rows that came, what they are worth, the utility of their latency, and how
    many of them came within the good zone."""

    qos: Qos
    seconds: dict[int, list[float]] = field(default_factory=dict)
    rows: int = 0

    def __call__(self, rows: pa.RecordBatch) -> None:
        now = time.time_ns() // 1_000_000
        due, values = rows.column("due").to_numpy(), rows.column("v").to_numpy()
        assert self.qos.latency is not None
        timely = self.qos.latency.utilities((now - due) / 1000)
        worth = np.ones(len(due)) if self.qos.value is None else self.qos.value.graph.utilities(values)
        self.rows += len(due)
        for second in np.unique(due // 1000):
            own = due // 1000 == second
            known = self.seconds.setdefault(int(second), [0.0, 0.0, 0.0, 0.0])
            known[0] += float(own.sum())
            known[1] += float(worth[own].sum())
            known[2] += float(timely[own].sum())
            known[3] += float(((now - due[own]) / 1000 <= self.qos.latency.good_until).sum())

    def utility(self, second: int, expected: float, mean: float) -> float:
        """Of a second of which so many rows were to come, each worth `mean`."""
        rows, worth, timely, _ = self.seconds.get(second, [0.0, 0.0, 0.0, 0.0])
        if not rows:
            return 0.0
        assert self.qos.delivered is not None
        return self.qos.delivered.utility(min(100 * worth / (expected * mean), 100.0)) * timely / rows

    def in_zone(self, second: int) -> bool:
        """Whether 99 in a hundred rows of a second of input came within the good zone."""
        rows, _, _, timely = self.seconds.get(second, [0.0, 0.0, 0.0, 0.0])
        return rows > 0 and timely >= 0.99 * rows


@contextmanager
def policy(name: str) -> Iterator[bool]:
    """Sheds in one of the ways; gives whether anything is shed at all."""

    def only_at_the_source(*given: object) -> list[object]:
        return [cut for cut in find_cuts(*given) if cut.stream == "r"]  # type: ignore[arg-type]

    by_chance = partial(Shedder, semantic=False)
    if name == "chance, at the source":
        with (
            patch("aurora.history.adapting.Shedder", by_chance),
            patch("aurora.history.shedder.find_cuts", only_at_the_source),
        ):
            yield True
    elif name == "by graphs":
        with patch("aurora.history.adapting.Shedder", by_chance):
            yield True
    else:
        yield name != "nothing shed"


@dataclass
class Course:
    sinks: dict[str, Worth]
    began: float
    waiting: list[tuple[float, float]] = field(default_factory=list)
    taken: list[tuple[float, int]] = field(default_factory=list)
    shed: dict[str, int] = field(default_factory=dict)


def run_once(source: Surge, name: str) -> Course:
    made = network()
    sinks = {output: Worth(made.outputs[output].qos) for output in GRAPHS}  # type: ignore[arg-type]
    course = Course(sinks, time.time())

    def watch(report: object) -> None:
        course.taken.append((time.time(), report.places["r"]["row"]))  # type: ignore[attr-defined]
        waits = report.work.inputs["r"].waiting or 0  # type: ignore[attr-defined]
        course.waiting.append((time.time(), waits))

    with policy(name) as shed, start(made, {"r": source}, sinks, Settings(shed=shed), watch) as running:
        running.wait()
        course.shed = {output: each["shed"] for output, each in running.status()["outputs"].items()}
    return course


def find_capacity(rows: int) -> float:
    """Rows a second that are taken in, in the last third of a run."""
    taken = run_once(as_fast_as_it_can(rows), "nothing shed").taken
    late = [(now, row) for now, row in taken if row >= 2 * rows / 3]
    return (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0])


def utilities(course: Course, source: Surge) -> tuple[list[float], list[float]]:
    """The sum over the outputs, for each second of input, from 0 to 1 each."""
    began = min(second for sink in course.sinks.values() for second in sink.seconds)
    values = np.random.default_rng(0).random(100_000)
    moments, found = [], []
    edges = np.cumsum([0.0, *(length for length, _ in source.phases)])
    for second in range(int(edges[-1])):
        rate = source.phases[int(np.searchsorted(edges, second, "right")) - 1][1]
        total = 0.0
        for name, sink in course.sinks.items():
            graph = sink.qos.value
            drawn = values[values <= 0.9]
            mean = 1.0 if graph is None else float(graph.graph.utilities(drawn).mean())
            total += sink.utility(began + second, rate * SHARES[name], mean)
        moments.append(float(second))
        found.append(total)
    return moments, found


def find_return(course: Course, surge: float) -> int | None:
    """How many seconds after the surge began its rows came within the good zones of both outputs, and went on to."""
    began = min(second for sink in course.sinks.values() for second in sink.seconds) + int(WARM)
    late = [
        second
        for second in range(int(surge))
        if not all(sink.in_zone(began + second) for sink in course.sinks.values())
    ]
    return 0 if not late else None if late[-1] == int(surge) - 1 else late[-1] + 1


def main(scale: float = 1.0, plot: str = "shedding.png") -> None:
    spark_session("benchmarks", f"local[{CORES}]")
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as folder, _inside(folder):
        capacity = find_capacity(int(8_000_000 * max(scale, 0.1)))
        surge = SURGE * scale
        source = Surge(((WARM, 0.3 * capacity), (surge, 2 * capacity), (CALM, 0.3 * capacity)))
        courses = {name: run_once(source, name) for name in POLICIES}
    lines = {name: utilities(course, source) for name, course in courses.items()}
    rows = []
    for name, (_, values) in lines.items():
        under = values[int(WARM) : int(WARM + surge)]
        back = find_return(courses[name], surge)
        rows.append(
            [
                name,
                f"{sum(under) / len(under) / len(GRAPHS):.2f}",
                f"{np.mean(under[-10:]) / len(GRAPHS):.2f}",
                "never" if back is None else f"{back} s",
                *(f"{courses[name].shed[output]:,}" for output in GRAPHS),
                f"{max(waits for _, waits in courses[name].waiting):,}",
            ]
        )
    show(
        f"Shedding: {capacity:,.0f} rows/s are taken in, twice that come for {surge:g} s; utility from 0 to 1",
        [
            "",
            "utility",
            "in the last 10 s",
            "in the zone after",
            *(f"shed: {name}" for name in GRAPHS),
            "most waiting",
        ],
        rows,
    )
    plot_over_time(
        plot,
        "Twice what the network takes in",
        {
            "utility, both outputs": lines,
            "rows that wait": {
                name: (
                    [now - course.began for now, _ in course.waiting],
                    [each for _, each in course.waiting],
                )
                for name, course in courses.items()
            },
        },
    )


@contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Rejects and checkpoints go where nobody misses them."""
    import os

    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, sys.argv[2] if len(sys.argv) > 2 else "shedding.png"
    )
