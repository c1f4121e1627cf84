"""A network drawn with its figures: its boxes and arcs as plain data, and as text beside what was measured."""

from collections.abc import Iterator, Mapping
from typing import Any

from aurora.engine.drops import WHOLE, Drop
from aurora.network.network import Network, Port

__all__ = ["describe_arcs", "draw_figures"]

HEADER = ("", "tuples/s", "us/tuple", "work", "")
# Columns of numbers stand to the right.
RIGHT = (1, 2, 3)


def describe_arcs(network: Network) -> dict[str, Any]:
    """The boxes in the order in which tuples pass them, and where each takes its tuples from."""
    return {
        "name": network.name,
        "inputs": [name for name, entry in network.inputs.items() if not entry.static],
        "boxes": [
            {"name": box.name, "kind": box.kind, "from": [str(port) for port in box.inputs]}
            for box in network.boxes.values()
        ],
        "outputs": {name: str(output.port) for name, output in network.outputs.items()},
        "parameters": dict(network.parameters),
        "points": {name: str(schema) for name, schema in network.point_schemas().items()},
        "streams": {str(port): str(network.schema(port)) for port in _streams(network)},
    }


def _streams(network: Network) -> Iterator[Port]:
    """Yield the inputs that are no stored sets, and all ports of the boxes."""
    for name, entry in network.inputs.items():
        if entry.stored is None:
            yield Port(name)
    for box in network.boxes.values():
        for port in box.operator.outputs:
            yield Port(box.name, port)


def draw_figures(drawn: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """The network with the figures of `aurora status`: a line for each input, box and output."""
    boxes, inputs = status["boxes"], status["inputs"]
    whole = _work(status)
    rows: list[tuple[str, ...]] = [HEADER]
    for name in drawn["inputs"]:
        found = inputs.get(name, {})
        rate, cost = _rate(status, name), found.get("cost_us")
        waits = found.get("waiting")
        note = "" if waits is None else f"{waits:,} waiting"
        rows.append((f"input {name}", _number(rate), _number(cost), _share(rate, cost, whole), note))
    for box in drawn["boxes"]:
        found = boxes.get(box["name"], {})
        rate, cost = found.get("rate"), found.get("cost_us")
        label = f"{box['kind']} {box['name']} <- {', '.join(box['from'])}"
        notes = [_waits(box["from"], status) if found.get("waiting") else "", _gives(found.get("ports"))]
        note = ", ".join(filter(None, notes))
        rows.append((label, _number(rate), _number(cost), _share(rate, cost, whole), note))
    for name, port in drawn["outputs"].items():
        found = status["outputs"].get(name, {})
        rows.append((f"output {name} <- {port}", _number(found.get("rate")), "", "", _quality(found)))
    made = f"{status['batch']:,} {'batch' if status['batch'] == 1 else 'batches'}"
    lines = [f"network {drawn['name']}: {status['state']}, {made}", "", *_align(rows)]
    changes = [
        f"from batch {change['batch']} on: {change['what']}, because {change['why']}"
        for change in status.get("changes", [])
    ]
    drops = [_drop(drop) for drop in status.get("controls", {}).get("drops", [])]
    return "\n".join([*lines, *_overhead(status, whole), *changes, *drops, *status.get("troubles", [])])


def _work(status: Mapping[str, Any]) -> float:
    """Microseconds of one core that a second of the network takes, batches left aside."""
    parts = [(box.get("rate"), box["cost_us"]) for box in status["boxes"].values()]
    parts += [(_rate(status, name), read.get("cost_us")) for name, read in status["inputs"].items()]
    overhead = status["overhead"]
    arrived = sum(_rate(status, name) or 0.0 for name in status["inputs"])
    parts += [(arrived, overhead["row_us"]), (overhead.get("later_rows"), overhead.get("later_row_us"))]
    return sum((rate or 0.0) * (cost or 0.0) for rate, cost in parts)


def _rate(status: Mapping[str, Any], name: str) -> float | None:
    found = status["arcs"].get(name, {}).get("rate")
    return None if found is None else float(found)


def _overhead(status: Mapping[str, Any], whole: float) -> list[str]:
    row, batch = status["overhead"]["row_us"], status["overhead"]["batch_ms"]
    if row is None:
        return ["", "too few batches so far to tell what belongs to no box"]
    rate = sum(_rate(status, name) or 0.0 for name in status["inputs"])
    share = _share(rate, row, whole)
    lines = [
        "",
        f"outside the boxes: {_number(row)} us for each row read{f', {share} of the work' if share else ''}, and "
        f"{batch / status['cores'] / 1000:.2f} s for each batch",
    ]
    if (later := status["overhead"].get("later_row_us")) is not None:
        share = _share(status["overhead"]["later_rows"], later, whole)
        trip = status["overhead"]["later_batch_ms"]
        lines.append(
            f"in the part that may wait: {_number(later)} us for each row handed over to it"
            f"{f', {share} of the work' if share else ''}, and {trip / status['cores'] / 1000:.2f} s for each batch"
        )
    if status["capacity"] is not None:
        cores = f"{status['cores']} {'core' if status['cores'] == 1 else 'cores'}"
        most = f"{_round(status['capacity']):,}"
        lines.append(f"at the current mix of rows, {cores} can sustain about {most} rows/s")
    return lines


def _waits(streams: list[str], status: Mapping[str, Any]) -> str:
    """What waits at the arcs in front of a box."""
    at = {stream: status["arcs"].get(stream, {}).get("waiting") for stream in streams}
    return ", ".join(f"{rows:,} waiting at {stream}" for stream, rows in at.items() if rows)


def _gives(ports: Mapping[str, float] | None) -> str:
    if not ports:
        return ""
    if len(ports) == 1:
        return f"gives {_number(next(iter(ports.values())))}"
    return "gives " + ", ".join(f"{_number(share)} at {port}" for port, share in ports.items())


def _quality(found: Mapping[str, Any]) -> str:
    told = [
        f"{label} {found[key]:.3g} s"
        for label, key in (("p50", "latency_p50"), ("p99", "latency_p99"))
        if found.get(key) is not None
    ]
    told += [f"utility {found['utility']:.3g}"] if found.get("utility") is not None else []
    told += [f"{100 * found['delivered']:.3g}% delivered"] if found.get("delivered", 1.0) < 1 else []
    told += [f"{found['shed']:,} shed"] if found.get("shed") else []
    return ", ".join(told)


def _drop(drop: Mapping[str, Any]) -> str:
    """A drop box, where it stands and what it leaves out."""
    place = Drop(**drop).place
    which = f" where {drop['where']}" if drop["where"] else ""
    return f"drop box at {place}: {100 * drop['millionths'] / WHOLE:.3g}% left out{which}"


def _share(rate: float | None, cost: float | None, whole: float) -> str:
    return f"{100 * rate * cost / whole:.0f}%" if rate and cost and whole else ""


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def _round(value: float) -> int:
    """To three figures."""
    return int(float(f"{value:.3g}"))


def _align(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    return [
        "  ".join(
            cell.rjust(width) if column in RIGHT else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
