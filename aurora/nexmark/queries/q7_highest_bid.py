"""Query 7: the highest bid of every ten minutes, with all that tie.

SELECT bid.price, bid.itemid
FROM bid where bid.price =
  (SELECT MAX(bid.price) FROM bid [FIXEDRANGE 10 MINUTES PRECEDING]);
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["HighestBid", "highest_bid"]

FIELDS = ("auction", "bidder", "price", "dateTime")


def highest_bid(rules: Rules) -> Network:
    network = Network("q7 highest bid")
    events = event_stream(network, rules).map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": "bid.price",
            "dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)",
        },
        name="bids",
    )
    highest = network.user(
        HighestBid(rules.highest_bid, rules.bound),
        inputs={"events": dated(network, events)},
        outputs={
            "highest": "auction bigint, bidder bigint, price bigint, dateTime timestamp, window_end timestamp"
        },
        name="highest",
    )
    network.output("result", highest)
    return network


@dataclass(frozen=True)
class HighestBid:
    """Keeps of each open window the bids that nobody has topped yet."""

    size: int
    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        bids = clock.on_time & there(events.rows, "auction")
        known = loaded(turn, "bids", " ".join(FIELDS))
        bid = {name: np.concatenate([known[name], numbers(events.rows, name)[bids]]) for name in FIELDS}
        number, window = np.unique(bid["dateTime"] // self.size, return_inverse=True)
        top = np.full(len(number), np.iinfo(np.int64).min)
        np.maximum.at(top, window, bid["price"])
        untopped = np.flatnonzero(bid["price"] == top[window])
        end = (number[window[untopped]] + 1) * self.size
        closed = end <= clock.after
        keep = untopped[~closed]
        stored(turn, "bids", {name: column[keep] for name, column in bid.items()})
        # By window, and inside a window as they came.
        order = np.argsort(end[closed], kind="stable")
        chosen, end = untopped[closed][order], end[closed][order]
        times = pa.timestamp("us", tz="UTC")
        rows = pa.record_batch(
            {name: pa.array(column[chosen]) for name, column in bid.items()} | {"window_end": pa.array(end)}
        )
        for name in ("dateTime", "window_end"):
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, rows.column(name).cast(times))
        return {"highest": caused(events, rows, clock.ends(end))}
