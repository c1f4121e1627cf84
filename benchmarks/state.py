"""State that costs what is touched: seconds a batch beside many groups, over many groups, and after many batches.

`python -m benchmarks state 0.1` makes every number of groups and of batches smaller, for a quick look.
"""

import os
import tempfile
import threading
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv

from aurora import BatchReport, Network, Settings, run
from aurora.engine.spark.session import spark_session
from benchmarks.clock import show

__all__ = ["main"]

SCHEMA = "k int, t int, v int"
ORDER = {"on": "t", "slack": 2, "group_by": ["k"]}
BATCH = 100_000
KINDS = ("aggregate", "bsort", "join")


def network_with(kind: str) -> Network:
    network = Network(kind)
    stream = network.input("r", SCHEMA)
    if kind == "aggregate":
        functions = {"n": "count(*)", "mean": "avg(v)", "top": "max(v)"}
        out = stream.aggregate(functions, order=ORDER, size=60, name="box")
    elif kind == "bsort":
        out = stream.bsort(ORDER, name="box")
    else:
        odd = stream.filter("v % 2 = 1", name="odd")
        orders = {"left_order": ORDER, "right_order": ORDER}
        out = odd.join(odd["rest"], "left.k = right.k", size=5, **orders, name="box")
    network.output("out", out)
    return network


def write_rows(path: Path, keys: list[np.ndarray]) -> Path:
    """k,t,v: the keys as given, t rising with a little disorder, v from 0 to 99."""
    chance = np.random.default_rng(1)
    options = pyarrow.csv.WriteOptions(include_header=False)
    first = 0
    with path.open("wb") as file:
        for part in keys:
            number = np.arange(first, first + len(part))
            first += len(part)
            columns = {
                "k": part,
                "t": number // 1000 - chance.integers(0, 3, len(part)),
                "v": chance.integers(0, 100, len(part)),
            }
            pyarrow.csv.write_csv(pa.record_batch(columns), file, options)
    return path


@dataclass
class Measured:
    """Seconds of each batch, and the most memory that the Python workers together had."""

    seconds: list[float]
    memory: float

    def around(self, batch: int) -> float:
        """The middle of the eleven batches around one; single ones merge runs and take longer."""
        return median(self.seconds[max(batch - 5, 1) : batch + 6])


def measure(kind: str, path: Path, folder: Path) -> Measured:
    at: list[float] = [0.0]

    def watch(report: BatchReport) -> None:
        at.append(report.seconds)

    peak = Peak()
    with peak:
        run(
            network_with(kind),
            {"r": f"csv:{path}"},
            {"out": f"csv:{folder}/out-{kind}.csv"},
            Settings(batch=BATCH),
            watch,
        )
    return Measured([b - a for a, b in pairwise(at)], peak.largest)


class Peak:
    """Looks at the memory of this process's Python workers ten times a second (what each shares counts in part)."""

    def __enter__(self) -> "Peak":
        self.largest = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.largest = max(self.largest, sum(map(_proportional, _workers())))


def _workers() -> list[int]:
    """Processes that Spark's Python daemon has forked, wherever they come from: also the warm one that was forked."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                command = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            # Java has the name of the daemon among its settings.
            program = os.path.basename(command.partition(b"\0")[0])
            if program.startswith(b"python") and (b"daemon" in command or b"spark.warm" in command):
                found.append(int(name))
    return found


def _proportional(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1e6 for line in text.splitlines() if line.startswith("Pss:"))


def main(scale: float = 1.0) -> None:
    many, few, touched = int(10_000_000 * scale), 10_000, 1000
    batches = max(30, int(100 * scale))
    chance = np.random.default_rng(2)
    spark_session("benchmarks", "local[2]")
    rows = []
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as name:
        folder = Path(name)
        others = np.split(chance.permutation(many) + touched, range(BATCH, many, BATCH))
        mine = [chance.integers(0, touched, BATCH) for _ in range(20)]
        alone = write_rows(folder / "alone.csv", mine)
        beside = write_rows(folder / "beside.csv", [*others, *mine])
        narrow = write_rows(folder / "few.csv", [chance.integers(0, few, BATCH) for _ in range(batches)])
        wide = write_rows(folder / "many.csv", [chance.integers(0, many, BATCH) for _ in range(batches)])
        for kind in KINDS:
            small, large = measure(kind, alone, folder), measure(kind, beside, folder)
            own, next_to = median(small.seconds[5:20]), median(large.seconds[-16:-1])
            less, more = measure(kind, narrow, folder), measure(kind, wide, folder)
            early, late = more.around(20), more.around(batches - 6)
            rows.append(
                [
                    kind,
                    f"{own:.2f}",
                    f"{next_to:.2f}",
                    f"{next_to / own:.2f}",
                    f"{less.around(20):.2f}",
                    f"{early:.2f}",
                    f"{median(more.seconds[5:]) / median(less.seconds[5:]):.2f}",
                    f"{late:.2f}",
                    f"{max(more.seconds[5:]):.1f}",
                    f"{max(large.memory, more.memory):.1f}",
                ]
            )
    show(
        f"Seconds a batch of {BATCH:,} rows: over 1,000 groups, alone and beside {many:,}; over {few:,} and {many:,}",
        [
            "box",
            "alone",
            "beside",
            "ratio",
            "few",
            "many, 20th",
            "ratio",
            f"many, {batches}th",
            "longest",
            "GB",
        ],
        rows,
    )
