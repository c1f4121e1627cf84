"""Queries 9 to 22 in plain Structured Streaming.

A stream has no window over rows and no distinct count: q19 sorts a list of the bids on each auction that has closed,
and q15 and q16 count the members of sets. Spark promises no order among bids of the same time. In fact those on one
auction stay as they came, and `max_by` takes the last of equals: that is right for q18. Two winning bids of q9 with the
same price in the same millisecond would need the first.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from aurora.nexmark.rivals.spark_by_hand.events import Events

__all__ = ["EXTENSION"]

BID = ("auction", "bidder", "price")
RANKS = {
    "total": "true",
    "rank1": "price < 10000",
    "rank2": "price >= 10000 AND price < 1000000",
    "rank3": "price >= 1000000",
}


def placed_bids(events: Events, auctions: DataFrame, *more: str) -> DataFrame:
    """The bids from the opening of their auctions to the expiry; none is kept longer than an auction may run."""
    longest = f"INTERVAL '{events.longest / 1000:.3f}' SECOND"
    open_then = f"dateTime BETWEEN opened AND expires AND expires <= dateTime + {longest}"
    return events.timed_bids(*more).join(auctions, F.expr(f"auction = id AND {open_then}"))


def winning_bids(events: Events) -> DataFrame:
    """The earlier of equal prices is higher."""
    matched = placed_bids(events, events.auctions("seller", "reserve")).where("price >= reserve")
    order = F.struct("price", -F.unix_millis("dateTime"))
    best = F.max_by(F.struct("bidder", "price", "dateTime"), order)
    sold = matched.groupBy("auction", "seller", "expires").agg(best.alias("best"))
    return sold.select("auction", "best.*", "seller", "expires")


def log(events: Events) -> DataFrame:
    day, minute = F.date_format("dateTime", "yyyy-MM-dd"), F.date_format("dateTime", "HH:mm")
    return events.bids("extra").select("*", day.alias("day"), minute.alias("minute"))


def sessions(events: Events) -> DataFrame:
    """A pause of 10 seconds does not end one, hence the millisecond."""
    gaps = F.session_window("dateTime", "10001 milliseconds")
    counts = events.timed_bids().groupBy(gaps.alias("session"), "bidder").agg(F.count("*").alias("bid_count"))
    end = "session.end - INTERVAL '0.001' SECOND AS endtime"
    return counts.selectExpr("bidder", "bid_count", "session.start AS starttime", end)


def side_input(events: Events) -> DataFrame:
    matched = events.bids().join(F.broadcast(events.side), F.expr("auction % 10000 = key"))
    return matched.select(*BID, "dateTime", "value")


def calculation(events: Events) -> DataFrame:
    euros = F.lit(events.rules.dollars_to_euros) * F.col("price")
    bids = events.bids("extra").withColumn("price", euros).where("price > 1000000 AND price < 50000000")
    hour = F.hour("dateTime")
    daytime = (
        F.when((hour >= 8) & (hour <= 18), "dayTime")
        .when((hour <= 6) | (hour >= 20), "nightTime")
        .otherwise("otherTime")
    )
    letters = F.expr("length(extra) - length(replace(extra, 'c', ''))")
    return bids.select("*", daytime.alias("bidTimeType"), letters.alias("c_counts"))


def _counts() -> list[Column]:
    return [F.count_if(F.expr(holds)).alias(f"{rank}_bids") for rank, holds in RANKS.items()]


def _distinct() -> list[Column]:
    return [
        F.size(F.collect_set(F.expr(f"CASE WHEN {holds} THEN {name} END"))).alias(f"{rank}_{name}s")
        for name in ("bidder", "auction")
        for rank, holds in RANKS.items()
    ]


def _daily(bids: DataFrame, *keys: str, values: list[Column]) -> DataFrame:
    days = bids.groupBy(F.window("dateTime", "1 day"), *keys).agg(*values)
    return days.select("*", F.date_format("window.start", "yyyy-MM-dd").alias("day")).drop("window")


def bidding_statistics(events: Events) -> DataFrame:
    return _daily(events.timed_bids(), values=[*_counts(), *_distinct()])


def channel_statistics(events: Events) -> DataFrame:
    minute = F.date_format(F.max("dateTime"), "HH:mm").alias("minute")
    return _daily(events.timed_bids("channel"), "channel", values=[*_counts(), *_distinct(), minute])


def auction_statistics(events: Events) -> DataFrame:
    prices = [
        function("price").alias(f"{name}_price")
        for name, function in {"min": F.min, "max": F.max, "avg": F.avg, "sum": F.sum}.items()
    ]
    return _daily(events.timed_bids(), "auction", values=[*_counts(), *prices])


def last_bids(events: Events) -> DataFrame:
    """Of bids in one moment the one that came last."""
    matched = placed_bids(events, events.auctions())
    last = matched.groupBy("auction", "bidder", "expires").agg(
        F.max_by("price", "dateTime").alias("price"), F.max("dateTime").alias("dateTime")
    )
    return last.drop("expires")


def top_bids(events: Events) -> DataFrame:
    """Of equal prices the earlier bid is higher."""
    matched = placed_bids(events, events.auctions())
    bids = matched.groupBy("auction", "expires").agg(
        F.collect_list(F.struct(*BID[1:], "dateTime")).alias("bids")
    )
    order = "transform(bids, (bid, nth) -> struct(-bid.price, bid.dateTime, nth, bid))"
    ranked = bids.select(
        "auction", F.posexplode(F.expr(f"slice(sort_array({order}), 1, 10)")).alias("rank", "row")
    )
    return ranked.selectExpr("auction", "row.bid.*", "rank + 1 AS rank_number")


def expanded_bids(events: Events) -> DataFrame:
    auctions = events.auctions("itemName", "initialBid", "reserve", "seller", where="auction.category = 10")
    return placed_bids(events, auctions, "channel", "url").drop("id", "opened")


def channels(events: Events) -> DataFrame:
    found = F.regexp_extract("url", "(&|^)channel_id=([^&]*)", 2)
    name = F.lower("channel")
    number = (
        F.when(name == "apple", "0")
        .when(name == "google", "1")
        .when(name == "facebook", "2")
        .when(name == "baidu", "3")
        .otherwise(found)
    )
    told = name.isin("apple", "google", "facebook", "baidu") | (found != "")
    return events.bids("channel", "url").where(told).select(*BID, "channel", number.alias("channel_id"))


def directories(events: Events) -> DataFrame:
    parts = F.split("url", "/")
    names = [parts[number + 2].alias(f"dir{number}") for number in (1, 2, 3)]
    return events.bids("channel", "url").select(*BID, "channel", *names)


EXTENSION: dict[str, Callable[[Events], DataFrame]] = {
    "q9": winning_bids,
    "q10": log,
    "q11": sessions,
    "q13": side_input,
    "q14": calculation,
    "q15": bidding_statistics,
    "q16": channel_statistics,
    "q17": auction_statistics,
    "q18": last_bids,
    "q19": top_bids,
    "q20": expanded_bids,
    "q21": channels,
    "q22": directories,
}
