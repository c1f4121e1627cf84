"""Query 8: who opens an auction in the window in which they registered.

SELECT person.id, person.name
FROM person [RANGE 12 HOURS PRECEDING], open_auction [RANGE 12 HOURS PRECEDING]
WHERE person.id = open_auction.sellerId;
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, clock_of, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import among, counted
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["NewUsers", "new_users"]


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
    users = network.user(
        NewUsers(rules.new_users, rules.bound),
        inputs={"events": events.filter("dateTime IS NOT NULL", name="dated")},
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
