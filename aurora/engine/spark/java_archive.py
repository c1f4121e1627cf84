"""Runs one small query of each kind, so that Java loads what they all need, and waits until it has ended."""

import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from aurora.engine.settings import Settings
from aurora.engine.spark.session import LIGHT_JAVA, spark_session
from aurora.engine.spark_run import start_run
from aurora.network.network import Network

__all__ = ["main", "run_queries"]

FIELDS = "place int, value bigint"
# How long Java may take to write its classes, in seconds.
PATIENCE = 300


def main() -> None:
    """Java writes its classes to the path on the command line."""
    option = "spark.driver.extraJavaOptions"
    spark = spark_session(
        "prepare", settings={option: f"{LIGHT_JAVA[option]} -XX:ArchiveClassesAtExit={sys.argv[1]}"}
    )
    with tempfile.TemporaryDirectory(prefix="aurora-prepare-") as folder:
        run_queries(spark, Path(folder))
    java = SparkContext._gateway.proc
    spark.stop()
    # Java ends when nobody can write to it any more.
    java.stdin.close()
    java.wait(PATIENCE)


def run_queries(spark: SparkSession, folder: Path) -> None:
    """One of each kind."""
    _frames(spark, folder)
    _network(folder)


def _frames(spark: SparkSession, folder: Path) -> None:
    (folder / "rows.csv").write_text("".join(f"{number % 7},{number}\n" for number in range(1000)))
    rows = spark.read.schema(FIELDS).csv(str(folder / "rows.csv"))
    sums = rows.groupBy("place").agg(f.sum("value"), f.count("*").alias("rows"))
    sums.write.parquet(str(folder / "sums"))
    stored = spark.read.parquet(str(folder / "sums"))
    rows.join(stored, "place").orderBy("value").toArrow()


def _network(folder: Path) -> None:
    network = Network("prepare")
    rows = network.input("rows", FIELDS)
    sums = rows.aggregate(
        {"total": "sum(value)"},
        order={"on": "value", "group_by": ["place"]},
        size=10,
        advance=10,
        name="sums",
    )
    network.output("sums", sums)
    sink = {"sums": f"csv:{folder / 'sums.csv'}"}
    with start_run(network, {"rows": f"csv:{folder / 'rows.csv'}"}, sink, Settings(batch=300)) as run:
        run.wait()


if __name__ == "__main__":
    main()
