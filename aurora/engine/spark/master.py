"""Spark's masters: whether a name is one, and whether anybody answers there, before Spark waits for ever."""

import re
import socket
import time
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark import SparkContext

from aurora.engine.waits import waits
from aurora.errors import AuroraError

__all__ = ["check_master", "check_reachable", "count_cores", "has_workers", "is_one_java", "same_master"]

LOCAL = r"local|local\[(?:\*|[1-9]\d*)(?:, *\d+)?\]|local-cluster\[\d+, *\d+, *\d+\]"
KNOWN = re.compile(rf"{LOCAL}|yarn|k8s://.+|spark://[^\s:,]+:\d+(?:,[^\s:,]+:\d+)*")
# How long a master may take to answer, in seconds.
PATIENCE = 5.0
# How long executors may take to come, for how long no other has come when all are there, and how often somebody looks.
COMING, ALL_THERE, LOOK = 15.0, 2.0, 0.1


def check_master(master: str | None) -> None:
    if master is not None and not KNOWN.fullmatch(master):
        raise AuroraError(
            f"'{master}' is not a Spark master; write local[2] (2 cores here), local[*] (all of them), "
            "spark://HOST:PORT, yarn or k8s://ADDRESS"
        )


def check_reachable(master: str | None) -> None:
    """Raises a fault unless one of the hosts of a standalone cluster answers."""
    if master is None or not master.startswith("spark://"):
        return
    faults = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with waits.waiting(f"no Spark master answers at {place}"):
                socket.create_connection((host, int(port)), timeout=PATIENCE).close()
            return
        except (OSError, OverflowError) as fault:
            faults.append(f"{place}: {getattr(fault, 'strerror', None) or fault}")
    raise AuroraError(f"no Spark master answers at {', '.join(faults)}; start it, or check the address")


def is_one_java(master: str | None) -> bool:
    """Whether all of Spark runs in one Java: no executors have one of their own."""
    return master is None or master == "local" or master.startswith("local[")


def count_cores(
    context: SparkContext,
    is_over: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
    rest: Callable[[float], None] = time.sleep,
) -> int:
    """Return how many tasks a cluster runs at once: its default parallelism, once its executors have come.

    That is the number of their cores unless the settings of Spark say otherwise. Executors come one after the other. If
    none comes for long, as where they are started when there is work, it is what Spark takes for that. `is_over` ends
    the waiting.
    """
    if context.getConf().contains("spark.default.parallelism"):
        return max(int(context.defaultParallelism), 1)
    began = since = clock()
    known = 0
    with waits.waiting("the cluster has not started all executors yet"):
        while not is_over() and clock() - began < COMING:
            found = count_executors(context)
            if found != known:
                known, since = found, clock()
            elif known and clock() - since >= ALL_THERE:
                break
            rest(LOOK)
    return max(int(context.defaultParallelism), 1)


def count_executors(context: SparkContext) -> int:
    """Return how many executors are there; 0 if Spark does not say."""
    try:
        # This process is one of them.
        return max(len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1, 0)
    except (Py4JError, OSError):
        return 0


def has_workers(context: SparkContext) -> bool:
    """Whether there is anything that could run a task; Spark says only in its log that it waits for that."""
    if is_one_java(str(context.master)):
        return True
    try:
        # This process is one of them.
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1
    except (Py4JError, OSError):
        return True


def same_master(asked: str, running: str) -> bool:
    return _plain(asked) == _plain(running)


def _plain(master: str) -> str:
    return "local[1]" if master == "local" else master.replace(" ", "")
