"""The Spark session that everything runs in, set up once per process."""

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from aurora.engine.spark.java import class_archive, spark_home

__all__ = ["LIGHT_JAVA", "keep_log", "log_path", "spark_session"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # A stream goes on when a row divides by zero: the result is null, as in the Arrow evaluator.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "aurora.engine.spark.daemon",
    # With it the workers that read and those of the stages come from two processes, each loading everything.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
}


JAVA = "spark.driver.extraJavaOptions"
# For networks alone: the work is done in Python, so a Java that compiles little starts sooner and leaves it the cores.
LIGHT_JAVA = {JAVA: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def spark_session(
    name: str = "aurora", master: str | None = None, settings: dict[str, str] | None = None
) -> SparkSession:
    """The active session, or a new one on `master` (default: every core of this machine)."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark writes its host name lookups and its temporary files where it may.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name).master(master or "local[*]")
    cores = os.cpu_count() or 1
    defaults = {
        **SETTINGS,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.driver.memory": "4g",
        "spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "aurora-warehouse"),
    }
    for key, value in {**defaults, **(settings or {})}.items():
        builder = builder.config(key, value)
    if SparkSession.getActiveSession() is not None:
        return builder.getOrCreate()
    archive = class_archive()
    if archive is not None:
        given = (settings or {}).get(JAVA, "")
        builder = builder.config(JAVA, f"{given} -XX:SharedArchiveFile={archive}".strip())
    with _quiet_launch(), spark_home():
        return builder.getOrCreate()


def log_path() -> str:
    """Where Spark and its Python workers write what they have to say."""
    return os.path.join(tempfile.gettempdir(), f"aurora-spark-{os.getpid()}.log")


def keep_log() -> str:
    """Leaves the log behind when this process ends, for whoever looks for the cause of a fault; gives its path."""
    atexit.unregister(_remove_log)
    return log_path()


def _remove_log() -> None:
    with suppress(OSError):
        os.remove(log_path())


@contextmanager
def _quiet_launch() -> Iterator[None]:
    """Spark's own process inherits the output channels of this one: for its start they point to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [(channel, os.dup(channel)) for channel in (1, 2)]
    atexit.register(_remove_log)
    log = os.open(log_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for channel, _ in saved:
            os.dup2(log, channel)
        yield
    finally:
        os.close(log)
        for channel, copy in saved:
            os.dup2(copy, channel)
            os.close(copy)
