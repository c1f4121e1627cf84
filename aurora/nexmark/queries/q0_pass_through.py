"""Query 0: every event as it is, which measures the harness itself."""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["pass_through"]


def pass_through(rules: Rules) -> Network:
    network = Network("q0 pass-through")
    events = event_stream(network, rules)
    # An object of none of the kinds is no event.
    known = " OR ".join(f"{kind} IS NOT NULL" for kind in events.schema.names)
    network.output("result", events.filter(known, name="known"))
    return network
