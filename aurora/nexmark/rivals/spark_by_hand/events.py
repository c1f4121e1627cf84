"""The streams of a folder of events, from which the queries begin: file sources with a schema, and watermarks."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from aurora.nexmark.check import Rules

__all__ = ["TIMES", "Events"]

PERSON = "id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, city: STRING, state: STRING"
AUCTION = "id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT, reserve: BIGINT"
SALE = "expires: TIMESTAMP, seller: BIGINT, category: BIGINT"
BID = "auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING"
SCHEMA = f"""
    person STRUCT<{PERSON}, dateTime: TIMESTAMP, extra: STRING>,
    auction STRUCT<{AUCTION}, dateTime: TIMESTAMP, {SALE}, extra: STRING>,
    bid STRUCT<{BID}, dateTime: TIMESTAMP, extra: STRING>
"""
TIMES = "yyyy-MM-dd HH:mm:ss.SSS"


@dataclass(frozen=True)
class Events:
    """The streams of a folder of events; each is a source of its own, read anew."""

    spark: SparkSession
    folder: Path
    rules: Rules
    # Milliseconds from opening to expiry, of the longest auction.
    longest: int = 0

    @property
    def lateness(self) -> str:
        """Spark counts an event at the watermark as late already, hence the millisecond."""
        return f"{self.rules.lateness + 1} milliseconds"

    def all(self) -> DataFrame:
        # A file is a batch: the watermark moves on between them.
        reader = self.spark.readStream.schema(SCHEMA).option("timestampFormat", TIMES)
        return reader.option("maxFilesPerTrigger", 1).json(str(self.folder))

    def bids(self, *more: str) -> DataFrame:
        """With these fields beside those that nearly every query has."""
        fields = ("auction", "bidder", "price", "dateTime", *more)
        return self.all().where("bid IS NOT NULL").select(*(f"bid.{name}" for name in fields))

    def timed_bids(self, *more: str) -> DataFrame:
        return self.bids(*more).withWatermark("dateTime", self.lateness)

    def auctions(self, *fields: str, where: str = "auction IS NOT NULL") -> DataFrame:
        """With their ids, these fields, and the times at which they open and close."""
        return (
            self.all()
            .where(where)
            .selectExpr("auction.*")
            .select("id", *fields, F.col("dateTime").alias("opened"), "expires")
            .withWatermark("expires", self.lateness)
        )

    @property
    def side(self) -> DataFrame:
        """The side input of q13, which is no stream."""
        return self.spark.read.schema("key BIGINT, value STRING").csv(str(self.folder.parent / "side.csv"))
