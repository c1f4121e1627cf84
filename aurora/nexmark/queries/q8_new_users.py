"""Query 8: who opens an auction in the window in which they registered, or, in the draft, that begins so.

SELECT person.id, person.name
FROM person [RANGE 12 HOURS PRECEDING], open_auction [RANGE 12 HOURS PRECEDING]
WHERE person.id = open_auction.sellerId;
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, Mask, clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import among, counted
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["NewUsers", "OwnWindows", "new_users"]


def new_users(rules: Rules) -> Network:
    network = Network("q8 new users")
    events = event_stream(network, rules).map(
        {
            "dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)",
            "person": "person.id",
            "name": "person.name",
            "seller": "auction.seller",
        },
        name="people",
    )
    # The draft's window begins when a person registers, the standard one with the clock.
    kernel = (
        OwnWindows(rules.new_users, rules.bound) if rules.draft else NewUsers(rules.new_users, rules.bound)
    )
    users = network.user(
        kernel,
        inputs={"events": dated(network, events, "person", "seller")},
        outputs={"users": "id bigint, name string, window_start timestamp"},
        name="users",
    )
    network.output("result", users)
    return network


@dataclass(frozen=True)
class NewUsers:
    """Keeps the persons and the sellers of the open windows, and lets them meet when a window closes."""

    size: int
    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        window = clock.times // self.size
        persons = self._persons(
            events, np.flatnonzero(clock.on_time & there(events.rows, "person")), window, turn
        )
        sells = clock.on_time & there(events.rows, "seller")
        known = loaded(turn, "sellers", "window seller")
        sold_in, seller, _ = counted(
            np.concatenate([known["window"], window[sells]]),
            np.concatenate([known["seller"], numbers(events.rows, "seller")[sells]]),
            np.ones(len(known["window"]) + int(sells.sum()), np.int64),
        )
        open_ = (sold_in + 1) * self.size > clock.after
        stored(turn, "sellers", {"window": sold_in[open_], "seller": seller[open_]})
        own, number = numbers(persons, "window"), numbers(persons, "id")
        over = (own + 1) * self.size <= clock.after
        turn.state.put("persons", persons.filter(pa.array(~over)))
        met = np.flatnonzero(over & among(own, number, sold_in, seller))
        met = met[np.argsort(own[met], kind="stable")]
        start = own[met] * self.size
        rows = persons.select(["id", "name"]).take(pa.array(met))
        rows = rows.append_column("window_start", pa.array(start).cast(pa.timestamp("us", tz="UTC")))
        return {"users": caused(events, rows, clock.ends(start + self.size))}

    def _persons(self, events: Train, index: Ints, window: Ints, turn: Turn) -> pa.RecordBatch:
        rows = events.rows.select(["person", "name"]).take(pa.array(index)).rename_columns(["id", "name"])
        rows = rows.append_column("window", pa.array(window[index]))
        known = turn.state.get("persons")
        return rows if known is None else pa.concat_batches([known, rows])


@dataclass(frozen=True)
class OwnWindows:
    """Keeps each person until the window that began with the registration is over, and whether they have sold by then.

    A sale is kept only as long as a person of an earlier time may still arrive.
    """

    size: int
    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        sells = clock.on_time & there(events.rows, "seller")
        known = loaded(turn, "sales", "time seller")
        time = np.concatenate([known["time"], clock.times[sells]])
        seller = np.concatenate([known["seller"], numbers(events.rows, "seller")[sells]])
        persons = self._persons(events, clock.times, clock.on_time & there(events.rows, "person"), turn)
        since, number = numbers(persons, "time"), numbers(persons, "id")
        sold = numbers(persons, "sold") | self._sold(number, since, seller, time)
        recent = time >= clock.after
        stored(turn, "sales", {"time": time[recent], "seller": seller[recent]})
        over = since + self.size < clock.after
        kept = persons.set_column(3, "sold", pa.array(sold))
        turn.state.put("persons", kept.filter(pa.array(~over)))
        met = np.flatnonzero(over & (sold > 0))
        met = met[np.argsort(since[met], kind="stable")]
        rows = persons.select(["id", "name"]).take(pa.array(met))
        start = pa.array(since[met]).cast(pa.timestamp("us", tz="UTC"))
        cause = clock.passes(since[met] + self.size)
        return {"users": caused(events, rows.append_column("window_start", start), cause)}

    def _sold(self, person: Ints, since: Ints, seller: Ints, time: Ints) -> Ints:
        """1 for each person who has sold in the window: the first sale since the registration decides."""
        if not len(seller):
            return np.zeros(len(person), np.int64)
        _, rank = np.unique(np.concatenate([time, since]), return_inverse=True)
        _, name = np.unique(np.concatenate([seller, person]), return_inverse=True)
        # One number for person and time: of the sales, sorted so, the first from the registration on is the next.
        place = name * np.int64(len(rank)) + rank
        order = np.argsort(place[: len(seller)])
        following = np.searchsorted(place[: len(seller)][order], place[len(seller) :])
        sale = order[np.minimum(following, len(order) - 1)]
        sold: Mask = (following < len(order)) & (seller[sale] == person) & (time[sale] <= since + self.size)
        return sold.astype(np.int64)

    def _persons(self, events: Train, times: Ints, new: Mask, turn: Turn) -> pa.RecordBatch:
        index = np.flatnonzero(new)
        rows = events.rows.select(["person", "name"]).take(pa.array(index)).rename_columns(["id", "name"])
        rows = rows.append_column("time", pa.array(times[index]))
        rows = rows.append_column("sold", pa.array(np.zeros(len(index), np.int64)))
        known = turn.state.get("persons")
        return rows if known is None else pa.concat_batches([known, rows])
