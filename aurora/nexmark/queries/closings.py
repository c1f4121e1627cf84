"""The auctions as they close: what queries 4, 6 and 9 have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Stream, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import found_in
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["Closings", "closing_auctions"]

AUCTION = "id opened expires reserve seller category best"
NO_BID = np.iinfo(np.int64).min


def closing_auctions(network: Network, rules: Rules) -> Stream:
    """The auctions that were sold, by expiry and then id, each when no more bid on it can come."""
    events = event_stream(network, rules).map(
        {
            "dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)",
            "auction": "bid.auction",
            "price": "bid.price",
            "id": "auction.id",
            "expires": "auction.expires",
            "reserve": "auction.reserve",
            "seller": "auction.seller",
            "category": "auction.category",
        },
        name="bids",
    )
    return network.user(
        Closings(rules.bound),
        inputs={"events": dated(network, events)},
        outputs={"closed": "id bigint, category bigint, seller bigint, expires timestamp, price bigint"},
        name="closed",
    )


@dataclass(frozen=True)
class Closings:
    """Keeps the best bid of each open auction, and the bids whose auction has not come yet."""

    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        auctions = self._auctions(events, np.flatnonzero(clock.on_time & there(events.rows, "id")), turn)
        bids = np.flatnonzero(clock.on_time & there(events.rows, "auction"))
        held = loaded(turn, "held", "auction price time")
        on = np.concatenate([held["auction"], numbers(events.rows, "auction")[bids]])
        price = np.concatenate([held["price"], numbers(events.rows, "price")[bids]])
        time = np.concatenate([held["time"], clock.times[bids]])
        place = found_in(auctions["id"], on)
        # An auction that comes later opens later: its bids cannot be older than what may still come.
        waits = (place < 0) & (time >= clock.after)
        stored(turn, "held", {"auction": on[waits], "price": price[waits], "time": time[waits]})
        known = place >= 0
        place, price, time = place[known], price[known], time[known]
        good = (time >= auctions["opened"][place]) & (time <= auctions["expires"][place])
        good &= price >= auctions["reserve"][place]
        np.maximum.at(auctions["best"], place[good], price[good])
        closed = auctions["expires"] < clock.after
        stored(turn, "auctions", {name: column[~closed] for name, column in auctions.items()})
        sold = np.flatnonzero(closed & (auctions["best"] > NO_BID))
        sold = sold[np.lexsort((auctions["id"][sold], auctions["expires"][sold]))]
        expires = auctions["expires"][sold]
        rows = pa.record_batch(
            {
                "id": auctions["id"][sold],
                "category": auctions["category"][sold],
                "seller": auctions["seller"][sold],
                "expires": pa.array(expires).cast(pa.timestamp("us", tz="UTC")),
                "price": auctions["best"][sold],
            }
        )
        return {"closed": caused(events, rows, clock.passes(expires))}

    def _auctions(self, events: Train, index: Ints, turn: Turn) -> dict[str, Ints]:
        """The open auctions with those that have just opened, by their ids."""
        known = loaded(turn, "auctions", AUCTION)
        fields = {"opened": "dateTime"}
        fresh = {
            name: numbers(events.rows, fields.get(name, name))[index]
            for name in AUCTION.split()
            if name != "best"
        }
        fresh["best"] = np.full(len(index), NO_BID)
        auctions = {name: np.concatenate([known[name], fresh[name]]) for name in known}
        # An id that comes twice is taken from its first event.
        _, first = np.unique(auctions["id"], return_index=True)
        return {name: column[first] for name, column in auctions.items()}
