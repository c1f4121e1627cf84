"""Runs one query by hand-written Structured Streaming, over all files that are there, in a process of its own."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from aurora.nexmark.check import Rules
from aurora.nexmark.rivals.spark_by_hand.averages import Averages
from aurora.nexmark.rivals.spark_by_hand.queries import CLOSED, QUERIES, TIMES, Events
from aurora.nexmark.rivals.system import REPORT

__all__ = ["main"]


def main() -> None:
    """Carries out the file named on the command line."""
    work = json.loads(Path(sys.argv[1]).read_text())
    builder = SparkSession.builder.appName("by hand").master(f"local[{work['cores']}]")
    for name, value in work["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    query, out, kept = work["query"], Path(work["out"]), Path(work["kept"])
    rules = Rules(work["profile"], work["dollars_to_euros"], work["lateness"])
    start = time.perf_counter()
    rows = QUERIES[query](Events(spark, Path(work["folder"]), rules))
    if query in CLOSED:
        average = Averages("category" if query == "q4" else "seller", out, kept / "averages")
        writer = rows.writeStream.foreachBatch(average)
    else:
        writer = rows.writeStream.format("json").option("path", str(out)).option("timestampFormat", TIMES)
    writer = writer.option("checkpointLocation", str(kept / "checkpoint")).outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()
    print(REPORT + json.dumps({"job": time.perf_counter() - start}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
