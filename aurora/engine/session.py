"""The Spark session that everything runs in, set up once per process."""

import os
import sys
import tempfile

from pyspark.sql import SparkSession

__all__ = ["spark_session"]

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
    "spark.sql.streaming.minBatchesToRetain": "2",
}


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
    return builder.getOrCreate()
