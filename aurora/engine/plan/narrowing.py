"""Projections where tuples go into a state: fields that nobody behind looks at do not travel, and are not kept."""

from dataclasses import replace

from aurora.algebra.box.needs import Needs, merge
from aurora.algebra.tuples.types import quoted
from aurora.engine.plan.projection import find_needs
from aurora.network.boxes import with_references
from aurora.network.network import Box, Network, Port

__all__ = ["insert_projections"]


def insert_projections(network: Network) -> Network:
    """The same network with a map in front of boxes with state, where their streams have fields too many.

    Boxes that take the same stream share one map, as they share its way. It has the name of the stream: `over:1`.
    """
    ends = [output.port for output in network.outputs.values()]
    ends += [point.port for point in network.points.values()]
    needs = find_needs(network, ends, alike=False)
    wanted = _wanted(network, needs)
    smaller = Network(network.name, latency_from=network.latency_from)
    smaller.inputs.update(network.inputs)
    narrow: dict[Port, Port] = {}
    for box in network.boxes.values():
        if not any(port in needs for port in _outputs(box)):
            # It leads nowhere.
            continue
        spec = dict(box.spec)
        if box.operator.partition is not None:
            streams = network.streams(box)
            for port in streams:
                if port in wanted and port not in narrow:
                    narrow[port] = _add_map(smaller, port, wanted[port])
            ports = [narrow.get(port, port) if port in streams else port for port in box.inputs]
            spec = with_references(spec, [str(port) for port in ports])
        smaller.add(box.name, spec)
    smaller.outputs.update(network.outputs)
    smaller.points.update(network.points)
    smaller.path = network.path
    return smaller


def _wanted(network: Network, needs: dict[Port, Needs | None]) -> dict[Port, list[str]]:
    """For each stream that boxes with state take, the fields that they look at, where these are not all."""
    found: dict[Port, Needs | None] = {}
    shared: set[Port] = set()
    for box in network.boxes.values():
        streams = network.streams(box)
        if box.operator.partition is None:
            # In another stage such a box would need the whole stream beside the narrow one.
            shared.update(streams if len(streams) > 1 else ())
            continue
        given = [needs[port] for port in _outputs(box) if port in needs]
        for port, want in zip(streams, box.operator.needs(merge(*given)) if given else (), strict=False):
            found[port] = merge(found.get(port, {}), want)
    fields: dict[Port, list[str]] = {}
    for port, want in found.items():
        names = network.schema(port).names
        kept = None if want is None else [name for name in names if name in want] or [names[0]]
        if kept is not None and len(kept) < len(names) and port not in shared:
            fields[port] = kept
    return fields


def _outputs(box: Box) -> list[Port]:
    return [Port(box.name, port) for port in box.operator.outputs]


def _add_map(network: Network, port: Port, fields: list[str]) -> Port:
    name = f"{port.box}:{port.port or 'fields'}"
    made = network.add(name, {"map": {field: quoted(field) for field in fields}, "from": str(port)}).port
    network.boxes[name] = replace(network.boxes[name], narrows=port)
    return made
