"""Query 6: for each seller the average closing price of the last ten auctions, anew with each closing.

SELECT AVG(CA.price), CA.sellerId
FROM closed_auction CA [PARTITION BY CA.sellerId ROWS 10 PRECEDING];
"""

from aurora import Network
from aurora.nexmark.queries.closings import closing_auctions
from aurora.nexmark.queries.events import Rules

__all__ = ["selling_price"]


def selling_price(rules: Rules) -> Network:
    network = Network("q6 average selling price by seller")
    closed = closing_auctions(network, rules, ("price",), ("seller",), {"price": "max(price)"})
    averages = closed.aggregate(
        {"avg": "avg(price)", "expires": "expires"},
        order={"on": "#", "group_by": ["seller"]},
        size=10,
        advance=1,
        partial=True,
        name="averages",
    )
    fields = ("seller", "avg", "expires")
    network.output("result", averages.map({name: name for name in fields}, name="prices"))
    return network
