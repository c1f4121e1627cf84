"""Query 13 of the suites in use: bids with a value of a bounded side input.

SELECT B.auction, B.bidder, B.price, B.dateTime, S.value
FROM bid B JOIN side_input S ON mod(B.auction, 10000) = S.key;
"""

import pyarrow as pa

from aurora import Memory, Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["side_input", "side_rows"]

KEYS = 10_000
SIDE = "key bigint, value string"


def side_rows() -> Memory:
    """A value for each key, as the suites have them."""
    keys = list(range(KEYS))
    return Memory.of(SIDE, pa.record_batch({"key": keys, "value": [str(key) for key in keys]}))


def side_input(rules: Rules) -> Network:
    network = Network("q13 bounded side input")
    events, side = event_stream(network, rules), network.table("side", SIDE)
    bids = events.filter("bid IS NOT NULL", name="bids").map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": "bid.price",
            "dateTime": "bid.dateTime",
            "side": f"bid.auction % {KEYS}",
        },
        name="keyed",
    )
    joined = bids.join(side, "left.side = right.key", name="joined")
    fields = ("auction", "bidder", "price", "dateTime", "value")
    network.output("result", joined.map({name: name for name in fields}, name="valued"))
    return network
