"""Query 7: the highest bid of every ten minutes, with all that tie.

SELECT bid.price, bid.itemid
FROM bid where bid.price =
  (SELECT MAX(bid.price) FROM bid [FIXEDRANGE 10 MINUTES PRECEDING]);
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, bid_stream, event_stream, time_stream

__all__ = ["highest_bid"]

FIELDS = ("auction", "bidder", "price")


def highest_bid(rules: Rules) -> Network:
    network = Network("q7 highest bid")
    events = event_stream(network, rules)
    time_stream(events)
    highest = bid_stream(events, *FIELDS).top(
        {"k": 1, "by": "price DESC", "ties": True},
        order=rules.order(),
        size=rules.highest_bid,
        align=True,
        name="highest",
    )
    rows = {name: name for name in (*FIELDS, "dateTime")}
    end = f"window_start + INTERVAL '{rules.highest_bid}'"
    network.output("result", highest.map({**rows, "window_end": end}, name="prices"))
    return network
