"""Query 11 of the suites in use: how often each user bids in a session, which a pause of more than 10 s ends.

SELECT bidder, count(*) AS bid_count, SESSION_START(dateTime, INTERVAL '10' SECOND), SESSION_END(..)
FROM bid GROUP BY bidder, SESSION(dateTime, INTERVAL '10' SECOND);
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, bid_stream, event_stream, time_stream

__all__ = ["sessions"]

PAUSE = "10 seconds"
# Times are in milliseconds: bids belong together that are less than this apart.
GAP = "10001 ms"


def sessions(rules: Rules) -> Network:
    network = Network("q11 user sessions")
    events = event_stream(network, rules)
    time_stream(events)
    ended = bid_stream(events, "bidder").aggregate(
        {"bid_count": "count(*)", "latest": "max(dateTime)"},
        order=rules.order("bidder"),
        gap=GAP,
        name="ended",
    )
    rows = {
        "bidder": "bidder",
        "bid_count": "bid_count",
        "starttime": "dateTime",
        "endtime": f"latest + INTERVAL '{PAUSE}'",
    }
    network.output("result", ended.map(rows, name="sessions"))
    return network
