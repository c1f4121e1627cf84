"""Queries 0 to 8 in plain Structured Streaming: file source with a schema, watermarks, windows, joins of streams.

Spark closes a window only when a later event shows that it is over, so the input ends with events of a far future.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from aurora.nexmark.rivals.spark_by_hand.events import Events
from aurora.nexmark.rivals.spark_by_hand.extension import EXTENSION

__all__ = ["CLOSED", "QUERIES"]


def pass_through(events: Events) -> DataFrame:
    return events.all()


def currency(events: Events) -> DataFrame:
    euros = F.lit(events.rules.dollars_to_euros) * F.col("price")
    return events.bids().select("auction", "bidder", euros.alias("price"), "dateTime")


def selection(events: Events) -> DataFrame:
    return events.bids().where(events.rules.selected).select("auction", "price")


def local_items(events: Events) -> DataFrame:
    auctions = (
        events.all()
        .where("auction.category = 10")
        .selectExpr("auction.id", "auction.seller", "auction.expires")
    )
    persons = (
        events.all()
        .where(f"person.state IN {events.rules.states}")
        .selectExpr(
            "person.id AS person", "person.name", "person.city", "person.state", "person.dateTime AS came"
        )
    )
    return auctions.join(persons, F.expr("seller = person AND came <= expires")).select(
        "name", "city", "state", "id"
    )


def closed_auctions(events: Events) -> DataFrame:
    """Each sold auction once, in the batch in which the watermark passes its expiry."""
    auctions = events.auctions("category", "seller", "reserve")
    wins = "auction = id AND dateTime BETWEEN opened AND expires AND price >= reserve"
    matched = events.timed_bids().join(auctions, F.expr(wins))
    return matched.groupBy("id", "category", "seller", "expires").agg(F.max("price").alias("price"))


def hot_items(events: Events) -> DataFrame:
    counts = events.timed_bids().groupBy(F.window("dateTime", "10 seconds", "2 seconds"), "auction").count()
    item = F.struct("auction", F.col("count").alias("num"))
    items = counts.groupBy("window").agg(F.collect_list(item).alias("items"), F.max("count").alias("most"))
    hottest = items.select(
        "window", F.explode(F.expr("filter(items, item -> item.num = most)")).alias("item")
    )
    return hottest.selectExpr(
        "item.auction", "item.num", "window.start AS window_start", "window.end AS window_end"
    )


def highest_bid(events: Events) -> DataFrame:
    """The bids of each price, and of these groups the one with the highest: no join, and one source."""
    bid = F.struct("auction", "bidder", "dateTime")
    prices = events.timed_bids().groupBy(F.window("dateTime", "10 seconds"), "price")
    highest = (
        prices.agg(F.collect_list(bid).alias("bids"))
        .groupBy("window")
        .agg(F.max_by("bids", "price").alias("bids"), F.max("price").alias("price"))
    )
    each = highest.select("window", "price", F.explode("bids").alias("bid"))
    return each.selectExpr("bid.auction", "bid.bidder", "price", "bid.dateTime", "window.end AS window_end")


def new_users(events: Events) -> DataFrame:
    """Registrations and openings as one stream: one aggregate instead of a join of two sources."""
    people = (
        events.all()
        .where("bid IS NULL")
        .selectExpr(
            "coalesce(person.id, auction.seller) AS id",
            "person.name",
            "auction.id AS auction",
            "coalesce(person.dateTime, auction.dateTime) AS dateTime",
        )
        .withWatermark("dateTime", events.lateness)
    )
    windows = people.groupBy(F.window("dateTime", "10 seconds"), "id")
    both = windows.agg(F.max("name").alias("name"), F.count("auction").alias("opened"))
    return both.where("name IS NOT NULL AND opened > 0").selectExpr(
        "id", "name", "window.start AS window_start"
    )


QUERIES: dict[str, Callable[[Events], DataFrame]] = {
    "q0": pass_through,
    "q1": currency,
    "q2": selection,
    "q3": local_items,
    "q4": closed_auctions,
    "q5": hot_items,
    "q6": closed_auctions,
    "q7": highest_bid,
    "q8": new_users,
} | EXTENSION
# These need the rows of each batch in order, and what came before it: the second half is in `averages`.
CLOSED = ("q4", "q6")
