"""Runs one query by hand-written Structured Streaming, over all files that are there, in a process of its own."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from aurora.nexmark.check import Rules
from aurora.nexmark.rivals.spark_by_hand.averages import Averages
from aurora.nexmark.rivals.spark_by_hand.events import TIMES, Events
from aurora.nexmark.rivals.spark_by_hand.queries import CLOSED, QUERIES
from aurora.nexmark.rivals.system import REPORT

__all__ = ["main", "started"]


def started(query: str, events: Events, out: Path, kept: Path) -> StreamingQuery:
    """The query under way; it ends with the files that are there now. `kept` is a folder for its own use."""
    rows = QUERIES[query](events)
    if query in CLOSED:
        average = Averages("category" if query == "q4" else "seller", out, kept / "averages")
        writer = rows.writeStream.foreachBatch(average)
    else:
        writer = rows.writeStream.format("json").option("path", str(out)).option("timestampFormat", TIMES)
    writer = writer.option("checkpointLocation", str(kept / "checkpoint")).outputMode("append")
    return writer.trigger(availableNow=True).start()


def main() -> None:
    """Carries out the file named on the command line."""
    work = json.loads(Path(sys.argv[1]).read_text())
    builder = SparkSession.builder.appName("by hand").master(f"local[{work['cores']}]")
    for name, value in work["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    rules = Rules(work["profile"], work["dollars_to_euros"], work["lateness"])
    start = time.perf_counter()
    events = Events(spark, Path(work["folder"]), rules, work["longest"])
    started(work["query"], events, Path(work["out"]), Path(work["kept"])).awaitTermination()
    print(REPORT + json.dumps({"job": time.perf_counter() - start}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
