"""Query 8: who opens an auction in the window in which they registered, or, in the draft, that begins so.

SELECT person.id, person.name
FROM person [RANGE 12 HOURS PRECEDING], open_auction [RANGE 12 HOURS PRECEDING]
WHERE person.id = open_auction.sellerId;
"""

from aurora import Network, Stream
from aurora.nexmark.queries.events import Rules, auction_stream, event_stream, person_stream, time_stream

__all__ = ["new_users"]


def new_users(rules: Rules) -> Network:
    """The draft's window begins when a person registers, the standard one with the clock."""
    network = Network("q8 new users")
    events = event_stream(network, rules)
    time_stream(events)
    persons, auctions = person_stream(events, "name"), auction_stream(events, "seller")
    users = _own_windows(persons, auctions, rules) if rules.draft else _windows(persons, auctions, rules)
    rows = {"id": "id", "name": "name", "window_start": "dateTime"}
    network.output("result", users.map(rows, name="users"))
    return network


def _own_windows(persons: Stream, auctions: Stream, rules: Rules) -> Stream:
    return persons.resample(
        auctions,
        {"auctions": "count(*)"},
        match="left.id = right.seller",
        between=["left.dateTime", f"left.dateTime + INTERVAL '{rules.new_users}'"],
        left_order=rules.order(),
        right_order=rules.order(),
        name="sold",
    )


def _windows(persons: Stream, auctions: Stream, rules: Rules) -> Stream:
    """Who registers in a window, and who opens auctions in it, meet when it closes."""
    registered = persons.aggregate(
        {"name": "first(name)"}, order=rules.order("id"), size=rules.new_users, align=True, name="registered"
    )
    sellers = auctions.aggregate(
        {"auctions": "count(*)"},
        order=rules.order("seller"),
        size=rules.new_users,
        align=True,
        name="sellers",
    )
    by_window = {"on": "dateTime", "clock": "stream"}
    return registered.join(
        sellers,
        "left.id = right.seller AND left.dateTime = right.dateTime",
        keep={"left": "dateTime", "right": "dateTime"},
        left_order=by_window,
        right_order=by_window,
        name="both",
    )
