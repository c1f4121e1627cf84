"""The operators on Spark: rows a second, beside the same job written by hand with Spark's DataFrames."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from aurora import Network, run
from aurora.engine.spark.session import spark_session
from benchmarks.clock import best_of, show
from benchmarks.data import readings

__all__ = ["main"]

SCHEMA = "k int, t int, v int"
KEYED = {"on": "t", "slack": 2, "group_by": ["k"]}


def aurora(network: Network, sources: dict[str, str], folder: Path) -> Any:
    shutil.rmtree(folder / "out", ignore_errors=True)
    sinks = {name: f"csv:{folder}/out/{name}" for name in network.outputs}
    return run(network, sources, sinks)


def spark_stream(frame: DataFrame, folder: Path) -> None:
    shutil.rmtree(folder / "rival", ignore_errors=True)
    query = (
        frame.writeStream.format("csv")
        .option("path", str(folder / "rival" / "out"))
        .option("checkpointLocation", str(folder / "rival" / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def spark_batch(frame: DataFrame, folder: Path) -> None:
    frame.write.mode("overwrite").csv(str(folder / "rival-batch"))


def read_stream(path: Path) -> DataFrame:
    return spark_session().readStream.schema(SCHEMA).csv(str(path.parent), pathGlobFilter=path.name)


def read_batch(path: Path) -> DataFrame:
    return spark_session().read.schema(SCHEMA).csv(str(path))


def stateless(folder: Path, rows: int, times: int) -> list[list[str]]:
    path = readings(folder / f"stateless-{rows}.csv", rows, 10_000)
    network = Network("stateless")
    stream = network.input("r", SCHEMA)
    high = stream.filter("v >= 50", name="high")
    one = high.map({"k": "k", "t": "t + 1", "x": "v * 2.5"}, name="one")
    two = high["rest"].map({"k": "k", "t": "t", "x": "v / 4"}, name="two")
    network.output("both", one.union(two, name="both"))

    def by_hand(frame: DataFrame) -> DataFrame:
        above = frame.filter("v >= 50").selectExpr("k", "t + 1 AS t", "v * 2.5D AS x")
        below = frame.filter("NOT coalesce(v >= 50, false)").selectExpr("k", "t", "v / 4 AS x")
        return above.unionAll(below)

    mine = best_of(times, lambda: aurora(network, {"r": f"csv:{path}"}, folder))
    hand = best_of(times, lambda: spark_stream(by_hand(read_stream(path)), folder))
    batch = best_of(times, lambda: spark_batch(by_hand(read_batch(path)), folder))
    return [
        [
            "Filter + Map + Union",
            f"{rows:,}",
            f"{mine:.1f}",
            f"{rows / mine:,.0f}",
            f"{mine / hand:.2f}",
            "by hand, streaming",
        ],
        ["", "", "", "", f"{mine / batch:.2f}", "by hand, batch job"],
    ]


def aggregate(folder: Path, rows: int, times: int) -> list[list[str]]:
    path = readings(folder / f"aggregate-{rows}.csv", rows, 10_000)
    network = Network("aggregate")
    stream = network.input("r", SCHEMA)
    functions = {"n": "count(*)", "mean": "avg(v)", "top": "max(v)"}
    network.output("windows", stream.aggregate(functions, order=KEYED, size=60, name="windows"))

    def rival() -> None:
        frame = read_stream(path).withColumn("ts", f.timestamp_seconds("t")).withWatermark("ts", "10 seconds")
        windows = frame.groupBy("k", f.window("ts", "60 seconds")).agg(
            f.count("*").alias("n"), f.avg("v").alias("mean"), f.max("v").alias("top")
        )
        flat = windows.selectExpr("k", "unix_seconds(window.start) AS t", "n", "mean", "top")
        spark_stream(flat, folder)

    mine = best_of(times, lambda: aurora(network, {"r": f"csv:{path}"}, folder))
    theirs = best_of(times, rival)
    ratio = f"{mine / theirs:.2f}"
    return [
        [
            "Aggregate, slack 2",
            f"{rows:,}",
            f"{mine:.1f}",
            f"{rows / mine:,.0f}",
            ratio,
            "Spark's window(), streaming",
        ]
    ]


def others(folder: Path, rows: int, times: int) -> list[list[str]]:
    """BSort, Join and Resample: Spark has no such operators."""
    left = readings(folder / f"left-{rows // 2}.csv", rows // 2, 10_000, seed=2)
    right = readings(folder / f"right-{rows // 2}.csv", rows // 2, 10_000, seed=3)
    whole = readings(folder / f"aggregate-{rows}.csv", rows, 10_000)
    beats = folder / f"beats-{rows}.csv"
    beats.write_text("".join(f"{t}\n" for t in range(0, rows // 1000, 15)))
    table = []
    for name in ("BSort", "Join", "Resample"):
        network = Network(name)
        stream = network.input("r", SCHEMA)
        sources = {"r": f"csv:{whole}"}
        if name == "BSort":
            network.output("out", stream.bsort(KEYED, name="sorted"))
        elif name == "Join":
            other = network.input("s", SCHEMA)
            orders = {"left_order": KEYED, "right_order": KEYED}
            joined = stream.join(other, "left.k = right.k", size=5, **orders, name="pairs")
            network.output("out", joined)
            sources = {"r": f"csv:{left}", "s": f"csv:{right}"}
        else:
            ticks = network.input("b", "t int")
            values = ticks.resample(
                stream, {"mean": "avg(v)"}, size=10, left_order={"on": "t"}, right_order=KEYED, name="at"
            )
            network.output("out", values)
            sources["b"] = f"csv:{beats}"
        seconds = best_of(times, lambda network=network, sources=sources: aurora(network, sources, folder))
        table.append([name, f"{rows:,}", f"{seconds:.1f}", f"{rows / seconds:,.0f}", "", ""])
    return table


def main(scale: float = 1.0, times: int = 2, folder: Path | None = None) -> None:
    """`scale` shrinks the inputs for a quick look."""
    place = folder or Path(tempfile.mkdtemp(prefix="aurora-bench-"))
    place.mkdir(parents=True, exist_ok=True)
    spark_session("benchmarks", "local[2]")
    rows = stateless(place, int(10_000_000 * scale), times)
    rows += aggregate(place, int(5_000_000 * scale), times)
    rows += others(place, int(5_000_000 * scale), times)
    show(
        "Operators, 10,000 groups, CSV in, CSV out, 2 cores (a ratio below 1: Aurora is faster)",
        ["job", "rows", "seconds", "rows/s", "ratio", "rival"],
        rows,
    )
    if folder is None:
        shutil.rmtree(place)
