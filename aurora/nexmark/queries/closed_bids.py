"""The bids of each auction, all together when it closes: what queries 9, 18 and 19 have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Stream, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import found_in
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["ClosedBids", "bids_of_closed_auctions", "by_auction"]

AUCTION = {"id": "id", "opened": "dateTime", "expires": "expires", "reserve": "reserve", "seller": "seller"}
BID = ("auction", "bidder", "price", "dateTime")
FIELDS = (
    "auction bigint, bidder bigint, price bigint, dateTime timestamp, "
    "reserve bigint, seller bigint, expires timestamp"
)


def bids_of_closed_auctions(network: Network, rules: Rules) -> Stream:
    """By expiry and id of their auctions, and as they came; each bid was placed from the opening to the expiry."""
    events = event_stream(network, rules).map(
        {
            "dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)",
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": "bid.price",
            "id": "auction.id",
            "expires": "auction.expires",
            "reserve": "auction.reserve",
            "seller": "auction.seller",
        },
        name="bids",
    )
    return network.user(
        ClosedBids(rules.bound),
        inputs={"events": dated(network, events)},
        outputs={"closed": FIELDS},
        name="closed",
    )


@dataclass(frozen=True)
class ClosedBids:
    """Keeps the open auctions, and the bids on them or on such as may still come."""

    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        opens = np.flatnonzero(clock.on_time & there(events.rows, "id"))
        auctions = _with_new(loaded(turn, "auctions", " ".join(AUCTION)), events, opens, AUCTION)
        _, first = np.unique(auctions["id"], return_index=True)
        auctions = {name: column[first] for name, column in auctions.items()}
        placed = np.flatnonzero(clock.on_time & there(events.rows, "auction"))
        bids = _with_new(
            loaded(turn, "bids", " ".join(BID)), events, placed, dict(zip(BID, BID, strict=True))
        )
        place, time = found_in(auctions["id"], bids["auction"]), bids["dateTime"]
        waits = (place < 0) & (time >= clock.after)
        known = np.flatnonzero(place >= 0)
        own = place[known]
        good = (time[known] >= auctions["opened"][own]) & (time[known] <= auctions["expires"][own])
        closed = auctions["expires"] < clock.after
        kept = waits.copy()
        kept[known] = good & ~closed[own]
        stored(turn, "bids", {name: column[kept] for name, column in bids.items()})
        stored(turn, "auctions", {name: column[~closed] for name, column in auctions.items()})
        leaving = known[good & closed[own]]
        of = place[leaving]
        order = np.lexsort((auctions["id"][of], auctions["expires"][of]))
        leaving, of = leaving[order], of[order]
        times = pa.timestamp("us", tz="UTC")
        rows = pa.record_batch(
            {name: pa.array(column[leaving]) for name, column in bids.items()}
            | {name: pa.array(auctions[name][of]) for name in ("reserve", "seller", "expires")}
        )
        for name in ("dateTime", "expires"):
            rows = rows.set_column(rows.schema.get_field_index(name), name, rows.column(name).cast(times))
        return {"closed": caused(events, rows, clock.passes(auctions["expires"][of]))}


def _with_new(
    known: dict[str, Ints], events: Train, index: Ints, fields: Mapping[str, str]
) -> dict[str, Ints]:
    return {
        name: np.concatenate([known[name], numbers(events.rows, field)[index]])
        for name, field in fields.items()
    }


def by_auction(closed: Train) -> Ints:
    """For each bid the place of the first one on the same auction: those of one auction stand together."""
    auction = numbers(closed.rows, "auction")
    changed = np.concatenate([[True], auction[1:] != auction[:-1]])[: len(auction)]
    return np.maximum.accumulate(np.where(changed, np.arange(len(auction)), 0))
