"""Query 3: items of category 10 that somebody in Oregon puts up for auction.

SELECT person.name, person.city, person.state, open_auction.id
FROM open_auction, person, item
WHERE open_auction.sellerId = person.id AND person.state = 'OR'
  AND open_auction.itemid = item.id AND item.categoryId = 10;
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import equal_pairs
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["LocalItems", "local_items"]

CATEGORY = 10


def local_items(rules: Rules) -> Network:
    network = Network("q3 local item suggestion")
    states = ", ".join(f"'{state}'" for state in rules.states)
    near, wanted = f"person.state IN ({states})", f"auction.category = {CATEGORY}"
    events = event_stream(network, rules).map(
        {
            "dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)",
            "person": f"if({near}, person.id, CAST(NULL AS bigint))",
            "name": f"if({near}, person.name, CAST(NULL AS string))",
            "city": f"if({near}, person.city, CAST(NULL AS string))",
            "state": f"if({near}, person.state, CAST(NULL AS string))",
            "auction": f"if({wanted}, auction.id, CAST(NULL AS bigint))",
            "seller": "auction.seller",
            "expires": "auction.expires",
        },
        name="items",
    )
    local = network.user(
        LocalItems(rules.bound),
        inputs={"events": dated(network, events, "person", "auction")},
        outputs={"local": "name string, city string, state string, id bigint"},
        name="local",
    )
    network.output("result", local)
    return network


@dataclass(frozen=True)
class LocalItems:
    """Keeps the persons, and the auctions until they close; a pair comes out with the later of the two."""

    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        comes = np.flatnonzero(clock.on_time & there(events.rows, "person"))
        opens = np.flatnonzero(clock.on_time & there(events.rows, "auction"))
        persons, old_persons = _persons(events, comes, turn)
        known = loaded(turn, "auctions", "auction seller expires")
        auctions = {
            name: np.concatenate([column, numbers(events.rows, name)[opens]])
            for name, column in known.items()
        }
        open_ = auctions["expires"] >= clock.after
        stored(turn, "auctions", {name: column[open_] for name, column in auctions.items()})
        a, p = equal_pairs(auctions["seller"], numbers(persons, "person"))
        # Of two that were here before, the pair has come out already.
        fresh = (a >= len(known["auction"])) | (p >= old_persons)
        still_open = auctions["expires"][a] >= numbers(persons, "dateTime")[p]
        a, p = a[fresh & still_open], p[fresh & still_open]
        cause = np.maximum(_arrivals(opens, len(known["auction"]))[a], _arrivals(comes, old_persons)[p])
        order = np.argsort(cause, kind="stable")
        rows = persons.select(["name", "city", "state"]).take(pa.array(p[order]))
        rows = rows.append_column("id", pa.array(auctions["auction"][a[order]]))
        return {"local": caused(events, rows, cause[order])}


def _persons(events: Train, comes: Ints, turn: Turn) -> tuple[pa.RecordBatch, int]:
    """All persons, and how many of them were here before."""
    rows = events.rows.select(["person", "name", "city", "state", "dateTime"]).take(pa.array(comes))
    known = turn.state.get("persons")
    if known is None:
        turn.state.put("persons", rows)
        return rows, 0
    if len(comes) == 0:
        return known, known.num_rows
    both = pa.concat_batches([known, rows])
    turn.state.put("persons", both)
    return both, known.num_rows


def _arrivals(index: Ints, before: int) -> Ints:
    """The event of each row, -1 for those that were here before."""
    return np.concatenate([np.full(before, -1), index])
