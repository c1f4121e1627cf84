"""Query 20 of the suites in use: bids on auctions of category 10, with the auction.

SELECT auction, bidder, price, channel, url, B.dateTime, itemName, description, initialBid, reserve, expires, seller
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id
WHERE A.category = 10;
"""

from aurora import Network
from aurora.nexmark.queries.closed_bids import bids_on_auctions
from aurora.nexmark.queries.events import Rules, auction_stream, bid_stream, event_stream, time_stream

__all__ = ["expanded_bids"]

CATEGORY = 10
BID = ("auction", "bidder", "price", "channel", "url")
AUCTION = ("itemName", "initialBid", "reserve", "seller")


def expanded_bids(rules: Rules) -> Network:
    network = Network("q20 expanded bids")
    events = event_stream(network, rules)
    time_stream(events)
    auctions = auction_stream(events, *AUCTION, where=f"auction.category = {CATEGORY}")
    placed = bids_on_auctions(auctions, bid_stream(events, *BID), rules)
    fields = (*BID, "dateTime", "itemName", "initialBid", "reserve", "expires", "seller")
    rows = {name: name for name in fields} | {"dateTime": "dateTime_right"}
    network.output("result", placed.map(rows, name="expanded"))
    return network
