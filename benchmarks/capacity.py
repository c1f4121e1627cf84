"""Whether `aurora capacity` tells the truth: the rate that it predicts, and the rate at which a network falls behind.

The prediction is made from a sample. Then the network runs on a live source at several rates, each half way between one
that it keeps up with and one at which it falls behind. `python -m benchmarks.capacity 500000` takes samples of so many
rows.
"""

import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aurora import Network, Paced, Settings, run
from aurora.adapt.capacity import plan_capacity
from aurora.engine.spark.session import spark_session
from aurora.engine.statistics import BatchReport
from aurora.history.sampling import measure_sample
from benchmarks.clock import show
from benchmarks.data import readings

__all__ = ["main"]

SCHEMA = "k int, t int, v int"
GROUPS = 10_000
# Long enough for trains as long as those of a network that falls behind.
SAMPLE = 5_000_000
CORES = 2
# How long each run lasts behind its first batch, in seconds, and what of it is left out.
LASTS, WARM = 30.0, 0.4
# A queue that grows by this share of the rate falls behind.
GROWS = 0.03
# The limit is looked for between the predicted rate divided and multiplied by this, in so many steps: to 3%.
RANGE, STEPS = 1.6, 5


def stateless() -> Network:
    network = Network("stateless")
    kept = network.input("r", SCHEMA).filter("v < 50", name="low")
    network.output("out", kept.map({"k": "k", "t": "t", "w": "v * v + 1"}, name="square"))
    return network


def aggregated() -> Network:
    network = Network("aggregated")
    order = {"on": "t", "slack": 2, "group_by": ["k"]}
    functions = {"n": "count(*)", "m": "avg(v)"}
    network.output(
        "out", network.input("r", SCHEMA).aggregate(functions, order=order, size=60, name="minute")
    )
    return network


def joined() -> Network:
    network = Network("joined")
    order = {"on": "t", "slack": 2, "group_by": ["k"]}
    rows = network.input("r", SCHEMA)
    low = rows.filter("v < 50", name="low")
    pairs = low.join(
        rows,
        "left.k = right.k and left.v = right.v",
        size=5,
        left_order=order,
        right_order=order,
        name="pair",
    )
    network.output("out", pairs)
    return network


@dataclass(frozen=True)
class Live:
    """A run on a live source: rows taken in a second, and by how many the queue grew in a second."""

    taken: float
    growth: float
    waiting: int


def run_live(network: Network, path: Path, rate: float, seconds: float, folder: Path) -> Live:
    """Runs behind a source by the clock, and looks at the later part of it."""
    seen: list[tuple[float, int, int]] = []
    stop = threading.Event()

    def watch(report: BatchReport) -> None:
        if report.end:
            return
        place = report.places["r"]
        seen.append((time.monotonic(), int(place["row"]), report.work.inputs["r"].waiting or 0))
        if seen[-1][0] - seen[0][0] >= seconds:
            stop.set()

    # A checkpoint of its own for each run: tasks of the one before may still write into theirs.
    sinks = {"out": f"csv:{folder / f'out-{time.monotonic_ns()}.csv'}"}
    run(network, {"r": Paced(f"csv:{path}", rate)}, sinks, Settings(fresh=True), watch, stop)
    moments, rows, waiting = (np.array(column, np.float64) for column in zip(*seen, strict=True))
    late = moments >= moments[0] + WARM * (moments[-1] - moments[0])
    if late.sum() < 2:
        late[-2:] = True
    spent = moments[late][-1] - moments[late][0]
    taken = (rows[late][-1] - rows[late][0]) / spent
    return Live(float(taken), float((waiting[late][-1] - waiting[late][0]) / spent), int(waiting[-1]))


def predict(network: Network, folder: Path, rows: int) -> float:
    """Rows a second that fit, from a sample."""
    sample = readings(folder / "sample.csv", rows, GROUPS)
    figures = measure_sample(network, {"r": f"csv:{sample}"})
    return plan_capacity(network, figures, {"r": 1.0}, CORES, 1.0).largest["r"]


def find_limit(build: Callable[[], Network], predicted: float, path: Path, seconds: float) -> float:
    """The rate at which the network begins to fall behind, between half and twice the predicted one."""
    low, high = predicted / RANGE, predicted * RANGE
    for _ in range(STEPS):
        rate = math.sqrt(low * high)
        live = run_live(build(), path, rate, seconds, path.parent)
        if live.growth > GROWS * rate:
            high = rate
        else:
            low = rate
    return math.sqrt(low * high)


def compare(
    name: str, build: Callable[[], Network], predicted: float, path: Path, seconds: float
) -> list[str]:
    limit = find_limit(build, predicted, path, seconds)
    return [name, f"{predicted:,.0f}", f"{limit:,.0f}", f"{predicted / limit:.2f}"]


def main(scale: float = 1.0, sample: int | None = None) -> None:
    spark_session("benchmarks", f"local[{CORES}]")
    networks = {"stateless": stateless, "aggregated": aggregated, "joined": joined}
    seconds, sample = max(LASTS * scale, 8.0), sample or max(int(SAMPLE * scale), 50_000)
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as place:
        folder = Path(place)
        predicted = {name: predict(build(), folder, sample) for name, build in networks.items()}
        path = readings(folder / "live.csv", int(RANGE * max(predicted.values()) * (seconds + 10)), GROUPS)
        rows = [compare(name, build, predicted[name], path, seconds) for name, build in networks.items()]
    show(
        f"Capacity: rows/s predicted from {sample:,} rows, and those at which the network falls behind",
        ["network", "predicted", "falls behind from", "ratio"],
        rows,
    )


if __name__ == "__main__":
    main(sample=int(sys.argv[1]) if len(sys.argv) > 1 else None)
