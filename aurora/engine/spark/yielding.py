"""Python workers that yield: of an ad hoc query, which takes the cores while the running network leaves them idle.

Spark's pools say whose task begins first, but a task that has begun is not interrupted, and those of a query keep all
cores busy while it catches up. So the operating system decides, which knows at every moment who has something to do.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

__all__ = ["DAEMON", "NICE", "YIELDING", "worker_priority"]

# The process that forks the workers, in a Spark that was started here.
DAEMON = "aurora.engine.spark.daemon"
# The variable of Spark's Python workers that says how much they yield.
NICE = "AURORA_NICE"
# Beside those of the network, workers of a query get a tenth of a core; whatever is idle is theirs.
YIELDING = 10

_wrapping = threading.Lock()


@contextmanager
def worker_priority(spark: SparkSession, yields: bool) -> Iterator[None]:
    """The functions that are given to Spark meanwhile are run by workers that yield, or by those of the networks.

    Workers with another environment are other workers: Spark starts a process for each that forks them.
    """
    environment = spark.sparkContext.environment
    # Where the user has started Spark, all workers are alike.
    own = spark.sparkContext.getConf().get("spark.python.daemon.module") == DAEMON
    with _wrapping:
        if yields and own:
            environment[NICE] = str(YIELDING)
        try:
            yield
        finally:
            environment.pop(NICE, None)
