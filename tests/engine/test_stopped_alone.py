"""A run that is stopped leaves the Python workers of all others alone."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from aurora import Memory, Settings, from_text, start
from aurora.engine.spark import warm
from tests.engine.brake import Brake

PATIENCE = 60.0
DOUBLED = """
network: doubled
inputs: {rows: {schema: "N int"}}
boxes: {twice: {map: {N: "2 * N"}, from: rows}}
outputs: {out: {from: twice}}
"""


def wait_until(reached: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        if reached():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not come about in time")


def children(parent: int) -> list[int]:
    """The processes that it has started, dead ones left out."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            state, above = (place / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(above) == parent and state != "Z":
                found.append(int(place.name))
        except OSError:
            continue
    return found


def daemons() -> list[int]:
    """Those that fork the workers of networks; those of queries yield, and workers are led by who has forked them."""
    assert warm._started is not None
    return [
        number
        for number in children(warm._started[0].pid)
        if Path(f"/proc/{number}/comm").read_text() == "worker\n"
        and os.getpgid(number) == number
        and os.getpriority(os.PRIO_PROCESS, number) == os.getpriority(os.PRIO_PROCESS, 0)
    ]


@contextmanager
def standing_still(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_run_that_is_stopped_while_it_waits_for_a_worker_takes_nobodys_away(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark takes an interrupt there for the death of the process that forks all workers, and starts it anew."""
    sources = {"rows": Memory.of("N int", [{"N": n} for n in range(40)])}
    sinks = {"out": f"csv:{tmp_path}/out.csv"}
    settings = Settings(batch=10, home=str(tmp_path / "home"))
    brake = Brake()
    with start(from_text(DOUBLED), sources, sinks, settings, brake) as running:
        brake.pull(running)
        (daemon,) = daemons()
        workers = children(daemon)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        # Java takes one for alive until the daemon has seen that it is dead.
        wait_until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers))
        with standing_still(daemon):
            running.step(1)
            tracker = spark.sparkContext.statusTracker()
            wait_until(
                lambda: any(tracker.getStageInfo(s).numActiveTasks for s in tracker.getActiveStageIds())
            )
            # They are with the daemon as soon as they have begun.
            threading.Event().wait(0.5)
            running.stop()
    with start(from_text(DOUBLED), sources, sinks, settings) as running:
        assert running.wait().ended
    assert (tmp_path / "out.csv").read_text().split() == ["N", *(str(2 * n) for n in range(40))]
    assert daemons() == [daemon]
