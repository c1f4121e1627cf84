"""How Spark writes the files of a checkpoint to a local disk: about fourteen processes, `chmod`, a batch less, and each
file on the disk before the next step of the batch."""

import os
from pathlib import Path

from pyspark.sql import SparkSession

from aurora.engine.spark.master import is_one_java

__all__ = ["JAR", "keep_folder", "local_files"]

# Made of LocalFiles.java by scripts/make-local-files.
JAR = Path(__file__).with_name("local_files.jar")
FILE_SYSTEM, OURS = "fs.file.impl", "aurora.LocalFiles"


def local_files(master: str | None) -> dict[str, str]:
    """The settings for a Java that starts on `master`: none where executors have a Java of their own, or where a
    folder of the user's with settings of Spark may name classes as well."""
    if (
        os.name != "posix"
        or not is_one_java(master)
        or "SPARK_HOME" in os.environ
        or "SPARK_CONF_DIR" in os.environ
    ):
        return {}
    return {"spark.driver.extraClassPath": str(JAR), f"spark.hadoop.{FILE_SYSTEM}": OURS}


def keep_folder(spark: SparkSession, folder: Path) -> None:
    """What Spark makes in a folder from now on survives a power cut, where it has the file system of this package.

    For as long as this Java lives: what looks after the state writes behind the end of a run, too.
    """
    jvm = spark.sparkContext._jvm
    if jvm is not None and spark.sparkContext._jsc.hadoopConfiguration().get(FILE_SYSTEM) == OURS:
        jvm.aurora.LocalFiles.keep(os.path.abspath(folder))
