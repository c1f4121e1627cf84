"""Query 20 of the suites in use: bids on auctions of category 10, with the auction.

SELECT auction, bidder, price, channel, url, B.dateTime, itemName, description, initialBid, reserve, expires, seller
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id
WHERE A.category = 10;
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, Mask, clock_of, dated, numbers, there
from aurora.nexmark.queries.counting import equal_pairs
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["ExpandedBids", "expanded_bids"]

CATEGORY = 10
BID = ["auction", "bidder", "price", "channel", "url", "dateTime"]
AUCTION = ["itemName", "initialBid", "reserve", "expires", "seller"]


def expanded_bids(rules: Rules) -> Network:
    network = Network("q20 expanded bids")
    fields = {name: f"bid.{name}" for name in BID} | {name: f"auction.{name}" for name in AUCTION}
    time = "coalesce(bid.dateTime, auction.dateTime, person.dateTime)"
    number = f"if(auction.category = {CATEGORY}, auction.id, CAST(NULL AS bigint))"
    events = event_stream(network, rules).map(fields | {"dateTime": time, "id": number}, name="bids")
    expanded = network.user(
        ExpandedBids(rules.bound),
        inputs={"events": dated(network, events)},
        outputs={
            "expanded": "auction bigint, bidder bigint, price bigint, channel string, url string, dateTime timestamp, "
            "itemName string, initialBid bigint, reserve bigint, expires timestamp, seller bigint"
        },
        name="expanded",
    )
    network.output("result", expanded)
    return network


@dataclass(frozen=True)
class ExpandedBids:
    """Keeps the open auctions, and bids whose auction may still come; a pair comes out with the later of the two."""

    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        auctions, opened = _kept(
            turn, "auctions", events, clock.on_time & there(events.rows, "id"), ["id", *AUCTION, "dateTime"]
        )
        bids, placed = _kept(turn, "bids", events, clock.on_time & there(events.rows, "auction"), BID)
        expires, time = numbers(auctions, "expires"), numbers(bids, "dateTime")
        b, a = equal_pairs(numbers(bids, "auction"), numbers(auctions, "id"))
        # Of two that were here before, the pair has come out already.
        good = ((opened[a] >= 0) | (placed[b] >= 0)) & (time[b] >= numbers(auctions, "dateTime")[a])
        good &= time[b] <= expires[a]
        b, a = b[good], a[good]
        turn.state.put("auctions", auctions.filter(pa.array(expires >= clock.after)))
        turn.state.put("bids", bids.filter(pa.array(time >= clock.after)))
        cause = np.maximum(opened[a], placed[b])
        order = np.argsort(cause, kind="stable")
        left, right = bids.take(pa.array(b[order])), auctions.select(AUCTION).take(pa.array(a[order]))
        rows = pa.RecordBatch.from_arrays([*left.columns, *right.columns], names=[*BID, *AUCTION])
        return {"expanded": caused(events, rows, cause[order])}


def _kept(
    turn: Turn, name: str, events: Train, fresh: Mask, fields: list[str]
) -> tuple[pa.RecordBatch, Ints]:
    """The rows that were kept and the fresh ones, and the event of each, -1 for those that were here before."""
    index = np.flatnonzero(fresh)
    rows = events.rows.select(fields).take(pa.array(index))
    known = turn.state.get(name)
    if known is None:
        return rows, index
    return pa.concat_batches([known, rows]), np.concatenate([np.full(known.num_rows, -1), index])
