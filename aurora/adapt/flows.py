"""Where tuples go: to which outputs a stream or an arc leads, how many pass there, and what one costs from there on."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from aurora.adapt.figures import Figures
from aurora.network.network import Network, Port

__all__ = [
    "STATE",
    "Flow",
    "Place",
    "complete_rates",
    "find_behind",
    "find_flows",
    "find_row_cost",
    "find_topmost",
]

# To pass over a row costs about what is left of its reading.
SKIPPED = 0.6

# Begins the name of the end that a box with lasting state is.
STATE = "state of "

# A stream, or with the name of a box the arc of it that leads there.
Place = tuple[Port, str]


@dataclass(frozen=True)
class Flow:
    """A stream, or an arc of it. `ends` are the outputs and points that it leads to, and the boxes that store its
    tuples for good; `live` says whether its tuples come while the network runs.

    `rate` are its tuples in a second, `cost` the seconds of one core that a tuple costs from there on. `above` are the
    places that it comes from, next to it.
    """

    place: Place
    ends: frozenset[str]
    rate: float
    cost: float
    above: tuple[Place, ...] = ()
    live: bool = False


def find_flows(
    network: Network,
    figures: Figures,
    ends: Mapping[str, Port],
    skipping: Collection[str] = (),
    handed: Mapping[str, Collection[str]] | None = None,
) -> dict[Place, Flow]:
    """The streams of a network that lead to one of the `ends`, and the arcs of those that several read.

    A stream also leads to the boxes that go by its clock; its arcs do not. Rows of the inputs in `skipping` need not
    even be read where they are left out. Streams that are `handed` over to the part that may wait, and to which boxes
    there, cost so much more.
    """
    leading: dict[Port, set[str]] = {}
    ways: dict[Port, dict[str, tuple[frozenset[str], float]]] = {}
    for name, port in ends.items():
        leading.setdefault(port, set()).add(name)
    direct = {port: len(names) for port, names in leading.items()}
    handing = 0.0 if figures.later is None else figures.later.per_row
    cost: dict[Port, float] = {network.find(name, "handed"): handing for name in handed or {}}
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
        for number, port in enumerate(network.streams(box)):
            # No output has such a name, so none has a graph by which these tuples could be left out.
            kept = {f"{STATE}{box.name}"} if number in box.lasting else set()
            leading.setdefault(port, set()).update(reached, kept)
            cost[port] = cost.get(port, 0.0) + behind
            known_way, _ = ways.setdefault(port, {}).get(box.name, (frozenset(), 0.0))
            ways[port][box.name] = known_way | reached | kept, behind
        for port in set(box.clocks).difference(box.inputs):
            leading.setdefault(port, set()).update(reached)
            direct[port] = direct.get(port, 0) + 1
    found: dict[Place, Flow] = {}

    def add(flow: Flow) -> None:
        found[flow.place] = flow
        port, own = flow.place[0], ways.get(flow.place[0], {})
        if len(own) + direct.get(port, 0) > 1:
            readers = (handed or {}).get(str(port), ())
            for name, (reached, behind) in own.items():
                # Where several boxes get it, it is handed over once.
                whole = behind + (handing if set(readers) == {name} else 0.0)
                found[port, name] = Flow((port, name), reached, flow.rate, whole, (flow.place,), flow.live)

    # What drop boxes leave out is counted as given: these are the rates without them.
    for name, read in figures.inputs.items():
        port = Port(name)
        if port in leading:
            own = figures.per_row + cost.get(port, 0.0)
            own += SKIPPED * read.cost if name in skipping else 0.0
            add(Flow((port, ""), frozenset(leading[port]), read.rate, own, (), read.live))
    for box in network.boxes.values():
        above = [
            (port, box.name) if (port, box.name) in found else (port, "")
            for port in network.streams(box)
            if (port, "") in found
        ]
        known = figures.boxes.get(box.name)
        taken = sum(found[place].rate for place in above)
        for name in box.operator.outputs:
            port = Port(box.name, name)
            if port in leading:
                rate = taken * known.selectivity.get(name, 0.0) if known is not None else 0.0
                live = any(found[place].live for place in above)
                add(Flow((port, ""), frozenset(leading[port]), rate, cost.get(port, 0.0), tuple(above), live))
    return found


def find_row_cost(
    network: Network,
    figures: Figures,
    ends: Mapping[str, Port],
    handed: Mapping[str, Collection[str]] | None = None,
) -> float:
    """The seconds of one core that a row, mixed as they come now, costs on its whole way if none is left out."""
    if not figures.rate:
        return figures.per_row
    flows = find_flows(network, figures, ends, handed=handed)
    total = 0.0
    for name, read in figures.inputs.items():
        flow = flows.get((Port(name), ""))
        total += read.rate * (read.cost + (figures.per_row if flow is None else flow.cost))
    return total / figures.rate


def find_topmost(flows: Mapping[Place, Flow], ends: Collection[str]) -> list[Flow]:
    """The places that lead to just these ends, and come from none that does: as far upstream as can be."""
    own = frozenset(ends)
    return [
        flow
        for flow in flows.values()
        if flow.ends == own and not any(above in flows and flows[above].ends == own for above in flow.above)
    ]


def find_behind(network: Network, ends: Mapping[str, Port], port: Port, box: str = "") -> frozenset[str]:
    """The ends that a stream, or the arc of it to a box, leads to."""
    first = [Port(box, name) for name in network.boxes[box].operator.outputs] if box else [port]
    found, pending, seen = set[str](), first, set[Port]()
    while pending:
        port = pending.pop()
        if port in seen:
            continue
        seen.add(port)
        found |= {name for name, end in ends.items() if end == port}
        pending += [
            Port(each.name, name)
            for each in network.boxes.values()
            if port in (*each.inputs, *each.clocks)
            for name in each.operator.outputs
        ]
    return frozenset(found)


def complete_rates(network: Network, figures: Figures, boxes: Collection[str]) -> Figures:
    """The figures with the rates that these boxes would have if nothing in front of them waited."""
    rates = {Port(name): read.rate for name, read in figures.inputs.items()}
    known = dict(figures.boxes)
    for box in network.boxes.values():
        own = known.get(box.name)
        if own is None:
            continue
        taken = sum(rates.get(port, 0.0) for port in network.streams(box))
        if box.name in boxes:
            own = known[box.name] = replace(own, rate=taken)
        rates |= {Port(box.name, name): taken * share for name, share in own.selectivity.items()}
    return replace(figures, boxes=known)
