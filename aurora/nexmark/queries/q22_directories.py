"""Query 22 of the suites in use: the directories of each bid's url.

SELECT auction, bidder, price, channel,
  SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3
FROM bid;
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["directories"]


def directories(rules: Rules) -> Network:
    network = Network("q22 directories")
    bids = event_stream(network, rules).filter("bid IS NOT NULL", name="bids")
    parts = {
        f"dir{number}": f"regexp_extract(bid.url, '^(?:[^/]*/){{{number + 2}}}([^/]*)', 1)"
        for number in (1, 2, 3)
    }
    fields = {name: f"bid.{name}" for name in ("auction", "bidder", "price", "channel")}
    network.output("result", bids.map(fields | parts, name="split"))
    return network
