"""Rules 1-9 as frames: trips, statistics, accidents, quotes, entries, charges. One shuffle by car."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from aurora.linear_road.edition import Edition

__all__ = ["accidents", "charges", "entries", "movements", "quotes", "statistics"]

_SEGMENT = ["XWay", "Dir", "Seg"]


def _minute() -> Column:
    return F.expr("Time div 60 + 1").cast("int")


def movements(reports: DataFrame, edition: Edition, partitions: int) -> DataFrame:
    """Each report with what its car did before: `continues` its trip, `enters` a segment, stopped until when.

    The frame stays partitioned by car, so that what is made from it needs no second shuffle by car.
    """
    interval, time, place = edition.report_interval, F.col("Time"), F.col("place")
    # One number for (XWay, Lane, Dir, Pos): the window below looks back at it three times.
    length = edition.segments * edition.segment_length
    placed = F.expr(f"((XWay * 8L + Lane) * 2 + Dir) * {length}L + Pos")
    # Where a faulty file has two reports of a car in one second, the order is that of the file.
    by_car = Window.partitionBy("VID").orderBy("Time", "line")
    continues = time - F.lag("Time").over(by_car) == interval
    still = F.lit(True)
    for back in range(1, edition.stopped_reports):
        still &= F.lag("Time", back).over(by_car) == time - interval * back
        still &= F.lag("place", back).over(by_car) == place
    moved_on = (F.lead("place").over(by_car) != place) & (F.lead("Time").over(by_car) < time + interval)
    stop_end = F.when(moved_on, F.lead("Time").over(by_car)).otherwise(time + interval)
    return (
        reports.repartition(partitions, "VID")
        .withColumn("place", placed)
        .withColumn("continues", F.coalesce(continues, F.lit(False)))
        .withColumn("last_seg", F.lag("Seg").over(by_car))
        .withColumn("stop_end", F.when(still & F.col("Lane").isin(*edition.travel_lanes), stop_end))
        .withColumn("enters", ~F.col("continues") | (F.col("Seg") != F.col("last_seg")))
        .withColumn("minute", _minute())
        .drop("last_seg", "place")
    )


def statistics(moves: DataFrame) -> DataFrame:
    """Rule 3: the cars of each segment and minute, and the mean of their mean speeds."""
    by_car = moves.groupBy("VID", *_SEGMENT, "minute").agg(F.avg("Spd").alias("speed"))
    return by_car.groupBy(*_SEGMENT, "minute").agg(
        F.count("*").cast("int").alias("cnt"), F.avg("speed").alias("speed")
    )


def accidents(moves: DataFrame, edition: Edition) -> DataFrame:
    """Rule 7: the segments and minutes with an accident (Acc_in_Seg)."""
    stopped = moves.where("stop_end is not null")
    at_place = Window.partitionBy("XWay", "Lane", "Pos", "Dir").orderBy("Time", "VID")
    earlier = at_place.rowsBetween(Window.unboundedPreceding, -1)
    # Stops of one car never overlap, so two that do are two cars: from the later begin to the earlier end.
    other_end = F.max("stop_end").over(earlier)
    together = stopped.withColumn("until", F.when(other_end > F.col("Time"), F.least("stop_end", other_end)))
    minutes = F.explode(F.expr("sequence(Time div 60 + 1, (until - 1) div 60 + 1)").cast("array<int>"))
    return (
        together.where("until is not null")
        .select(
            "XWay", "Dir", (F.expr(f"Pos div {edition.segment_length}")).cast("int").alias("Seg"), minutes
        )
        .toDF(*_SEGMENT, "minute")
        .distinct()
    )


def quotes(stats: DataFrame, crashed: DataFrame, edition: Edition) -> DataFrame:
    """Rules 4, 5 and 8: for each segment and minute with a report the LAV, the toll, and the accidents within reach,
    the nearest by itself."""
    by_segment = Window.partitionBy(*_SEGMENT).orderBy("minute")
    recent = by_segment.rangeBetween(-edition.lav_minutes, -1)
    previous = by_segment.rangeBetween(-1, -1)
    upstream = F.when(F.col("Dir") == 0, F.col("crash") - F.col("ahead")).otherwise(
        F.col("crash") + F.col("ahead")
    )
    ahead = (
        crashed.withColumnRenamed("Seg", "crash")
        .withColumn("ahead", F.explode(F.array(*map(F.lit, range(edition.accident_reach + 1)))))
        .select("XWay", "Dir", upstream.alias("Seg"), (F.col("minute") + 1).alias("minute"), "ahead", "crash")
        .groupBy(*_SEGMENT, "minute")
        .agg(
            F.min_by("crash", "ahead").alias("accident"),
            F.sort_array(F.collect_set("crash")).alias("accidents"),
        )
    )
    lav = F.coalesce(F.floor(F.col("mean") + 1e-9), F.lit(-1)).cast("int")
    tolled = edition.tolled(F.col("lav"), F.col("cars")) & F.col("accident").isNull()
    toll = F.when(tolled, edition.toll(F.col("cars").cast("long"))).otherwise(0).cast("long")
    return (
        stats.withColumn("mean", F.avg("speed").over(recent))
        .withColumn("cars", F.coalesce(F.max("cnt").over(previous), F.lit(0)))
        .join(ahead, [*_SEGMENT, "minute"], "left")
        .withColumn("lav", lav)
        .select(*_SEGMENT, "minute", "lav", toll.alias("toll"), "accident", "accidents")
    )


def entries(moves: DataFrame, quoted: DataFrame) -> DataFrame:
    """The reports that enter a segment, exit lane included, with what holds there in that minute."""
    entering = moves.where("enters").select("VID", "Time", "line", *_SEGMENT, "Lane", "minute", "continues")
    return entering.join(quoted, [*_SEGMENT, "minute"])


def charges(entered: DataFrame, edition: Edition) -> DataFrame:
    """Rule 9: a quoted toll is charged when the same trip enters the next segment."""
    by_car = Window.partitionBy("VID").orderBy("Time", "line")
    return (
        entered.withColumn("at", F.lead("Time").over(by_car))
        .withColumn("charged", F.lead("continues").over(by_car))
        .where(F.col("charged") & (F.col("Lane") != edition.exit_lane) & (F.col("toll") > 0))
        .select("VID", "at", "toll")
    )
