"""Query 9 of the suites in use: the winning bid of each auction, when it closes.

SELECT A.*, B.* FROM (
  SELECT A.*, B.*, ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS nth
  FROM auction A, bid B WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
) WHERE nth <= 1;
"""

from aurora import Network
from aurora.nexmark.queries.closings import closing_auctions
from aurora.nexmark.queries.events import Rules

__all__ = ["winning_bids"]


def winning_bids(rules: Rules) -> Network:
    """The highest that reaches the reserve, the earliest on ties."""
    network = Network("q9 winning bids")
    functions = {
        "price": "max(price)",
        "bidder": "max_by(bidder, price)",
        "placed": "max_by(dateTime, price)",
    }
    closed = closing_auctions(network, rules, ("bidder", "price"), ("seller",), functions)
    rows = {
        "auction": "id",
        "bidder": "bidder",
        "price": "price",
        "dateTime": "placed",
        "seller": "seller",
        "expires": "expires",
    }
    network.output("result", closed.map(rows, name="winners"))
    return network
