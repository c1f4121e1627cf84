"""How Spark writes the files of a checkpoint to a local disk: about fourteen processes, `chmod`, a batch less."""

import os
from pathlib import Path

__all__ = ["JAR", "local_files"]

# Made of LocalFiles.java by scripts/make-local-files.
JAR = Path(__file__).with_name("local_files.jar")


def local_files(master: str | None) -> dict[str, str]:
    """The settings for a Java that starts on `master`: none where executors have a Java of their own, or where a
    folder of the user's with settings of Spark may name classes as well."""
    of_one_java = master is None or master == "local" or master.startswith("local[")
    if os.name != "posix" or not of_one_java or "SPARK_HOME" in os.environ or "SPARK_CONF_DIR" in os.environ:
        return {}
    return {"spark.driver.extraClassPath": str(JAR), "spark.hadoop.fs.file.impl": "aurora.LocalFiles"}
