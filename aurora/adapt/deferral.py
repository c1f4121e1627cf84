"""Which part of a network may wait: the boxes that lead only to outputs that lose little by waiting.

That part becomes a network of its own behind points on the arcs between the two. Its trains wait there, durable, while
the rest of the network needs all there is.
"""

import math
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from aurora.algebra.tuples.schema import Schema
from aurora.engine.plan.projection import project_inputs
from aurora.network.boxes import with_clocks, with_references
from aurora.network.network import Box, Input, Network, Output, Port
from aurora.network.points import Keep, Point
from aurora.network.qos import Qos, find_zone

__all__ = ["ARC", "Split", "find_patient", "split_network"]

# The points between the two parts have names that begin like this, which no point of a user's has.
ARC = "##"
# An output can wait if its good zone is so many times as long as the shortest one.
PATIENT = 4.0


@dataclass(frozen=True)
class Split:
    """A network in two: `urgent` has points on its arcs to `later`, whose inputs are those points."""

    urgent: Network
    later: Network

    @property
    def zone(self) -> float:
        """The shortest good zone, in seconds."""
        return find_zone(output.qos for output in self.urgent.outputs.values())

    @property
    def handed(self) -> dict[str, frozenset[str]]:
        """The streams that are handed over to `later`, and its boxes that take each."""
        return {
            point.name.removeprefix(ARC): frozenset(
                box.name for box in self.later.boxes.values() if name in map(str, box.inputs)
            )
            for name, point in self.arcs.items()
        }

    @property
    def arcs(self) -> dict[str, Point]:
        """The points between the two, by the input of `later` that takes them."""
        return {
            name: self.urgent.points[entry.point]
            for name, entry in self.later.inputs.items()
            if entry.point is not None
        }


def find_patient(outputs: Mapping[str, Qos | None]) -> set[str]:
    """The outputs that can wait while others cannot; one without a latency graph is never among them."""
    zones = {name: qos.latency.good_until for name, qos in outputs.items() if qos and qos.latency}
    shortest = min(zones.values(), default=math.inf)
    return {name for name, zone in zones.items() if zone >= PATIENT * shortest}


def split_network(network: Network, sinks: Collection[str]) -> Split | None:
    """The network in two, for runs with these sinks; None if nothing of it can wait."""
    outputs = {name: output for name, output in network.outputs.items() if name in sinks}
    patient = find_patient({name: output.qos for name, output in outputs.items()})
    # What a view or point keeps must be there when its time has come.
    patient -= network.points.keys()
    needed = [output.port for name, output in outputs.items() if name not in patient]
    needed += [point.port for point in network.points.values()]
    needed += [output.port for name, output in network.outputs.items() if name in network.points]
    at_once = _find_upstream(network, needed)
    leading = _find_upstream(network, [outputs[name].port for name in patient]) - at_once
    patient = {name for name in patient if outputs[name].port.box in leading}
    waiting = [box for box in network.boxes.values() if box.name in leading]
    if not waiting or not needed:
        return None
    # In the order of the network: that of a set is another one in each process.
    later = _later_part(network, waiting, [output for name, output in outputs.items() if name in patient])
    if later is None:
        return None
    return Split(_urgent_part(network, leading, patient, later), later)


def _find_upstream(network: Network, ports: list[Port]) -> set[str]:
    """The boxes that lead to these streams, with those that share relations with them."""
    found: set[str] = set()
    pending = [port.box for port in ports]
    while pending:
        name = pending.pop()
        if name not in network.boxes or name in found:
            continue
        found.add(name)
        box = network.boxes[name]
        pending += [port.box for port in (*box.inputs, *box.clocks)]
        shared = set(box.operator.traits.relations)
        pending += [
            other.name for other in network.boxes.values() if shared & set(other.operator.traits.relations)
        ]
    return found


def _later_part(network: Network, waiting: list[Box], outputs: list[Output]) -> Network | None:
    """The boxes that wait, with an input for each stream that comes from the others, narrowed to what is needed.

    None if no order of these inputs gives what the whole network gives.
    """
    later = Network(f"{network.name} later", latency_from=network.latency_from)
    later.path = network.path
    own = {box.name for box in waiting}
    for box in waiting:
        names: dict[Port, str] = {}
        for port in (*box.inputs, *box.clocks):
            names[port] = str(port) if port.box in own else _take_in(network, later, port)
        clocks = {str(port): names[port] for port in box.clocks}
        later.add(box.name, with_clocks(with_references(box.spec, [names[p] for p in box.inputs]), clocks))
    later.outputs = {output.name: output for output in outputs}
    narrow = project_inputs(later, later.outputs)
    for name, entry in later.inputs.items():
        if entry.point is not None:
            # Whole fields only: what is inside a struct stays together.
            kept = [(field, entry.schema[field]) for field in narrow.inputs[name].schema.names]
            later.inputs[name] = replace(entry, schema=Schema(kept))
    ordered = _find_order(later)
    if ordered is None:
        return None
    rebuilt = Network(later.name, latency_from=network.latency_from)
    rebuilt.inputs = {name: later.inputs[name] for name in ordered}
    rebuilt.path, rebuilt.outputs = network.path, later.outputs
    for box in later.boxes.values():
        rebuilt.add(box.name, box.spec)
    return rebuilt


def _find_order(later: Network) -> list[str] | None:
    """The inputs in an order in which tuples that one tuple has caused reach every box as in the whole network.

    There those at the first input of a box come first. So what leads to it must stand before what leads to the second.
    """
    leading: dict[Port, set[str]] = {Port(name): {name} for name in later.inputs}
    before: dict[str, set[str]] = {name: set() for name in later.inputs}
    for box in later.boxes.values():
        earlier: set[str] = set()
        for port in later.streams(box):
            for name in leading[port]:
                before[name] |= earlier - leading[port]
            earlier |= leading[port]
        for name in box.operator.outputs:
            leading[Port(box.name, name)] = earlier
    try:
        # Sorted, for what depends on nothing comes in the order in which it is named here.
        return list(TopologicalSorter({name: sorted(own) for name, own in before.items()}).static_order())
    except CycleError:
        return None


def _take_in(network: Network, later: Network, port: Port) -> str:
    """The input of the later part through which a stream or table comes."""
    entry = network.inputs.get(port.box)
    if entry is not None and entry.static:
        later.inputs[port.box] = entry
        return port.box
    name = port.box if not port.port else f"{ARC}{port}"
    later.inputs[name] = Input(name, network.schema(port), point=f"{ARC}{port}")
    return name


def _urgent_part(network: Network, leading: set[str], patient: set[str], later: Network) -> Network:
    urgent = copy(network)
    urgent.boxes = {name: box for name, box in network.boxes.items() if name not in leading}
    urgent.outputs = {name: output for name, output in network.outputs.items() if name not in patient}
    urgent.points = dict(network.points)
    for entry in later.inputs.values():
        if entry.point is not None:
            source = network.find(entry.point.removeprefix(ARC), "arc")
            # A box, so that there is an arc to it on which a drop box can stand.
            fields = {field: f"`{field}`" for field in entry.schema.names}
            port = urgent.add(entry.point, {"map": fields, "from": str(source)}).port
            # Nothing is kept but what the later part has not taken yet.
            urgent.points[entry.point] = Point(entry.point, port, Keep(rows=0), spec={"keep": 0})
    return urgent
