"""Linear Road past its rating: what comes in time, with graphs on its outputs and without.

`python -m benchmarks.linear_road_overload 90 plot.png` runs the last minutes of the benchmark on 90 expressways in real
time, once with `--graphs` and once without, each with a home, and has the validator count what was late or missing.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.queries import OUTPUTS
from aurora.linear_road.peak import peak_data
from aurora.linear_road.reading import cut_blocks
from aurora.linear_road.records import DIALECTS, OUTPUT_NAMES, parse_output
from aurora.linear_road.run import run_benchmark
from aurora.linear_road.validate import Verdict, validate
from benchmarks.clock import show
from benchmarks.surge import plot_over_time

__all__ = ["main"]

MINUTES = 4
# The plot has a point for so many seconds.
STEP = 5
Series = dict[str, tuple[list[float], list[float]]]


def run_once(data: Path, folder: Path, expressways: int, graphs: bool) -> tuple[Verdict, Series]:
    report = run_benchmark(
        data,
        folder,
        pace="realtime",
        replicate=expressways,
        home=folder / "home",
        graphs=graphs,
        fresh=True,
        tell=lambda text: print(f"  {text}", flush=True),
    )
    files = [folder / "output.csv", *([folder / "requests.csv"] if graphs else [])]
    print(f"  {report.tuples:,} tuples, {report.tuples_per_s:,.0f}/s, most behind {report.largest_lag:.1f} s")
    verdict = validate(None, data, files[0], also=files[1:], replicate=expressways)
    return verdict, find_course(files)


def find_course(files: list[Path]) -> Series:
    """The largest response time of each type, second by second of the simulation."""
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
    begin = min(step for kind in worst.values() for step in kind)
    return {
        OUTPUTS[kind]: (
            [float((step - begin) * STEP) for step in sorted(steps)],
            [steps[s] for s in sorted(steps)],
        )
        for kind, steps in worst.items()
        if steps
    }


def main(expressways: int = 90, plot: str = "linear-road-overload.png", data: str | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        traffic = Path(data) if data else peak_data(folder / "data", MINUTES, 1, print)
        rows, panels = [], {}
        for label, graphs in (("with graphs", True), ("without", False)):
            print(f"{label}, {expressways} expressways", flush=True)
            verdict, course = run_once(traffic, folder / label, expressways, graphs)
            panels[f"{label}: response time, s"] = course
            for kind, told in OUTPUT_NAMES.items():
                found = verdict.outputs[told]
                most = found.response["max"] or 0.0
                p99 = found.response["p99"] or 0.0
                limit = EDITION_2004.deadlines[kind]
                rows.append(
                    [
                        label,
                        told,
                        f"{limit:g} s",
                        f"{found.expected:,}",
                        f"{found.late:,}",
                        f"{found.missing:,}",
                        f"{found.wrong + found.extra + found.duplicate + found.early:,}",
                        f"{p99:.1f} s",
                        f"{most:.1f} s",
                    ]
                )
    show(
        f"Linear Road at L = {expressways}",
        ["run", "answers", "deadline", "expected", "late", "missing", "wrong", "p99", "slowest"],
        rows,
    )
    plot_over_time(plot, f"Linear Road, {expressways} expressways on 2 cores", panels)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 90, *given[1:])
