"""Linear Road past its rating: what comes in time, with graphs on its outputs and without.

`python -m benchmarks.linear_road_overload 90 --plot overload.svg` runs the last minutes of the benchmark on 90
expressways in real time, once with `--graphs` and once without, each with a home, and has the validator count what was
late, missing or wrong. `--queries 4` lets four queries follow every report: requests are then a part of the work that
it pays to leave out. `--data FOLDER` takes traffic and histories that are there instead of making them.
"""

import argparse
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aurora.errors import AuroraError
from aurora.history.home import Home
from aurora.history.last_status import find_status
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.queries import OUTPUTS
from aurora.linear_road.peak import peak_data
from aurora.linear_road.reading import cut_blocks
from aurora.linear_road.records import DIALECTS, OUTPUT_NAMES, parse_output
from aurora.linear_road.run import run_benchmark
from aurora.linear_road.simulator import Settings
from aurora.linear_road.validate import Verdict, validate
from benchmarks.clock import show
from benchmarks.surge import plot_over_time

__all__ = ["Measured", "find_course", "main", "make_table"]

MINUTES = 4
# The plot has a point for so many seconds.
STEP = 5
# Between two looks at a run, in seconds.
LOOK = 2.0
PLOTTED = ("tolls", "balances")
HEADER = [
    "run",
    "answers",
    "deadline",
    "expected",
    "late",
    "p50",
    "p99",
    "slowest",
    "shed",
    "missing",
    "wrong",
]
Series = dict[str, tuple[list[float], list[float]]]


@dataclass
class Watch:
    """What a run tells of itself: how many tuples were shed on the way to each output, and how many waited at most."""

    home: Home
    shed: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        try:
            told = find_status(self.home)
        except (AuroraError, OSError):
            # It has not begun, or has just ended.
            return
        self.take(told)

    def take(self, told: dict[str, Any]) -> None:
        self.shed.update({name: output.get("shed", 0) for name, output in told.get("outputs", {}).items()})
        self.waiting = max(self.waiting, sum(arc["waiting"] for arc in told.get("arcs", {}).values()))

    def __enter__(self) -> "Watch":
        def go_on() -> None:
            while not self._over.wait(LOOK):
                self.look()

        threading.Thread(target=go_on, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.look()


@dataclass(frozen=True)
class Measured:
    """One run: what the validator says, the course of the response times, tuples shed and tuples that waited."""

    verdict: Verdict
    course: Series
    shed: dict[str, int]
    waiting: int


def run_once(data: Path, folder: Path, expressways: int, graphs: bool) -> Measured:
    home = folder / "home"
    with Watch(Home.of(home)) as watch:
        report = run_benchmark(
            data,
            folder,
            pace="realtime",
            replicate=expressways,
            home=home,
            graphs=graphs,
            fresh=True,
            tell=lambda text: print(f"  {text}", flush=True),
        )
    files = [folder / "output.csv", *([folder / "requests.csv"] if graphs else [])]
    print(f"  {report.tuples:,} tuples, {report.tuples_per_s:,.0f}/s, most behind {report.largest_lag:.1f} s")
    print(f"  at most {watch.waiting:,} tuples waited at arcs", flush=True)
    verdict = validate(None, data, files[0], also=files[1:], replicate=expressways)
    return Measured(verdict, find_course(files), watch.shed, watch.waiting)


def find_course(files: list[Path]) -> Series:
    """The largest response time of each type, over the seconds of the simulation."""
    dialect = DIALECTS["native"]
    worst: dict[int, dict[int, float]] = {kind: {} for kind in dialect.layouts}
    for path in files:
        for block in cut_blocks(path):
            rows = parse_output(block.bytes(), dialect)
            for kind, layout in dialect.layouts.items():
                mine = rows.good & (rows.values[:, 0] == kind)
                at, when = layout.index("Emit") + 1, layout.index("Time") + 1
                asked = rows.values[mine, when]
                took = rows.values[mine, at] + rows.micros[mine, at] / 1e6 - asked
                for step in np.unique(asked // STEP):
                    most = float(took[asked // STEP == step].max())
                    worst[kind][int(step)] = max(most, worst[kind].get(int(step), 0.0))
    begin = min((step for kind in worst.values() for step in kind), default=0)
    return {
        OUTPUTS[kind]: (
            [float((step - begin) * STEP) for step in sorted(steps)],
            [steps[step] for step in sorted(steps)],
        )
        for kind, steps in worst.items()
        if steps
    }


def make_table(runs: dict[str, Measured]) -> list[list[str]]:
    rows = []
    for label, run in runs.items():
        for kind, told in OUTPUT_NAMES.items():
            found = run.verdict.outputs[told]
            times = [f"{found.response[name] or 0.0:.1f} s" for name in ("p50", "p99", "max")]
            rows.append(
                [
                    label,
                    told,
                    f"{EDITION_2004.deadlines[kind]:g} s",
                    f"{found.expected:,}",
                    f"{found.late / max(found.expected, 1):.1%}",
                    *times,
                    f"{run.shed.get(OUTPUTS[kind], 0):,}",
                    f"{found.missing:,}",
                    f"{found.wrong + found.extra + found.duplicate + found.early:,}",
                ]
            )
    return rows


def write_table(path: Path, rows: list[list[str]]) -> None:
    """As Markdown, for the documentation."""
    lines = [HEADER, ["---"] * len(HEADER), *rows]
    path.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


def draw(path: str, expressways: int, runs: dict[str, Measured]) -> None:
    panels: dict[str, Series] = {}
    for name in PLOTTED:
        lines = {label: run.course[name] for label, run in runs.items() if name in run.course}
        limit = EDITION_2004.deadlines[OUTPUTS.index(name)]
        last = max((moments[-1] for moments, _ in lines.values()), default=0.0)
        panels[f"{name}: slowest, s"] = {**lines, "deadline": ([0.0, last], [limit, limit])}
    plot_over_time(path, f"Linear Road, {expressways} expressways on 2 cores", panels)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear_road_overload", description=__doc__)
    parser.add_argument("expressways", nargs="?", type=int, default=90)
    parser.add_argument("--data", type=Path, help="folder with one expressway's traffic and its histories")
    parser.add_argument("--queries", type=float, default=Settings.queries, help="queries for each report")
    parser.add_argument("--plot", default="linear-road-overload.svg", help="where the plot goes")
    parser.add_argument("--table", type=Path, help="where the table goes, as Markdown")
    chosen = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        data = chosen.data or peak_data(folder / "data", MINUTES, 1, print, chosen.queries)
        runs = {}
        for label, graphs in (("with graphs", True), ("without", False)):
            print(f"{label}, {chosen.expressways} expressways", flush=True)
            runs[label] = run_once(data, folder / label, chosen.expressways, graphs)
    rows = make_table(runs)
    show(f"Linear Road at L = {chosen.expressways}", HEADER, rows)
    if chosen.table is not None:
        write_table(chosen.table, rows)
    draw(chosen.plot, chosen.expressways, runs)


if __name__ == "__main__":
    main()
