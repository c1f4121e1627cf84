"""The expected output of a run: one frame for all five output types."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from aurora.linear_road.edition import Edition
from aurora.linear_road.reading import Survey, read_types
from aurora.linear_road.records import Replication
from aurora.linear_road.reference import road
from aurora.linear_road.reference.travel import segment_means, stored_segments, travel
from aurora.linear_road.stored_histories import Histories

__all__ = ["Reference", "reference_answers"]

_REPORT = {
    "VID": "long",
    "Time": "int",
    "Spd": "byte",
    "XWay": "int",
    "Lane": "byte",
    "Dir": "byte",
    "Seg": "int",
    "Pos": "int",
    "line": "long",
}
_QUERY = {
    "Type": "int",
    "Time": "int",
    "VID": "long",
    "XWay": "int",
    "QID": "long",
    "Sinit": "int",
    "Send": "int",
    "DOW": "int",
    "TOD": "int",
    "Day": "int",
}
_PARTITION_BYTES = 24 << 20


@dataclass(frozen=True)
class Reference:
    """What is expected: type, key (VID or QID), at (Time for VIDs), VID, Time, a, b, XWay, Dir, charges, near.

    a and b are LAV and toll, accident segment, expenditure, travel time and toll, by type; `charges` holds
    the charges of the car (at, toll) for a balance. An alert names the nearest accident; `near` has a bit for each
    segment from there on, of which those with an accident within reach are set: their names are right, too.
    """

    expected: DataFrame
    partitions: int


def _answer(
    kind: int,
    key: str,
    at: Column,
    a: Column,
    b: Column,
    charged: Column | None = None,
    near: Column | None = None,
) -> list[Column]:
    on_road = kind == 1
    no_charges = F.lit(None).cast("array<struct<at:int,toll:long>>")
    return [
        F.lit(kind).alias("type"),
        F.col(key).cast("long").alias("key"),
        at.cast("long").alias("at"),
        F.col("VID"),
        F.col("Time"),
        a.cast("long").alias("a"),
        b.cast("long").alias("b"),
        (F.col("XWay") if on_road else F.lit(None)).cast("int").alias("XWay"),
        (F.col("Dir") if on_road else F.lit(None)).cast("int").alias("Dir"),
        (no_charges if charged is None else charged).alias("charges"),
        (F.lit(None) if near is None else near).cast("long").alias("near"),
    ]


def _balances(queries: DataFrame, charged: DataFrame) -> DataFrame:
    asked = queries.where("Type = 2").select("VID", "Time", "QID")
    lists = (
        charged.join(F.broadcast(asked.select("VID").distinct()), "VID", "left_semi")
        .groupBy("VID")
        .agg(F.collect_list(F.struct("at", "toll")).alias("charged"))
    )
    return asked.join(lists, "VID", "left").select(
        _answer(2, "QID", F.lit(0), F.lit(None), F.lit(None), F.coalesce("charged", F.array()))
    )


def _expenditures(queries: DataFrame, tolls: DataFrame | None) -> DataFrame:
    asked = queries.where("Type = 3").select("VID", "Time", "QID", "XWay", "Day")
    if tolls is None:
        return asked.select(_answer(3, "QID", F.lit(0), F.lit(0), F.lit(None)))
    keys = ["VID", "Day", "XWay"]
    spent = (
        tolls.join(F.broadcast(asked.select(*keys).distinct()), keys, "left_semi")
        .groupBy(*keys)
        .agg(F.sum("Tolls").alias("spent"))
    )
    return asked.join(spent, keys, "left").select(
        _answer(3, "QID", F.lit(0), F.coalesce("spent", F.lit(0)), F.lit(None))
    )


def _journeys(queries: DataFrame, segments: str | None, edition: Edition, today: int) -> DataFrame:
    asked = queries.where("Type = 4").select("VID", "Time", "QID", "XWay", "Sinit", "Send", "DOW", "TOD")

    def answer(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        speeds, cars = segment_means(stored_segments(segments, key[0].as_py()), edition, today)
        fields = {name: np.asarray(table.column(name)) for name in ("Sinit", "Send", "DOW", "TOD")}
        seconds, tolls = travel(fields, speeds, cars, edition)
        kept = table.select(["VID", "Time", "QID"])
        return kept.append_column("seconds", pa.array(seconds)).append_column("tolls", pa.array(tolls))

    schema = "VID long, Time int, QID long, seconds long, tolls long"
    answered = asked.groupBy("XWay").applyInArrow(answer, schema)
    return answered.select(_answer(4, "QID", F.lit(0), F.col("seconds"), F.col("tolls")))


def _copies(expected: DataFrame, copies: Replication) -> DataFrame:
    """The answers of every copy: those of the original with its own numbers (rule: records.replication)."""
    if copies.copies == 1:
        return expected
    numbers = F.array(*map(F.lit, copies.numbers())).cast("array<long>")
    step = F.when(F.col("type") < 2, copies.vid_step).otherwise(copies.qid_step).cast("long")
    return (
        expected.withColumn("copy", F.explode(numbers))
        .withColumn("key", F.col("key") + F.col("copy") * step)
        .withColumn("VID", F.col("VID") + F.col("copy") * F.lit(copies.vid_step).cast("long"))
        .withColumn("XWay", (F.col("XWay") + F.col("copy") * copies.xways).cast("int"))
        .drop("copy")
    )


@contextmanager
def reference_answers(
    spark: SparkSession,
    found: Survey,
    histories: Histories,
    scratch: Path,
    edition: Edition,
    *,
    copies: int = 1,
    today: int = 2,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Reference]:
    """The answers that the rules give for the data; what Spark holds on disk for them is let go after."""
    size = sum(block.end - block.start for file in found.files for block in file.blocks)
    partitions = max(spark.sparkContext.defaultParallelism, size // _PARTITION_BYTES)
    held = []

    def hold(frame: DataFrame, level: StorageLevel = StorageLevel.DISK_ONLY) -> DataFrame:
        held.append(frame.persist(level))
        return frame

    try:
        progress("trips and statistics")
        moves = hold(road.movements(read_types(spark, found, (0,), _REPORT), edition, partitions))
        quoted = hold(road.quotes(road.statistics(moves), road.accidents(moves, edition), edition))
        # Counting makes it now, and tells Spark its size: it is joined by broadcast while it is small.
        quoted.count()
        progress("tolls and accidents")
        entered = hold(road.entries(moves, quoted))
        noted = entered.where(F.col("Lane") != edition.exit_lane)
        queries = hold(read_types(spark, found, (2, 3, 4), _QUERY))
        tolls = noted.select(_answer(0, "VID", F.col("Time"), F.col("lav"), F.col("toll")))
        alerted = noted.where("accident is not null")
        bits = F.expr("aggregate(accidents, 0L, (bits, seg) -> bits | shiftleft(1L, abs(seg - accident)))")
        alerts = alerted.select(_answer(1, "VID", F.col("Time"), F.col("accident"), F.lit(None), near=bits))
        expected = (
            tolls.unionByName(alerts)
            .unionByName(_balances(queries, road.charges(entered, edition)))
            .unionByName(_expenditures(queries, histories.read_toll(spark)))
        )
        if found.counts[4]:
            progress("travel times")
            segments = histories.segments_as_parquet(spark, scratch)
            expected = expected.unionByName(_journeys(queries, segments, edition, today))
        yield Reference(_copies(expected, found.replication(copies)), int(partitions))
    finally:
        for frame in held:
            frame.unpersist()
