"""Query 18 of the suites in use: the last bid of each user on each auction, when the auction closes.

SELECT auction, bidder, price, dateTime FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS nth FROM bid
) WHERE nth <= 1;
"""

from aurora import Network
from aurora.nexmark.queries.closed_bids import CLOSING, bids_until_expiry
from aurora.nexmark.queries.events import Rules, auction_stream, bid_stream, event_stream, time_stream

__all__ = ["last_bids"]

GROUP = ["auction", "bidder"]


def last_bids(rules: Rules) -> Network:
    """Of bids in one moment the one that came last."""
    network = Network("q18 last bids")
    events = event_stream(network, rules)
    time_stream(events, "dateTime", "expires")
    bids = bids_until_expiry(auction_stream(events), bid_stream(events, "auction", "bidder", "price"), rules)
    latest = bids.top(
        {"k": 1, "by": "dateTime DESC", "ties": True},
        order=rules.order(*GROUP, on="expires"),
        name="latest",
        **CLOSING,
    )
    last = latest.aggregate(
        {"price": "last(price)", "dateTime": "last(dateTime)"},
        order={"on": "window_start", "group_by": GROUP, "clock": "stream"},
        name="last",
        **CLOSING,
    )
    fields = (*GROUP, "price", "dateTime")
    network.output("result", last.map({name: name for name in fields}, name="rows"))
    return network
