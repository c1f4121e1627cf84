"""Which fields of its inputs a network looks at, down to those inside structs: the rest is not read at all."""

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from aurora.algebra.box.needs import Needs, merge, needs_of_text
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_struct
from aurora.network.network import Network, Port

__all__ = ["find_needs", "project_inputs"]


def project_inputs(network: Network, outputs: Iterable[str]) -> Network:
    """The same network with inputs that have only the fields which lead to these outputs and to the points."""
    chosen = {*outputs, *network.points}
    wanted = {name: output for name, output in network.outputs.items() if name in chosen}
    ends = [output.port for output in wanted.values()]
    needs = find_needs(network, [*ends, *(point.port for point in network.points.values())])
    smaller = Network(network.name, latency_from=network.latency_from)
    for name, entry in network.inputs.items():
        wants = needs.get(Port(name), {})
        if entry.checks:
            wants = merge(wants, needs_of_text([check.condition for check in entry.checks]))
        schema = entry.schema if entry.static else _schema(entry.schema, wants)
        checks = tuple(check.over(schema) for check in entry.checks)
        smaller.inputs[name] = replace(entry, schema=schema, checks=checks)
    for box in network.boxes.values():
        if any(Port(box.name, port) in needs for port in box.operator.outputs):
            smaller.add(box.name, box.spec)
    smaller.outputs.update(wanted)
    smaller.points.update(network.points)
    return smaller


def find_needs(network: Network, outputs: Iterable[Port], alike: bool = True) -> dict[Port, Needs | None]:
    """What is looked at of each stream that leads to the outputs.

    `alike`: streams that come from one place are narrowed there, and so alike; otherwise each may be by itself.
    """
    needs: dict[Port, Needs | None] = dict.fromkeys(outputs)
    for box in reversed(network.boxes.values()):
        given = [
            needs[Port(box.name, port)] for port in box.operator.outputs if Port(box.name, port) in needs
        ]
        if not given:
            continue
        streams = network.streams(box)
        wants = box.operator.needs(merge(*given))
        origins = {_origin(network, port) if alike else port for port in streams}
        if box.operator.traits.uniform and len(origins) > 1:
            # Streams that are narrowed apart would not have one schema any more.
            wants = (None,) * len(streams)
        for port, want in zip(streams, wants, strict=True):
            needs[port] = merge(needs.get(port, {}), want)
        for port, clock in zip(box.clocks, box.operator.traits.clocks, strict=True):
            needs[port] = merge(needs.get(port, {}), {clock.field: None})
    return needs


def _origin(network: Network, port: Port) -> Port:
    """Where the tuples of a stream got their fields: boxes that pass them on unchanged do not count."""
    while port.port and network.boxes[port.box].operator.traits.passes:
        port = network.boxes[port.box].inputs[0]
    return port


def _schema(schema: Schema, needs: Needs | None) -> Schema:
    if needs is None:
        return schema
    # Rows are counted by their fields, so one stays.
    needs = needs or {schema.names[0]: {}}
    fields = ((name, _type(schema[name], needs[name])) for name in schema.names if name in needs)
    return Schema(fields, (path for path in schema.required if _needs(needs, path)))


def _needs(needs: Needs | None, path: tuple[str, ...]) -> bool:
    for name in path:
        if needs is None:
            return True
        if name not in needs:
            return False
        needs = needs[name]
    return True


def _type(kind: pa.DataType, needs: Needs | None) -> pa.DataType:
    if needs is None or not is_struct(kind):
        return kind
    return pa.struct(
        [field.with_type(_type(field.type, needs[field.name])) for field in kind if field.name in needs]
    )
