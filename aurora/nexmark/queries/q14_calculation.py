"""Query 14 of the suites in use: a calculation on bids of medium price.

SELECT auction, bidder, 0.908 * price AS price,
  CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
       WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType,
  dateTime, extra, count_char(extra, 'c') AS c_counts
FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["calculation"]


def calculation(rules: Rules) -> Network:
    network = Network("q14 calculation")
    price = f"{rules.dollars_to_euros!r} * bid.price"
    medium = event_stream(network, rules).filter(f"{price} > 1000000 AND {price} < 50000000", name="medium")
    calculated = medium.map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": price,
            "bidTimeType": "CASE WHEN hour(bid.dateTime) >= 8 AND hour(bid.dateTime) <= 18 THEN 'dayTime' "
            "WHEN hour(bid.dateTime) <= 6 OR hour(bid.dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END",
            "dateTime": "bid.dateTime",
            "extra": "bid.extra",
            "c_counts": "length(bid.extra) - length(replace(bid.extra, 'c', ''))",
        },
        name="calculated",
    )
    network.output("result", calculated)
    return network
