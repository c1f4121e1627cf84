"""Query 5: the items with the most bids of the last hour, every minute.

SELECT bid.itemid
FROM bid [RANGE 60 MINUTES PRECEDING]
WHERE (SELECT COUNT(bid.itemid)
       FROM bid [PARTITION BY bid.itemid RANGE 60 MINUTES PRECEDING])
       >= ALL (SELECT COUNT(bid.itemid)
              FROM bid [PARTITION BY bid.itemid RANGE 60 MINUTES PRECEDING]);
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora import Network, Train, Turn, caused
from aurora.nexmark.queries.clock import Ints, clock_of, dated, loaded, numbers, stored, there
from aurora.nexmark.queries.counting import counted
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["HotItems", "hot_items"]


def hot_items(rules: Rules) -> Network:
    network = Network("q5 hot items")
    size, advance = rules.hot_items
    events = event_stream(network, rules).map(
        {"dateTime": "coalesce(bid.dateTime, auction.dateTime, person.dateTime)", "auction": "bid.auction"},
        name="bids",
    )
    hottest = network.user(
        HotItems(size, advance, rules.bound),
        inputs={"events": dated(network, events)},
        outputs={"hottest": "auction bigint, num bigint, window_start timestamp, window_end timestamp"},
        name="hottest",
    )
    network.output("result", hottest)
    return network


@dataclass(frozen=True)
class HotItems:
    """Counts bids by pane, the part of a window up to the next window's start; a window is a run of panes."""

    size: int
    advance: int
    lateness: int

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        clock = clock_of(events, turn, self.lateness)
        bids = clock.on_time & there(events.rows, "auction")
        known = loaded(turn, "counts", "pane auction num")
        pane, auction, num = counted(
            np.concatenate([known["pane"], clock.times[bids] // self.advance]),
            np.concatenate([known["auction"], numbers(events.rows, "auction")[bids]]),
            np.concatenate([known["num"], np.ones(int(bids.sum()), np.int64)]),
        )
        found = [
            self._hottest(start, pane, auction, num)
            for start in self._closing(pane, clock.before, clock.after)
        ]
        open_ = pane * self.advance + self.size > clock.after
        stored(turn, "counts", {"pane": pane[open_], "auction": auction[open_], "num": num[open_]})
        if not found:
            return {}
        start, hot, most = (np.concatenate(column) for column in zip(*found, strict=True))
        times = pa.timestamp("us", tz="UTC")
        rows = pa.record_batch(
            {
                "auction": hot,
                "num": most,
                "window_start": pa.array(start).cast(times),
                "window_end": pa.array(start + self.size).cast(times),
            }
        )
        return {"hottest": caused(events, rows, clock.ends(start + self.size))}

    def _closing(self, pane: Ints, before: int, after: int) -> list[int]:
        """The starts of the windows that hold bids and close now."""
        back = np.arange(-(-self.size // self.advance)) * self.advance
        starts = np.unique(np.unique(pane)[:, None] * self.advance - back)
        ends = starts + self.size
        return [int(start) for start in starts[(ends > before) & (ends <= after)]]

    def _hottest(self, start: int, pane: Ints, auction: Ints, num: Ints) -> tuple[Ints, Ints, Ints]:
        low, high = np.searchsorted(pane, [start // self.advance, (start + self.size) // self.advance])
        _, item, total = counted(np.zeros(high - low, np.int64), auction[low:high], num[low:high])
        most = total.max()
        hot = item[total == most]
        return np.full(len(hot), start), hot, np.full(len(hot), most)
