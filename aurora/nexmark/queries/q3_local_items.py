"""Query 3: items of category 10 that somebody in Oregon puts up for auction.

SELECT person.name, person.city, person.state, open_auction.id
FROM open_auction, person, item
WHERE open_auction.sellerId = person.id AND person.state = 'OR'
  AND open_auction.itemid = item.id AND item.categoryId = 10;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, auction_stream, event_stream, person_stream, time_stream

__all__ = ["local_items"]

CATEGORY = 10


def local_items(rules: Rules) -> Network:
    """Persons are known for good, auctions until they close; a pair comes out with the later of the two."""
    network = Network("q3 local item suggestion")
    events = event_stream(network, rules)
    time_stream(events)
    states = ", ".join(f"'{state}'" for state in rules.states)
    auctions = auction_stream(events, "seller", where=f"auction.category = {CATEGORY}")
    persons = person_stream(events, "name", "city", "state", where=f"person.state IN ({states})")
    local = auctions.join(
        persons,
        "left.seller = right.id AND right.dateTime <= left.expires",
        keep={"left": "expires", "right": "all"},
        left_order=rules.order(),
        right_order=rules.order(),
        name="local",
    )
    fields = ("name", "city", "state", "id")
    network.output("result", local.map({name: name for name in fields}, name="items"))
    return network
