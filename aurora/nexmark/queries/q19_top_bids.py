"""Query 19 of the suites in use: the ten highest bids on each auction, when it closes.

SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) WHERE rank_number <= 10;
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import numbers
from aurora.nexmark.queries.closed_bids import bids_of_closed_auctions, by_auction
from aurora.nexmark.queries.counting import ranks
from aurora.nexmark.queries.events import Rules

__all__ = ["top_bids", "top_ten"]

FIELDS = ["auction", "bidder", "price", "dateTime"]
TOP = 10


def top_bids(rules: Rules) -> Network:
    network = Network("q19 top bids")
    top = network.user(
        top_ten,
        inputs={"closed": bids_of_closed_auctions(network, rules)},
        outputs={
            "top": "auction bigint, bidder bigint, price bigint, dateTime timestamp, rank_number bigint"
        },
        name="top",
    )
    network.output("result", top)
    return network


def top_ten(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Of equal prices the earlier bid is higher."""
    closed = inputs["closed"]
    auction = by_auction(closed)
    order = np.lexsort((numbers(closed.rows, "dateTime"), -numbers(closed.rows, "price"), auction))
    _, _, rank = ranks(auction[order])
    chosen = order[rank < TOP]
    rows = closed.rows.select(FIELDS).take(pa.array(chosen))
    rows = rows.append_column("rank_number", pa.array(rank[rank < TOP] + 1))
    return {"top": caused(closed, rows, auction[chosen])}
