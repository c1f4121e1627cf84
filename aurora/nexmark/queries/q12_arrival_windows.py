"""Query 12 of the suites in use: how often each user bids in ten seconds of processing time.

SELECT bidder, count(*) AS bid_count, TUMBLE_START(p_time, INTERVAL '10' SECOND), TUMBLE_END(..)
FROM (SELECT *, PROCTIME() AS p_time FROM bid) GROUP BY bidder, TUMBLE(p_time, INTERVAL '10' SECOND);
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["arrival_windows"]

SIZE = "10 seconds"


def arrival_windows(rules: Rules) -> Network:
    """The clock is that of arrivals, so nothing is late, and a result depends on when the events came."""
    network = Network("q12 processing time windows")
    events = event_stream(network, rules)
    bids = events.filter("bid IS NOT NULL", name="bid_events").map(
        {"bidder": "bid.bidder", "arrived": "arrival_time()"}, name="bids"
    )
    counts = bids.aggregate(
        {"bid_count": "count(*)"},
        order={"on": "arrived", "group_by": ["bidder"], "clock": "stream"},
        size=SIZE,
        align=True,
        name="counts",
    )
    rows = {
        "bidder": "bidder",
        "bid_count": "bid_count",
        "starttime": "arrived",
        "endtime": f"arrived + INTERVAL '{SIZE}'",
    }
    network.output("result", counts.map(rows, name="windows"))
    return network
