"""What statistics cost: the time of all that serves them alone, beside the time of the batches that they are about.

In the driver the calls themselves are timed, in a run with a home. Tasks are other processes: what they do for
statistics is timed here, with as many rows and boxes.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from aurora import Settings, run
from aurora.engine import commit
from aurora.engine.stage import BoxCounts
from aurora.engine.statistics import BatchReport, Recent, sample_arrivals
from aurora.engine.wagons import _counts
from aurora.history.catalog import Catalog
from benchmarks.clock import best_of, show
from benchmarks.history import counted, write_rows

__all__ = ["main"]

CALLS: tuple[tuple[Any, str], ...] = (
    (commit, "sum_work"),
    (commit, "_delays"),
    (Recent, "add"),
    (Catalog, "take"),
)


@contextmanager
def timed(spent: Counter[str]) -> Iterator[None]:
    """Adds up the seconds of each of the calls."""

    def measure(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*given: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*given)
            finally:
                spent[name] += time.perf_counter() - started

        return measured

    with ExitStack() as patches:
        for owner, name in CALLS:
            patches.enter_context(patch.object(owner, name, measure(name, getattr(owner, name))))
        yield


def seconds_of_a_task(rows: int, boxes: int) -> float:
    """Two looks at the clock for each box, its counts as text, and samples of when the rows arrived."""
    arrived = np.random.default_rng(1).integers(0, 1000, rows)

    def note() -> None:
        counts = {}
        for box in range(boxes):
            started = time.perf_counter_ns()
            counts[f"box {box}"] = BoxCounts(
                rows, Counter({"1": rows}), time.perf_counter_ns() - started, 1000, Counter()
            )
        json.dumps({name: _counts(count) for name, count in counts.items()})
        sample_arrivals(arrived)

    return best_of(20, note)


def main(scale: float = 1.0) -> None:
    count = int(10_000_000 * scale)
    spent: Counter[str] = Counter()
    reports: list[BatchReport] = []
    with tempfile.TemporaryDirectory(prefix="aurora-bench-") as folder, timed(spent):
        source = {"r": f"csv:{write_rows(Path(folder) / 'rows.csv', 0, count)}"}
        settings = Settings(home=f"{folder}/home", batch=200_000)
        result = run(counted(), source, {"out": f"csv:{folder}/out.csv"}, settings, reports.append)
    batches = len(reports)
    # A task reads a half of each batch, another one closes the windows of a half.
    tasks = 4 * batches * seconds_of_a_task(100_000, 2)
    rows = [
        [name, f"{1000 * seconds / batches:.2f}", f"{seconds / result.seconds:.2%}"]
        for name, seconds in spent.items()
    ]
    rows.append(["tasks", f"{1000 * tasks / batches:.2f}", f"{tasks / result.seconds:.2%}"])
    whole = sum(spent.values()) + tasks
    rows.append(["all", f"{1000 * whole / batches:.2f}", f"{whole / result.seconds:.2%}"])
    show(
        f"Statistics of {batches} batches, {count:,} rows in {result.seconds:.1f} s",
        ["", "ms a batch", "of the time"],
        rows,
    )


if __name__ == "__main__":
    main()
