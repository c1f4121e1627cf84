"""Where tuples go: which outputs each stream leads to, how many tuples pass there, and what one costs from there on."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from aurora.adapt.figures import Figures
from aurora.network.network import Network, Port

__all__ = ["Flow", "find_flows", "find_topmost"]


# To pass over a row costs about what is left of its reading.
SKIPPED = 0.6


@dataclass(frozen=True)
class Flow:
    """A stream. `ends` are the outputs and points that it leads to, `live` whether its tuples come while it runs.

    `rate` are its tuples in a second, `cost` the seconds of one core that a tuple costs from there on. `above` are the
    streams that it comes from, next to it.
    """

    port: Port
    ends: frozenset[str]
    rate: float
    cost: float
    above: tuple[Port, ...] = ()
    live: bool = False


def find_flows(
    network: Network, figures: Figures, ends: Mapping[str, Port], skipping: Collection[str] = ()
) -> dict[Port, Flow]:
    """The streams of a network that lead to one of the `ends`, from the inputs on.

    Rows of the inputs in `skipping` need not even be read where they are left out.
    """
    leading: dict[Port, set[str]] = {}
    for name, port in ends.items():
        leading.setdefault(port, set()).add(name)
    cost: dict[Port, float] = {}
    for box in reversed(network.boxes.values()):
        ports = [Port(box.name, name) for name in box.operator.outputs]
        reached = set[str]().union(*(leading.get(port, set()) for port in ports))
        if not reached:
            continue
        known = figures.boxes.get(box.name)
        behind = 0.0
        if known is not None:
            shares = ((known.selectivity.get(port.port, 0.0), cost.get(port, 0.0)) for port in ports)
            behind = known.cost + sum(share * each for share, each in shares)
        for port in network.streams(box):
            leading.setdefault(port, set()).update(reached)
            cost[port] = cost.get(port, 0.0) + behind
    # What drop boxes leave out is counted as given: these are the rates without them.
    found: dict[Port, Flow] = {}
    for name, read in figures.inputs.items():
        port = Port(name)
        if port in leading:
            own = figures.per_row + cost.get(port, 0.0)
            own += SKIPPED * read.cost if name in skipping else 0.0
            found[port] = Flow(port, frozenset(leading[port]), read.rate, own, (), read.live)
    for box in network.boxes.values():
        streams = network.streams(box)
        known = figures.boxes.get(box.name)
        taken = sum(found[port].rate for port in streams if port in found)
        for name in box.operator.outputs:
            port = Port(box.name, name)
            if port in leading:
                rate = taken * known.selectivity.get(name, 0.0) if known is not None else 0.0
                live = any(found[above].live for above in streams if above in found)
                ways = frozenset(leading[port])
                found[port] = Flow(port, ways, rate, cost.get(port, 0.0), tuple(streams), live)
    return found


def find_topmost(flows: Mapping[Port, Flow], ends: Collection[str]) -> list[Flow]:
    """The streams that lead to just these ends, and come from none that does: as far upstream as can be."""
    own = frozenset(ends)
    return [
        flow
        for flow in flows.values()
        if flow.ends == own and not any(above in flows and flows[above].ends == own for above in flow.above)
    ]
