"""Query 18 of the suites in use: the last bid of each user on each auction, when the auction closes.

SELECT auction, bidder, price, dateTime FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS nth FROM bid
) WHERE nth <= 1;
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import numbers
from aurora.nexmark.queries.closed_bids import bids_of_closed_auctions, by_auction
from aurora.nexmark.queries.events import Rules

__all__ = ["last_bid", "last_bids"]

FIELDS = ["auction", "bidder", "price", "dateTime"]


def last_bids(rules: Rules) -> Network:
    network = Network("q18 last bids")
    last = network.user(
        last_bid,
        inputs={"closed": bids_of_closed_auctions(network, rules)},
        outputs={"last": "auction bigint, bidder bigint, price bigint, dateTime timestamp"},
        name="last",
    )
    network.output("result", last)
    return network


def last_bid(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Of bids in one moment the one that came last."""
    closed = inputs["closed"]
    auction, bidder = by_auction(closed), numbers(closed.rows, "bidder")
    order = np.lexsort((numbers(closed.rows, "dateTime"), bidder, auction))
    together = (np.diff(auction[order]) == 0) & (np.diff(bidder[order]) == 0)
    chosen = order[np.concatenate([~together, [True]])[: len(order)]]
    return {"last": caused(closed, closed.rows.select(FIELDS).take(pa.array(chosen)), auction[chosen])}
