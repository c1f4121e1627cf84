"""Query 21 of the suites in use: the channel of each bid as a number, from its name or from its url.

SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' .. 'google' .. 'facebook' .. 'baidu'
  ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid
WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
  OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');
"""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["channels"]

FOUND = "regexp_extract(bid.url, '(&|^)channel_id=([^&]*)', 2)"
KNOWN = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}


def channels(rules: Rules) -> Network:
    network = Network("q21 channels")
    names = ", ".join(f"'{name}'" for name in KNOWN)
    told = event_stream(network, rules).filter(
        f"{FOUND} <> '' OR lower(bid.channel) IN ({names})", name="told"
    )
    cases = " ".join(f"WHEN lower(bid.channel) = '{name}' THEN '{number}'" for name, number in KNOWN.items())
    numbered = told.map(
        {
            "auction": "bid.auction",
            "bidder": "bid.bidder",
            "price": "bid.price",
            "channel": "bid.channel",
            "channel_id": f"CASE {cases} ELSE {FOUND} END",
        },
        name="numbered",
    )
    network.output("result", numbered)
    return network
