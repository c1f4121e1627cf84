"""Query 10 of the suites in use: all bids as a log, with the day and the minute by which it is filed.

INSERT INTO log
SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd'), DATE_FORMAT(dateTime, 'HH:mm')
FROM bid;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["log"]


def log(rules: Rules) -> Network:
    network = Network("q10 log")
    bids = event_stream(network, rules).filter("bid IS NOT NULL", name="bids")
    filed = bids.map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": "bid.price",
            "dateTime": "bid.dateTime",
            "extra": "bid.extra",
            "day": "substring(CAST(bid.dateTime AS string), 1, 10)",
            "minute": "substring(CAST(bid.dateTime AS string), 12, 5)",
        },
        name="filed",
    )
    network.output("result", filed)
    return network
