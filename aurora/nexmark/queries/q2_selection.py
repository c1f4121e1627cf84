"""Query 2: the bids on some items.

SELECT itemid, price
FROM bid
WHERE itemid = 1007 OR itemid = 1020 OR itemid = 2001 OR itemid = 2019 OR itemid = 1087;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["selection"]


def selection(rules: Rules) -> Network:
    network = Network("q2 selection")
    chosen = event_stream(network, rules).filter(rules.selected, name="chosen")
    network.output("result", chosen.map({"auction": "bid.auction", "price": "bid.price"}, name="prices"))
    return network
