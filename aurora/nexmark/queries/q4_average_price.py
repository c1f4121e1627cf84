"""Query 4: the average closing price of each category, anew when one of its auctions closes.

SELECT C.id, AVG(CA.price)
FROM category C, item I, closed_auction CA
WHERE C.id = I.categoryId AND I.id = CA.itemid
GROUP BY C.id;
"""

from aurora import Network
from aurora.nexmark.queries.closings import closing_auctions
from aurora.nexmark.queries.events import Rules

__all__ = ["average_price"]


def average_price(rules: Rules) -> Network:
    network = Network("q4 average price for a category")
    closed = closing_auctions(network, rules, ("price",), ("category",), {"price": "max(price)"})
    averages = closed.aggregate(
        {"avg": "avg(price)", "expires": "expires"},
        order={"on": "#", "group_by": ["category"]},
        size="all",
        name="averages",
    )
    fields = ("category", "avg", "expires")
    network.output("result", averages.map({name: name for name in fields}, name="prices"))
    return network
