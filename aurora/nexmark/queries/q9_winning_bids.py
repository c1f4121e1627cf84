"""Query 9 of the suites in use: the winning bid of each auction, when it closes.

SELECT A.*, B.* FROM (
  SELECT A.*, B.*, ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS nth
  FROM auction A, bid B WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
) WHERE nth <= 1;
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import numbers
from aurora.nexmark.queries.closed_bids import bids_of_closed_auctions, by_auction
from aurora.nexmark.queries.events import Rules

__all__ = ["winning_bid", "winning_bids"]

FIELDS = ["auction", "bidder", "price", "dateTime", "seller", "expires"]


def winning_bids(rules: Rules) -> Network:
    network = Network("q9 winning bids")
    winners = network.user(
        winning_bid,
        inputs={"closed": bids_of_closed_auctions(network, rules)},
        outputs={
            "winners": "auction bigint, bidder bigint, price bigint, dateTime timestamp, "
            "seller bigint, expires timestamp"
        },
        name="winners",
    )
    network.output("result", winners)
    return network


def winning_bid(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """The highest that reaches the reserve, the earliest on ties."""
    closed = inputs["closed"]
    price, time = numbers(closed.rows, "price"), numbers(closed.rows, "dateTime")
    enough = np.flatnonzero(price >= numbers(closed.rows, "reserve"))
    auction = by_auction(closed)[enough]
    order = np.lexsort((time[enough], -price[enough], auction))
    first = np.concatenate([[True], np.diff(auction[order]) > 0])[: len(order)]
    chosen = enough[order[first]]
    return {"winners": caused(closed, closed.rows.select(FIELDS).take(pa.array(chosen)), chosen)}
