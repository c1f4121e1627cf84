"""The rows of a network's outputs as a DataFrame, in the order of emission, out of the wagons of each batch."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, col, lit
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import sum as total

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import type_name
from aurora.engine.sources.source import notices
from aurora.engine.spark.lazy_pickle import LazyPickle
from aurora.engine.unloading import ByLane, sort_wagons, unload_trains
from aurora.engine.wagons import Job, Lane

__all__ = ["output_rows"]

# Rows that are handed to Spark together.
ROWS = 1 << 16
# What was left out of a batch, for whoever observes the query.
TOLD = {"rejected": pa.int64(), "left_out": pa.int64(), "told": pa.string()}


def output_rows(
    wagons: DataFrame, job: LazyPickle[Job], outputs: Sequence[tuple[str, Schema]], label: str
) -> DataFrame:
    """A column `output`, and a struct for each output, `#0`, `#1`, ..: a row has that of its own output.

    All rows of a batch are in one partition. What was left out is in the observed metrics `label`.
    """
    kinds = {"output": pa.string()}
    kinds |= {f"#{number}": pa.struct(schema.arrow()) for number, (_, schema) in enumerate(outputs)}
    kinds |= TOLD
    names = [name for name, _ in outputs]
    fields = ", ".join(f"`{name}` {type_name(kind)}" for name, kind in kinds.items())
    made = wagons.select("lane", "payload").repartition(1).mapInArrow(_unloader(job, names, kinds), fields)
    counted = made.observe(
        label,
        coalesce(total("rejected"), lit(0)).alias("rejected"),
        coalesce(total("left_out"), lit(0)).alias("left_out"),
        largest("told").alias("told"),
    )
    return counted.where(col("output").isNotNull()).drop(*TOLD)


def _unloader(
    job: LazyPickle[Job], names: list[str], kinds: dict[str, pa.DataType]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def unload(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        by_lane: ByLane = {}
        for batch in batches:
            sort_wagons(batch, by_lane)
        rejected = 0
        for name, train in unload_trains(job.open().plan, by_lane):
            rejected += len(train) if name not in names or name.startswith("#") else 0
            for start in range(0, len(train) if name in names else 0, ROWS):
                rows = train.rows.slice(start, ROWS)
                column = f"#{names.index(name)}"
                own = rows.to_struct_array().cast(kinds[column])
                yield _filled({"output": pa.repeat(name, len(rows)), column: own}, len(rows), kinds)
        left, told = _left_out(by_lane)
        if rejected or left or told:
            values = {"rejected": rejected, "left_out": left, "told": told}
            yield _filled({name: pa.array([value], TOLD[name]) for name, value in values.items()}, 1, kinds)

    return unload


def _filled(columns: dict[str, pa.Array], rows: int, kinds: dict[str, pa.DataType]) -> pa.RecordBatch:
    arrays = [columns.get(name, pa.nulls(rows, kind)) for name, kind in kinds.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(list(kinds.items())))


def _left_out(by_lane: ByLane) -> tuple[int, str | None]:
    """How many tuples boxes have left out, and what there is to tell, in sentences."""
    counts: Counter[tuple[str, str]] = Counter()
    for payload in by_lane.get(Lane.COUNTS, []):
        for box, count in json.loads(payload).items():
            counts.update({(box, reason): number for reason, number in count["discarded"].items()})
    told = [
        f"box {box} left out {number:,} {'tuple' if number == 1 else 'tuples'}: {reason}"
        for (box, reason), number in sorted(counts.items())
    ]
    places: list[Any] = by_lane.get(Lane.PLACES, [])
    told += [line for payload in places for line in notices(json.loads(payload))]
    return counts.total(), "; ".join(told) or None
