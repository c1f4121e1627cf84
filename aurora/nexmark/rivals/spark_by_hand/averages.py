"""The second half of q4 and q6: averages over the auctions that have closed, a row for each, in their order.

Structured Streaming has no such running aggregate, so every batch is joined with what is left of the ones before. That
is kept by batch number, so a batch that is done again finds what it found the first time.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from aurora.nexmark.rivals.spark_by_hand.events import TIMES

__all__ = ["Averages"]


@dataclass(frozen=True)
class Averages:
    """Called with each batch of closed auctions; `key` is category (all auctions) or seller (the last ten)."""

    key: str
    out: Path
    kept: Path

    def __call__(self, closed: DataFrame, number: int) -> None:
        columns = [self.key, "expires", "id", "price"]
        before = self.kept / str(number - 1)
        batch = closed.select(*columns, F.lit(1).alias("auctions"), F.lit(True).alias("new"))
        if before.exists():
            batch = batch.unionByName(closed.sparkSession.read.parquet(str(before)))
        batch = batch.persist()
        order = Window.partitionBy(self.key).orderBy("expires", "id")
        span = order.rowsBetween(Window.unboundedPreceding if self.key == "category" else -9, 0)
        average = F.sum("price").over(span) / F.sum("auctions").over(span)
        rows = batch.select(self.key, average.cast("double").alias("avg"), "expires", "id", "new").where(
            "new"
        )
        rows = rows.coalesce(1).sortWithinPartitions("expires", "id").drop("id", "new")
        rows.write.mode("append").option("timestampFormat", TIMES).json(str(self.out))
        self._rest(batch).coalesce(1).write.mode("overwrite").parquet(str(self.kept / str(number)))
        batch.unpersist()

    def _rest(self, batch: DataFrame) -> DataFrame:
        """What later rows need: one row of sums for a category, nine auctions of a seller."""
        if self.key == "category":
            sums = [
                F.sum(name).cast(kind).alias(name)
                for name, kind in (("price", "bigint"), ("auctions", "int"))
            ]
            latest = [F.max(name).alias(name) for name in ("expires", "id")]
            return batch.groupBy("category").agg(*latest, *sums).withColumn("new", F.lit(False))
        newest = Window.partitionBy(self.key).orderBy(F.desc("expires"), F.desc("id"))
        ranked = batch.withColumn("rank", F.row_number().over(newest)).where("rank <= 9").drop("rank")
        return ranked.withColumn("new", F.lit(False))
