"""Query 6: for each seller the average closing price of the last ten auctions, anew with each closing.

SELECT AVG(CA.price), CA.sellerId
FROM closed_auction CA [PARTITION BY CA.sellerId ROWS 10 PRECEDING];
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import loaded, numbers, stored
from aurora.nexmark.queries.closings import closing_auctions
from aurora.nexmark.queries.counting import ranks
from aurora.nexmark.queries.events import Rules

__all__ = ["last_ten", "selling_price"]

ROWS = 10


def selling_price(rules: Rules) -> Network:
    network = Network("q6 average selling price by seller")
    average = network.user(
        last_ten,
        inputs={"closed": closing_auctions(network, rules)},
        outputs={"average": "seller bigint, avg double, expires timestamp"},
        name="average",
    )
    network.output("result", average)
    return network


def last_ten(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Keeps the last nine prices of each seller."""
    closed = inputs["closed"]
    known = loaded(turn, "prices", "seller price")
    old = len(known["seller"])
    seller = np.concatenate([known["seller"], numbers(closed.rows, "seller")])
    price = np.concatenate([known["price"], numbers(closed.rows, "price")])
    order, _, rank = ranks(seller)
    sums = np.concatenate([[0], np.cumsum(price[order])])
    last = np.arange(len(order)) + 1
    count = np.minimum(rank + 1, ROWS)
    average = np.empty(len(order))
    average[order] = (sums[last] - sums[last - count]) / count
    # What is less than nine from the end of its seller's rows.
    ends = np.searchsorted(seller[order], seller[order], side="right")
    kept = np.sort(order[ends - np.arange(len(order)) < ROWS])
    stored(turn, "prices", {"seller": seller[kept], "price": price[kept]})
    rows = pa.record_batch({"seller": seller[old:], "avg": average[old:], "expires": closed.rows["expires"]})
    return {"average": caused(closed, rows, np.arange(len(closed)))}
