"""Bids with their auctions: what queries 18, 19 and 20 have in common."""

from aurora import Stream
from aurora.nexmark.queries.events import Rules

__all__ = ["CLOSING", "bids_on_auctions", "bids_until_expiry"]

# Windows that hold one moment, the expiry: times are in milliseconds.
CLOSING = {"size": "1 ms", "align": True}


def bids_on_auctions(auctions: Stream, bids: Stream, rules: Rules) -> Stream:
    """Each bid from the opening to the expiry with its auction, when the later of the two has come.

    An auction waits for bids until it closes, a bid for an auction that was opened before it and comes late.
    """
    return auctions.join(
        bids,
        "left.id = right.auction AND right.dateTime BETWEEN left.dateTime AND left.expires",
        keep={"left": "expires", "right": "dateTime"},
        left_order=rules.order(),
        right_order=rules.order(),
        name="placed",
    )


def bids_until_expiry(auctions: Stream, bids: Stream, rules: Rules) -> Stream:
    """The bids, with the time at which their auctions close: windows of that time close when it has passed."""
    fields = {"auction": "id", "bidder": "bidder", "price": "price", "dateTime": "dateTime_right"}
    placed = bids_on_auctions(auctions, bids, rules)
    return placed.map({**fields, "expires": "expires"}, name="until_expiry")
