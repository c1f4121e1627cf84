"""What a network is and how it would run, as text."""

from aurora.engine.plan import Plan
from aurora.network.network import Network
from aurora.network.points import Point

__all__ = ["describe_network", "describe_stages"]


def describe_network(network: Network) -> str:
    """Inputs, boxes, points and outputs with their schemas."""
    lines = [f"network {network.name}"]
    for name, entry in network.inputs.items():
        if entry.stored is not None:
            lines.append(f"  stored {name} in {entry.stored.address}{_by(entry.stored.key)} ({entry.schema})")
        else:
            taken = "" if entry.point is None else f" <- point {entry.point}"
            lines.append(f"  {'table' if entry.static else 'input'} {name}{taken} ({entry.schema})")
    for box in network.boxes.values():
        taken = ", ".join(str(port) for port in box.inputs)
        for port, schema in box.operator.outputs.items():
            shown = box.name if len(box.operator.outputs) == 1 else f"{box.name}.{port}"
            lines.append(f"  {box.kind:9} {shown} <- {taken} ({schema})")
    for name, point in network.points.items():
        if name not in network.outputs:
            lines.append(_kept("point", network, point))
    for name, output in network.outputs.items():
        if name in network.points:
            lines.append(_kept("view", network, network.points[name]))
        else:
            lines.append(f"  output    {name} <- {output.port} ({network.schema(output.port)})")
    return "\n".join(lines)


def _kept(kind: str, network: Network, point: Point) -> str:
    keep = point.spec["keep"]
    if point.keep.rows is not None:
        amount = f"{point.keep.rows:,} {'tuple' if point.keep.rows == 1 else 'tuples'}"
    elif point.keep.span is None:
        amount = str(keep)
    else:
        amount = f"{keep} of {point.on or 'arrival'}"
    schema = network.schema(point.port)
    return f"  {kind:9} {point.name} <- {point.port}, keeps {amount}{_by(point.key)} ({schema})"


def _by(key: tuple[str, ...]) -> str:
    return f" by {', '.join(key)}" if key else ""


def describe_stages(plan: Plan) -> str:
    """Which boxes run together, and by which fields their tuples are brought there."""
    lines = []
    for stage in plan.stages:
        where = (
            "where tuples are read, without state"
            if stage.number == 0
            else "with state in Spark's checkpoint"
        )
        lines.append(f"stage {stage.number} ({where})")
        for entry in plan.entries:
            if entry.stage == stage.number:
                what = f"the clock {entry.port}.{entry.clock}" if entry.clock else str(entry.port)
                lines.append(f"  -> {what} {_spread(entry.spread)}")
        lines += [f"     {box.kind} {box.name}" for box in stage.boxes]
        if not stage.boxes:
            lines.append("     no box: tuples are only read and spread")
        lines += [
            f"  => output {name} from {port}"
            for name, port in plan.outputs
            if plan.made_in[port] == stage.number
        ]
    return "\n".join(lines)


def _spread(spread: tuple[str, ...] | None) -> str:
    if spread is None:
        return "to every bucket"
    return f"by {', '.join(spread)}" if spread else "to one bucket"
