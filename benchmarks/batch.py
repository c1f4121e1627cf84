"""The fixed cost of a batch: seconds for one row, through no, one, two and three stages with state.

`python -m benchmarks batch`; `AURORA_BATCH_SET=key=value[;key=value]` gives Spark other settings, to compare.
"""

import os
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

from aurora import Network, Settings, run
from aurora.engine.spark.session import LIGHT_JAVA, SESSION, spark_session
from aurora.engine.statistics import BatchReport
from benchmarks.clock import show
from benchmarks.data import readings

__all__ = ["main"]

SCHEMA = "k int, t int, v int"
# The first batches load and compile what they need.
WARM = 15


def network_of_stages(stages: int) -> Network:
    """A filter, then one aggregate for each stage, each with another key, so that none shares a stage."""
    network = Network(f"stages {stages}")
    stream = network.input("r", SCHEMA).filter("v >= 0", name="filter")
    for number in range(stages):
        keys = ["k"] if number % 2 == 0 else ["v"]
        stream = stream.aggregate(
            {"k" if keys == ["v"] else "v": "max(k)" if keys == ["v"] else "max(v)", "t": "max(t)"},
            order={"on": "#", "group_by": keys},
            size=1,
            name=f"keep{number}",
        )
    network.output("out", stream)
    return network


def batch_seconds(stages: int, batches: int, folder: Path) -> list[float]:
    """Return the seconds of each batch of one row, those of the warm-up left out."""
    path = readings(folder / f"one-{batches}.csv", batches + WARM, 10)
    moments: list[float] = []

    def watch(report: BatchReport) -> None:
        moments.append(report.seconds)

    settings = Settings(batch=1, partitions=2)
    run(
        network_of_stages(stages),
        {"r": f"csv:{path}"},
        {"out": f"csv:{folder}/out{stages}.csv"},
        settings,
        watch,
    )
    return [later - before for before, later in pairwise(moments[WARM:])]


def main(scale: float = 1.0) -> None:
    extra = dict(pair.split("=", 1) for pair in os.environ.get("AURORA_BATCH_SET", "").split(";") if pair)
    # What each session has for itself is set again for every run.
    SESSION.update({key: value for key, value in extra.items() if ".sql." in key})
    spark_session("benchmarks", "local[2]", {**LIGHT_JAVA, **extra})
    batches = max(20, int(100 * scale))
    rows = []
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        for stages in (0, 1, 2, 3):
            seconds = sorted(batch_seconds(stages, batches, Path(name)))
            rows.append([str(stages), f"{median(seconds):.3f}", f"{seconds[int(len(seconds) * 0.99)]:.3f}"])
    show("Seconds for a batch of one row", ["stages with state", "median", "p99"], rows)
