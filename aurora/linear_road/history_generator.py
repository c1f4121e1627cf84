"""The history generator: ten weeks of tolls and segment statistics that look like traffic, from one seed."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from aurora.engine.spark.session import spark_session
from aurora.errors import AuroraError
from aurora.linear_road.edition import EDITION_2004, Edition
from aurora.linear_road.reading import Survey, read_types, survey
from aurora.linear_road.reference.travel import MINUTES, day_of_week
from aurora.linear_road.storage_faults import plain_storage_faults

__all__ = ["MadeHistory", "make_history", "segment_day", "segment_history", "toll_history"]

Array = np.ndarray[Any, Any]
FORMATS = ("parquet", "csv")
_COLUMNS = ("Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt", "Toll")
_DAYS_A_TASK = 10
# Tolls of a day run from 0 to 98, as in the original tool.
_TOLLS = 99


@dataclass(frozen=True)
class MadeHistory:
    toll_rows: int
    segment_rows: int


def _hump(minute: Array, middle: float, width: float) -> Array:
    hump: Array = np.exp(-(((minute - middle) / width) ** 2))
    return hump


def _demand(weekday: int, edition: Edition) -> tuple[Array, Array]:
    """The cars to expect in a segment, [minute, direction, segment], and how far downtown it is."""
    minute = np.arange(MINUTES)[:, None, None]
    way = np.arange(2)[None, :, None]
    segment = np.arange(edition.segments)[None, None, :]
    middle = edition.segments / 2
    downtown = _hump(segment, middle, 0.2 * edition.segments)
    inward = np.where(way == 0, segment < middle, segment >= middle)
    if weekday in (1, 7):
        busy = 0.06 + 0.5 * _hump(minute, 14.5 * 60, 240) + 0.0 * inward
    else:
        morning, evening = _hump(minute, 8 * 60, 75), _hump(minute, 17.5 * 60, 100)
        busy = 0.04 + 0.35 * _hump(minute, 13 * 60, 260)
        busy = busy + morning * np.where(inward, 0.9, 0.5) + evening * np.where(inward, 0.5, 0.9)
    return 220 * busy * (0.3 + 0.7 * downtown), np.broadcast_to(downtown, (MINUTES, 2, edition.segments))


def segment_day(
    seed: int, xway: int, day: int, today: int = 2, edition: Edition = EDITION_2004
) -> dict[str, Array]:
    """One day of one expressway: Min, Dir, Seg, Lav, Cnt and Toll, ordered by the first three."""
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, xway, day])))
    weekday = int(day_of_week(np.array(day), today))
    demand, downtown = _demand(weekday, edition)
    demand = demand * rng.uniform(0.85, 1.15) * rng.uniform(0.9, 1.1, (1, 2, edition.segments))
    cars = rng.poisson(demand).astype(np.int32)
    free = 66 - 12 * downtown
    speed = free / (1 + (demand / 150) ** 3) + rng.normal(0, 2.5, demand.shape)
    lav = np.clip(np.floor(speed), 3, edition.free_speed).astype(np.int32)
    # No car in a minute: no speed either (rule 4).
    lav[cars == 0] = -1
    toll = np.where(edition.tolled(lav, cars), edition.toll(cars), 0).astype(np.int32)
    at: Array = np.indices(demand.shape, dtype=np.int32)
    columns: dict[str, Array] = {
        "Min": at[0] + 1,
        "Dir": at[1],
        "Seg": at[2],
        "Lav": lav,
        "Cnt": cars,
        "Toll": toll,
    }
    return {name: values.reshape(-1) for name, values in columns.items()}


def segment_history(
    spark: SparkSession, expressways: int, seed: int, today: int, edition: Edition
) -> DataFrame:
    """SegmentHistory of all expressways: each day is made from (seed, expressway, day) alone."""
    schema = pa.schema([(name, pa.int32()) for name in _COLUMNS])
    days = edition.history_days

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                xway, day = number // days, number % days + 1
                columns = segment_day(seed, xway, day, today, edition)
                size = len(columns["Min"])
                columns |= {"Day": np.full(size, day, np.int32), "XWay": np.full(size, xway, np.int32)}
                whole = pa.RecordBatch.from_arrays(
                    [pa.array(columns[name]) for name in _COLUMNS], schema=schema
                )
                for start in range(0, size, 32_000):
                    yield whole.slice(start, 32_000)

    tasks = -(-expressways * days // _DAYS_A_TASK)
    numbers = spark.range(0, expressways * days, 1, tasks)
    return numbers.mapInArrow(make, ", ".join(f"{name} int" for name in _COLUMNS))


def toll_history(
    cars: DataFrame, expressways: int, seed: int, edition: Edition, every_expressway: bool = False
) -> DataFrame:
    """TollHistory: a row for each car and day, on one expressway chosen by chance, or on every one."""
    days = cars.withColumn("Day", F.explode(F.sequence(F.lit(1), F.lit(edition.history_days - 1))))
    chance = [F.lit(seed).cast("long"), F.col("VID"), F.col("Day")]
    if every_expressway:
        driven = days.withColumn("XWay", F.explode(F.sequence(F.lit(0), F.lit(expressways - 1))))
    else:
        driven = days.withColumn("XWay", F.pmod(F.xxhash64(*chance), F.lit(expressways)).cast("int"))
    tolls = F.pmod(F.xxhash64(*chance, F.col("XWay"), F.lit("tolls")), F.lit(_TOLLS)).cast("int")
    return driven.select("VID", "Day", "XWay", tolls.alias("Tolls"))


def _store(frame: DataFrame, folder: Path, form: str) -> None:
    """Writes a folder elsewhere and renames it in, in place of an older one."""
    partial, old = folder.with_name(f".{folder.name}.writing"), folder.with_name(f".{folder.name}.old")
    for rest in (partial, old):
        shutil.rmtree(rest, ignore_errors=True)
    try:
        with plain_storage_faults(f"writing {folder}"):
            frame.write.format(form).save(str(partial))
            if folder.exists():
                folder.rename(old)
            partial.rename(folder)
    finally:
        for rest in (partial, old):
            shutil.rmtree(rest, ignore_errors=True)


def make_history(
    spark: SparkSession | None,
    data: Path,
    expressways: int,
    seed: int,
    *,
    form: str = "parquet",
    today: int = 2,
    every_expressway: bool = False,
    edition: Edition = EDITION_2004,
    progress: Callable[[str], None] = lambda _: None,
) -> MadeHistory:
    """Writes toll_history/ and segment_history/ into the data folder; starts a session where none is given."""
    if form not in FORMATS:
        raise AuroraError(f"unknown format {form}: give one of {', '.join(FORMATS)}")
    if expressways < 1 or not 1 <= today <= 7 or seed < 0:
        raise AuroraError(
            f"expressways {expressways}, today {today}, seed {seed}: "
            "expressways must be 1 or more, today a weekday 1 (Sunday) to 7, the seed 0 or more"
        )
    if not data.is_dir():
        raise AuroraError(f"no data folder {data}: simulate first, or give the folder with the input files")
    progress("reading the data")
    found = survey(data)
    highest = found.largest("XWay")
    if highest >= expressways:
        raise AuroraError(
            f"the data have expressway {highest}, --expressways is {expressways}: give at least {highest + 1}"
        )
    spark = spark or spark_session("linear-road history")
    progress("toll history")
    cars, number = _cars(spark, found)
    tolls = toll_history(cars, expressways, seed, edition, every_expressway)
    _store(tolls, data / "toll_history", form)
    cars.unpersist()
    progress("segment history")
    _store(segment_history(spark, expressways, seed, today, edition), data / "segment_history", form)
    each = (edition.history_days - 1) * (expressways if every_expressway else 1)
    return MadeHistory(number * each, expressways * edition.history_days * MINUTES * 2 * edition.segments)


def _cars(spark: SparkSession, found: Survey) -> tuple[DataFrame, int]:
    cars = read_types(spark, found, (0, 2, 3, 4), {"VID": "long"}, distinct=True).distinct().persist()
    return cars, cars.count()
