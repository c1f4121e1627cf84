"""What our evaluator and Spark make of the same texts, held against each other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.required import drop_not_null
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.windows.reducer import Reducer

__all__ = [
    "aggregated",
    "check_parts",
    "differences",
    "for_spark",
    "frame_of",
    "same",
    "table_of",
    "values",
]


def table_of(schema: Schema, given: Mapping[str, Sequence[object]], rows: int) -> pa.Table:
    """Every column repeats its values in a cycle of another length, so most pairs of values meet."""
    columns = {name: [given[name][row % len(given[name])] for row in range(rows)] for name in schema}
    return pa.table(columns, schema.arrow())


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table).coalesce(1).cache()


@contextmanager
def both_zeros(spark: SparkSession) -> Iterator[None]:
    """Without the rule that makes if(b, 0D, -0D) always 0D, as Spark's optimiser takes the two constants for one.

    The result then depends on what else can be folded, so it is no meaning of `if` to agree with.
    """
    excluded = "spark.sql.optimizer.excludedRules"
    spark.conf.set(excluded, "org.apache.spark.sql.catalyst.optimizer.SimplifyConditionals")
    try:
        yield
    finally:
        spark.conf.unset(excluded)


def same(ours: object, theirs: object, exact: bool = True) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if exact or math.isinf(ours) or ours == 0:
            return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
        return math.isclose(ours, theirs, rel_tol=1e-14)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(same(a, b, exact) for a, b in zip(ours, theirs, strict=True))
    return ours == theirs


def differences(
    texts: Sequence[str],
    sqls: Sequence[str],
    frame: DataFrame,
    table: pa.Table,
    schema: Schema,
    exact: bool = True,
) -> list[str]:
    """What the two evaluators do not agree on, all expressions in one Spark query."""
    with both_zeros(frame.sparkSession):
        theirs = frame.selectExpr(*(f"{sql} AS r{place}" for place, sql in enumerate(sqls))).toArrow()
    found = []
    for place, text in enumerate(texts):
        expression = Expression.parse(text, schema)
        mine, spark = expression.evaluate(table), theirs.column(place).combine_chunks()
        if not mine.type == expression.type == drop_not_null(spark.type):
            found.append(f"{text}: type {mine.type} of {expression.type}, Spark has {spark.type}")
            continue
        pairs = enumerate(zip(values(mine), values(spark), strict=True))
        wrong = [(row, a, b) for row, (a, b) in pairs if not same(a, b, exact)]
        if wrong:
            row, a, b = wrong[0]
            used = {name: table.column(name)[row].as_py() for name in expression.fields}
            found.append(f"{text}: {a!r}, Spark has {b!r} where {used} ({len(wrong)} rows)")
    return found


def values(column: pa.Array) -> list[object]:
    """Timestamps as numbers: Spark's can leave the years that Python knows."""
    storage = {pa.timestamp("us", tz="UTC"): pa.int64(), pa.date32(): pa.int32()}.get(column.type)
    return list((column if storage is None else column.view(storage)).to_pylist())


def for_spark(texts: Sequence[str], schema: Schema) -> list[str]:
    """The texts as we write them for Spark."""
    return [Expression.parse(text, schema).spark_sql() for text in texts]


def check_parts(texts: Sequence[str], schema: Schema, table: pa.Table) -> None:
    """A part of a batch gives the part of the result, and no rows give none, of the same type.

    Arrow columns that start in the middle of their buffers are where kernels go wrong.
    """
    batch = table.combine_chunks().to_batches()[0]
    for text in texts:
        expression = Expression.parse(text, schema)
        whole, part = expression.evaluate(batch), expression.evaluate(batch.slice(13, 70))
        assert str(values(whole)[13:83]) == str(values(part)), text
        empty = expression.evaluate(batch.slice(0, 0))
        assert (empty.type, len(empty)) == (expression.type, 0), text


def aggregated(texts: Sequence[str], schema: Schema, table: pa.Table) -> list[pa.Array]:
    """Our values of aggregates over all rows, each in an array of one."""
    batch = table.combine_chunks().to_batches()[0]
    reducer = Reducer.of({str(place): text for place, text in enumerate(texts)}, schema, "test")
    return reducer.over(reducer.arguments(batch), np.zeros(1, np.int64), batch.num_rows)
