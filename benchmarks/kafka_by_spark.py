"""The rival of `benchmarks.kafka`: Spark's own reader does the same filter and count.

A script for an environment of its own: it knows nothing of this package. Prints the best seconds and the count as JSON.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def count(spark: SparkSession, hosts: str, topic: str, batch: str, schema: str) -> tuple[float, int]:
    name = f"counts_{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        lines = (
            spark.readStream.format("kafka").option("kafka.bootstrap.servers", hosts).option("subscribe", topic)
            .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", batch).load()
        )  # fmt: skip
        rows = lines.select(f.from_json(f.col("value").cast("string"), schema).alias("row")).select("row.*")
        counts = rows.filter("km > 3").groupBy("k").count()
        query = (
            counts.writeStream.format("memory").queryName(name).outputMode("complete")
            .option("checkpointLocation", folder).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        seconds = time.perf_counter() - started
    return seconds, int(spark.table(name).agg(f.sum("count")).first()[0])


def main(hosts: str, small: str, large: str, batch: str, tries: str, schema: str, jars: str) -> None:
    cores = str(os.cpu_count())
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
        .config("spark.sql.shuffle.partitions", cores)
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    count(spark, hosts, small, batch, schema)
    print(json.dumps(min(count(spark, hosts, large, batch, schema) for _ in range(int(tries)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
