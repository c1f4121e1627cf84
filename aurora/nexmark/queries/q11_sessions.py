"""Query 11 of the suites in use: how often each user bids in a session, which a pause of more than 10 s ends.

SELECT bidder, count(*) AS bid_count, SESSION_START(dateTime, INTERVAL '10' SECOND), SESSION_END(..)
FROM bid GROUP BY bidder, SESSION(dateTime, INTERVAL '10' SECOND);
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.events import SECOND, Rules, event_stream

__all__ = ["Sessions", "sessions"]

PAUSE = 10 * SECOND


def sessions(rules: Rules) -> Network:
    network = Network("q11 user sessions")
    events = event_stream(network, rules).map(
        {"dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)", "bidder": "bid.bidder"},
        name="bids",
    )
    ended = network.user(
        Sessions(PAUSE, rules.bound),
        inputs={"events": dated(network, events)},
        outputs={"sessions": "bidder bigint, bid_count bigint, starttime timestamp, endtime timestamp"},
        name="sessions",
    )
    network.output("result", ended)
    return network


@dataclass(frozen=True)
class Sessions:
    """Keeps the sessions that may go on: a session is a run of bids of one user with no pause in between."""

    pause: int
    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        bids = clock.on_time & there(events.rows, "bidder")
        known = loaded(turn, "sessions", "bidder start last count")
        bidder = np.concatenate([known["bidder"], numbers(events.rows, "bidder")[bids]])
        start = np.concatenate([known["start"], clock.times[bids]])
        last = np.concatenate([known["last"], clock.times[bids]])
        count = np.concatenate([known["count"], np.ones(int(bids.sum()), np.int64)])
        order = np.lexsort((start, bidder))
        bidder, start, last, count = bidder[order], start[order], last[order], count[order]
        while True:
            # A bid inside a long session hides where that ends, until both are one.
            apart = (bidder[1:] != bidder[:-1]) | (start[1:] > last[:-1] + self.pause)
            if apart.all():
                break
            begins = np.flatnonzero(np.concatenate([[True], apart]))
            bidder, start = bidder[begins], start[begins]
            last, count = np.maximum.reduceat(last, begins), np.add.reduceat(count, begins)
        over = last + self.pause < clock.after
        kept = {"bidder": bidder, "start": start, "last": last, "count": count}
        stored(turn, "sessions", {name: column[~over] for name, column in kept.items()})
        ended = np.flatnonzero(over)
        ended = ended[np.lexsort((bidder[ended], last[ended]))]
        end = last[ended] + self.pause
        times = pa.timestamp("us", tz="UTC")
        rows = pa.record_batch(
            {
                "bidder": bidder[ended],
                "bid_count": count[ended],
                "starttime": pa.array(start[ended]).cast(times),
                "endtime": pa.array(end).cast(times),
            }
        )
        return {"sessions": caused(events, rows, clock.passes(end))}
