"""Query 1: the prices of all bids in euros.

SELECT itemid, DOLTOEUR(price), bidderId, bidTime
FROM bid;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["currency"]


def currency(rules: Rules) -> Network:
    network = Network("q1 currency conversion")
    bids = event_stream(network, rules).filter("bid IS NOT NULL", name="bids")
    euros = bids.map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": f"{rules.dollars_to_euros!r} * bid.price",
            "dateTime": "bid.dateTime",
        },
        name="euros",
    )
    network.output("result", euros)
    return network
