"""Query 5: the items with the most bids of the last hour, every minute.

SELECT bid.itemid
FROM bid [RANGE 60 MINUTES PRECEDING]
WHERE (SELECT COUNT(bid.itemid)
       FROM bid [PARTITION BY bid.itemid RANGE 60 MINUTES PRECEDING])
       >= ALL (SELECT COUNT(bid.itemid)
              FROM bid [PARTITION BY bid.itemid RANGE 60 MINUTES PRECEDING]);
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, bid_stream, event_stream, time_stream

__all__ = ["hot_items"]


def hot_items(rules: Rules) -> Network:
    network = Network("q5 hot items")
    size, advance = rules.hot_items
    events = event_stream(network, rules)
    time_stream(events)
    counts = bid_stream(events, "auction").aggregate(
        {"num": "count(*)"},
        order=rules.order("auction"),
        size=size,
        advance=advance,
        align=True,
        name="counts",
    )
    # The counts of one window stand together at its start, and are complete when it closes.
    hottest = counts.top(
        {"k": 1, "by": "num DESC", "ties": True},
        order={"on": "dateTime", "clock": "stream"},
        size=advance,
        align=True,
        name="hottest",
    )
    rows = {
        "auction": "auction",
        "num": "num",
        "window_start": "dateTime",
        "window_end": f"dateTime + INTERVAL '{size}'",
    }
    network.output("result", hottest.map(rows, name="items"))
    return network
