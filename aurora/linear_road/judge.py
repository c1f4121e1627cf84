"""An output beside what was expected: each answer is right, missing, extra, duplicate, wrong, late or early."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from aurora.linear_road.edition import Edition
from aurora.linear_road.reading import Block
from aurora.linear_road.records import Dialect, parse_output
from aurora.linear_road.reference import Reference

__all__ = ["FAULTS", "compare", "read_output"]

FAULTS = ("missing", "extra", "wrong", "late", "early", "duplicate")
EXAMPLES = 10
_MICROS = 1_000_000

# Where the values of each output type go in the frames; a and b as in Reference.
_PLACES = {
    0: {"key": "VID", "a": "Spd", "b": "Toll"},
    1: {"key": "VID", "a": "Seg", "XWay": "XWay", "Dir": "Dir"},
    2: {"key": "QID", "a": "Bal"},
    3: {"key": "QID", "a": "Bal"},
    4: {"key": "QID", "a": "TravelTime", "b": "Toll"},
}
_GIVEN = ("type", "key", "at", "Time", "line", "emit", "result", "a", "b", "XWay", "Dir")


def read_output(spark: SparkSession, blocks: list[Block], dialect: Dialect) -> DataFrame:
    """The readable lines of an output; Emit and ResultTime in microseconds."""
    schema = pa.schema([(name, pa.int64()) for name in _GIVEN])
    source = spark.createDataFrame(
        [(block.path, block.start, block.end, block.line) for block in blocks],
        "path string, start long, end long, line long",
    )

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                rows = parse_output(Block(row["path"], row["start"], row["end"]).bytes(), dialect)
                for kind, layout in dialect.layouts.items():
                    chosen = np.flatnonzero(rows.good & (rows.values[:, 0] == kind))
                    columns = _columns(kind, layout, rows.values[chosen], rows.micros[chosen])
                    columns["line"] = chosen + row["line"]
                    nothing = pa.nulls(len(chosen), pa.int64())
                    arrays = [pa.array(columns[name]) if name in columns else nothing for name in _GIVEN]
                    whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
                    for start in range(0, whole.num_rows, 50_000):
                        yield whole.slice(start, 50_000)

    tasks = max(spark.sparkContext.defaultParallelism, len(blocks) // 4)
    return source.repartition(tasks).mapInArrow(parse, ", ".join(f"{name} long" for name in _GIVEN))


def _columns(kind: int, layout: tuple[str, ...], values: Any, micros: Any) -> dict[str, Any]:
    at = {name: number for number, name in enumerate(layout, start=1)}
    places = _PLACES[kind]
    columns = {name: values[:, at[field]] for name, field in places.items() if field in at}
    columns["type"] = values[:, 0]
    columns["Time"] = values[:, at["Time"]]
    columns["at"] = columns["Time"] if places["key"] == "VID" else np.zeros(len(values), np.int64)
    for name, field in (("emit", "Emit"), ("result", "ResultTime")):
        if field in at:
            columns[name] = values[:, at[field]] * _MICROS + micros[:, at[field]]
    return columns


_KEYS = ["type", "key", "at"]
_EXPECTED_FIELDS = ("Time", "VID", "a", "b", "XWay", "Dir", "near")
_GIVEN_FIELDS = ("Time", "line", "emit", "result", "a", "b", "XWay", "Dir")


def _both(reference: Reference, given: DataFrame, dialect: Dialect) -> DataFrame:
    """Expected and given answers in one frame, side by side under their keys."""
    wanted = reference.expected.where(F.col("type").isin(*dialect.layouts)).select(
        *_KEYS, *(F.col(name).cast("long").alias(f"e_{name}") for name in _EXPECTED_FIELDS), "charges"
    )
    got = given.select(*_KEYS, *(F.col(name).alias(f"g_{name}") for name in _GIVEN_FIELDS))
    return wanted.unionByName(got, allowMissingColumns=True).repartition(reference.partitions, *_KEYS)


def _structs(charges: Column) -> tuple[Column, Column]:
    e = F.struct(*(F.col(f"e_{name}").alias(name) for name in _EXPECTED_FIELDS), charges.alias("charges"))
    g = F.struct(*(F.col(f"g_{name}").alias(name) for name in _GIVEN_FIELDS))
    return F.when(F.col("e_Time").isNotNull(), e), F.when(F.col("g_Time").isNotNull(), g)


def _grouped(both: DataFrame) -> DataFrame:
    """One row a key, by plain maxima: exact where a key is expected once and given once, as nearly all are."""
    values = [*(f"e_{name}" for name in _EXPECTED_FIELDS), *(f"g_{name}" for name in _GIVEN_FIELDS)]
    return (
        both.where("type <> 2")
        .groupBy(*_KEYS)
        .agg(
            F.count("e_Time").alias("asked"),
            F.count("g_Time").alias("got"),
            *(F.max(value).alias(value) for value in values),
        )
    )


def _single_pairs(grouped: DataFrame) -> DataFrame:
    e, g = _structs(F.lit(None).cast("array<struct<at:int,toll:long>>"))
    return grouped.where("asked < 2 and got < 2").select("type", "key", "asked", e.alias("e"), g.alias("g"))


def _listed_pairs(both: DataFrame) -> DataFrame:
    """Each expected answer beside the one given for it: equal ones first, of the others the first beside the first, by
    Time. No balance has an equal: what is expected depends on its ResultTime."""
    e, g = _structs(F.col("charges"))
    same = [*_KEYS, *(F.coalesce(f"e_{name}", f"g_{name}").alias(name) for name in ("Time", "a", "b"))]
    order = [F.coalesce("e_XWay", "g_XWay"), F.coalesce("e_Dir", "g_Dir"), F.col("g_line")]
    nth = F.row_number().over(Window.partitionBy(*same, F.col("e_Time").isNull()).orderBy(*order))
    matched = (
        both.select(*same, nth.alias("nth"), e.alias("e"), g.alias("g"))
        .groupBy(*_KEYS, "Time", "a", "b", "nth")
        .agg(F.first("e", ignorenulls=True).alias("e"), F.first("g", ignorenulls=True).alias("g"))
    )
    equal = F.col("e").isNotNull() & F.col("g").isNotNull()
    lists = matched.groupBy(*_KEYS).agg(
        F.collect_list(F.when(equal, F.struct("e", "g"))).alias("equal"),
        F.sort_array(F.collect_list(F.when(~equal, F.col("e")))).alias("e"),
        F.sort_array(F.collect_list(F.when(~equal, F.col("g")))).alias("g"),
    )
    asked = F.size("equal") + F.size("e")
    pairs = F.explode(F.concat("equal", F.arrays_zip("e", "g")))
    return lists.select("type", "key", asked.alias("asked"), pairs.alias("pair")).select(
        "type", "key", "asked", "pair.e", "pair.g"
    )


def _balance(until: str) -> Column:
    charged = f"filter(e.charges, c -> c.at * {_MICROS}L {until} g.result)"
    return F.expr(f"aggregate({charged}, 0L, (total, c) -> total + c.toll)")


def _wrong(edition: Edition) -> Column:
    tolerance, window = edition.travel_tolerance, edition.balance_window
    in_window = F.expr(f"g.result between (e.Time - {window}) * {_MICROS}L and e.Time * {_MICROS}L")
    right = {
        0: F.expr("g.a = e.a and g.b = e.b"),
        # Any accident within reach, of which the nearest is expected.
        1: F.expr(
            f"if(e.Dir = 0, g.a - e.a, e.a - g.a) between 0 and {edition.accident_reach} "
            "and shiftright(e.near, cast(abs(g.a - e.a) as int)) & 1 = 1 "
            "and coalesce(g.XWay = e.XWay and g.Dir = e.Dir, true)"
        ),
        2: in_window & ((F.col("g.a") == F.col("before")) | (F.col("g.a") == F.col("upto"))),
        3: F.expr("g.a = e.a"),
        4: F.expr(f"abs(g.a - e.a) <= {tolerance}D * e.a and abs(g.b - e.b) <= {tolerance}D * e.b"),
    }
    verdict = F.lit(False)
    for kind, test in right.items():
        verdict = F.when(F.col("type") == kind, test & (F.col("g.Time") == F.col("e.Time"))).otherwise(
            verdict
        )
    return ~verdict


def _verdicts(pairs: DataFrame, edition: Edition) -> DataFrame:
    matched = F.col("e").isNotNull() & F.col("g").isNotNull()
    response = F.col("g.emit") - F.col("e.Time") * F.lit(_MICROS).cast("long")
    allowed = F.create_map(
        *(F.lit(value) for kind, limit in edition.deadlines.items() for value in (kind, int(limit * _MICROS)))
    )
    tests = {
        "missing": F.col("g").isNull(),
        "extra": F.col("e").isNull() & (F.col("asked") == 0),
        "duplicate": F.col("e").isNull() & (F.col("asked") > 0),
        "wrong": matched & F.col("wrong"),
        "late": matched & (F.col("response") > allowed[F.col("type").cast("int")]),
        "early": matched & (F.col("response") < 0),
    }
    faults = F.array_compact(F.array(*(F.when(test, F.lit(name)) for name, test in tests.items())))
    return (
        pairs.withColumn("response", response)
        .withColumn("before", F.when(F.col("type") == 2, _balance("<")))
        .withColumn("upto", F.when(F.col("type") == 2, _balance("<=")))
        .withColumn("wrong", _wrong(edition))
        .withColumn("faults", faults)
        .withColumn("e", F.col("e").dropFields("charges"))
    )


def compare(
    reference: Reference, given: DataFrame, dialect: Dialect, edition: Edition
) -> tuple[list[Row], list[Row]]:
    """Counts by type, and the first faults of each type and kind."""
    both = _both(reference, given, dialect)
    grouped = _grouped(both).persist(StorageLevel.DISK_ONLY)
    try:
        pairs = _single_pairs(grouped).unionByName(_listed_pairs(both.where("type = 2")))
        repeated = grouped.where("asked > 1 or got > 1").select(*_KEYS)
        if not repeated.isEmpty():
            pairs = pairs.unionByName(_listed_pairs(both.join(repeated, _KEYS, "left_semi")))
        return _first_faults(_verdicts(pairs, edition))
    finally:
        grouped.unpersist()


def _first_faults(verdicts: DataFrame) -> tuple[list[Row], list[Row]]:
    seconds = F.col("response") / _MICROS
    counted = verdicts.groupBy("type").agg(
        F.count("e").alias("expected"),
        F.count("g").alias("given"),
        *(F.sum(F.array_contains("faults", fault).cast("long")).alias(fault) for fault in FAULTS),
        F.max(seconds).alias("max"),
        F.percentile_approx(seconds, 0.99, 1000).alias("p99"),
        F.percentile_approx(seconds, 0.5, 1000).alias("p50"),
    )
    counts = counted.collect()
    if not any(row[fault] for row in counts for fault in FAULTS):
        return counts, []
    first = Window.partitionBy("type", "fault").orderBy(F.coalesce("e.Time", "g.Time"), "key", "g.line")
    faulty = verdicts.where("size(faults) > 0").withColumn("fault", F.explode("faults"))
    examples = faulty.withColumn("rank", F.row_number().over(first)).where(F.col("rank") <= EXAMPLES)
    return counts, examples.orderBy("type", "fault", "rank").collect()
