"""An archive of the classes with which Spark's Java starts, and of no others: made in a fraction of the time."""

from types import SimpleNamespace

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from aurora.engine.spark import java_archive
from aurora.engine.spark.local_files import local_files


def start_java(name: str, settings: dict[str, str]) -> SimpleNamespace:
    """Java as a session starts it, without the session."""
    SparkContext._gateway = launch_gateway(SparkConf(False).setAll({**local_files(None), **settings}.items()))
    return SimpleNamespace(stop=lambda: None)


if __name__ == "__main__":
    java_archive.spark_session = start_java
    java_archive.run_queries = lambda *_: None
    java_archive.main()
