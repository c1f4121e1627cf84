"""Queries 15, 16 and 17 of the suites in use: what is bid in a day, in all, on each channel, and on each auction.

SELECT DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids, ..,
  count(DISTINCT bidder) AS total_bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders, ..
FROM bid GROUP BY day;                       -- q15; q16 groups by channel too
SELECT auction, day, .., min(price), max(price), avg(price), sum(price) FROM bid GROUP BY auction, day;    -- q17
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, bid_stream, event_stream, time_stream

__all__ = ["auction_statistics", "bidding_statistics", "channel_statistics"]

FIELDS = ("auction", "bidder", "price")
RANKS = {
    "rank1": "price < 10000",
    "rank2": "price >= 10000 AND price < 1000000",
    "rank3": "price >= 1000000",
}
BIDS = {"total_bids": "count(*)"} | {f"{rank}_bids": f"count_if({holds})" for rank, holds in RANKS.items()}


def _distinct(field: str, name: str) -> dict[str, str]:
    ranks = {
        f"{rank}_{name}": f"count(DISTINCT CASE WHEN {holds} THEN {field} END)"
        for rank, holds in RANKS.items()
    }
    return {f"total_{name}": f"count(DISTINCT {field})"} | ranks


DISTINCT = {**BIDS, **_distinct("bidder", "bidders"), **_distinct("auction", "auctions")}
PRICES = {
    "min_price": "min(price)",
    "max_price": "max(price)",
    "avg_price": "avg(price)",
    "sum_price": "sum(price)",
}


def bidding_statistics(rules: Rules) -> Network:
    return _statistics("q15 bidding statistics", rules, DISTINCT, [])


def channel_statistics(rules: Rules) -> Network:
    functions = {**DISTINCT, "minute": "substring(CAST(max(dateTime) AS string), 12, 5)"}
    return _statistics("q16 channel statistics", rules, functions, ["channel"])


def auction_statistics(rules: Rules) -> Network:
    return _statistics("q17 auction statistics", rules, {**BIDS, **PRICES}, ["auction"])


def _statistics(name: str, rules: Rules, functions: dict[str, str], group_by: list[str]) -> Network:
    network = Network(name)
    events = event_stream(network, rules)
    time_stream(events)
    bids = bid_stream(events, *dict.fromkeys([*group_by, *FIELDS]))
    daily = bids.aggregate(functions, order=rules.order(*group_by), size="1 day", align=True, name="daily")
    fields = {field: field for field in group_by} | {"day": "substring(CAST(dateTime AS string), 1, 10)"}
    network.output("result", daily.map(fields | {field: field for field in functions}, name="rows"))
    return network
