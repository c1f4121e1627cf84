"""The auctions as they close: what queries 4, 6 and 9 have in common."""

from collections.abc import Mapping

from aurora import Network, Stream
from aurora.nexmark.queries.events import Rules, auction_stream, bid_stream, event_stream, time_stream

__all__ = ["closing_auctions"]


def closing_auctions(
    network: Network,
    rules: Rules,
    bid: tuple[str, ...],
    auction: tuple[str, ...],
    functions: Mapping[str, str],
) -> Stream:
    """The auctions that were sold, by expiry and then id, each when no more bid on it can come.

    Functions are over the bids from the opening to the expiry that reach the reserve.
    """
    events = event_stream(network, rules)
    time_stream(events)
    return auction_stream(events, "reserve", *auction).resample(
        bid_stream(events, "auction", *bid),
        dict(functions),
        match="left.id = right.auction AND right.price >= left.reserve",
        between=["left.dateTime", "left.expires"],
        left_order=rules.order(),
        right_order=rules.order(),
        name="closed",
    )
