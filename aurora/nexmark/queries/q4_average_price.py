"""Query 4: the average closing price of each category, anew when one of its auctions closes.

SELECT C.id, AVG(CA.price)
FROM category C, item I, closed_auction CA
WHERE C.id = I.categoryId AND I.id = CA.itemid
GROUP BY C.id;
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import loaded, numbers, stored
from aurora.nexmark.queries.closings import closing_auctions
from aurora.nexmark.queries.counting import counted, found_in, ranks
from aurora.nexmark.queries.events import Rules

__all__ = ["average_price", "running_average"]


def average_price(rules: Rules) -> Network:
    network = Network("q4 average price for a category")
    average = network.user(
        running_average,
        inputs={"closed": closing_auctions(network, rules)},
        outputs={"average": "category bigint, avg double, expires timestamp"},
        name="average",
    )
    network.output("result", average)
    return network


def running_average(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """The average over all auctions of the category so far."""
    closed = inputs["closed"]
    category, price = numbers(closed.rows, "category"), numbers(closed.rows, "price")
    known = loaded(turn, "totals", "category count total")
    order, start, rank = ranks(category)
    sums = np.concatenate([[0], np.cumsum(price[order])])
    before = found_in(known["category"], category[order])
    count = rank + 1 + np.where(before < 0, 0, np.append(known["count"], 0)[before])
    total = sums[1:] - sums[start] + np.where(before < 0, 0, np.append(known["total"], 0)[before])
    average = np.empty(len(category))
    average[order] = total / count
    names = np.concatenate([known["category"], category])
    each, _, counts = counted(names, names * 0, np.concatenate([known["count"], np.ones_like(price)]))
    totals = np.zeros(len(each), np.int64)
    np.add.at(totals, found_in(each, names), np.concatenate([known["total"], price]))
    stored(turn, "totals", {"category": each, "count": counts, "total": totals})
    rows = pa.record_batch({"category": category, "avg": average, "expires": closed.rows["expires"]})
    return {"average": caused(closed, rows, np.arange(len(closed)))}
