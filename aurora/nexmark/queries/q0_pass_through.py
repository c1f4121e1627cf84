"""Query 0: every event as it is, which measures the harness itself."""

from aurora import Network
from aurora.nexmark.queries.events import Rules, event_stream

__all__ = ["pass_through"]


def pass_through(rules: Rules) -> Network:
    network = Network("q0 pass-through")
    network.output("result", event_stream(network, rules))
    return network
