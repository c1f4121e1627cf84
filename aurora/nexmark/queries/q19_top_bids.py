"""Query 19 of the suites in use: the ten highest bids on each auction, when it closes.

SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) WHERE rank_number <= 10;
"""

from aurora import Network
from aurora.nexmark.queries.closed_bids import CLOSING, bids_until_expiry
from aurora.nexmark.queries.events import Rules, auction_stream, bid_stream, event_stream, time_stream

__all__ = ["top_bids"]


def top_bids(rules: Rules) -> Network:
    """Of equal prices the earlier bid is higher."""
    network = Network("q19 top bids")
    events = event_stream(network, rules)
    time_stream(events, "dateTime", "expires")
    bids = bids_until_expiry(auction_stream(events), bid_stream(events, "auction", "bidder", "price"), rules)
    top = bids.top(
        {"k": 10, "by": ["price DESC", "dateTime"], "rank": "rank_number"},
        order=rules.order("auction", on="expires"),
        name="top",
        **CLOSING,
    )
    fields = ("auction", "bidder", "price", "dateTime", "rank_number")
    network.output("result", top.map({name: name for name in fields}, name="rows"))
    return network
