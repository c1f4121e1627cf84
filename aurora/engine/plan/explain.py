"""What a network is and how it would run, as text."""

from aurora.engine.plan.buckets import EVENLY, Evenly
from aurora.engine.plan.plan import Entry, Plan
from aurora.network.network import Box, Network
from aurora.network.parameters import shown_value
from aurora.network.points import Point

__all__ = ["describe_network", "describe_stages"]


def describe_network(network: Network) -> str:
    """Inputs, boxes, points and outputs with their schemas."""
    lines = [f"network {network.name}"]
    lines += [f"  parameter {name} = {shown_value(value)}" for name, value in network.parameters.items()]
    for name, entry in network.inputs.items():
        if entry.stored is not None:
            lines.append(f"  stored {name} in {entry.stored.address}{_by(entry.stored.key)} ({entry.schema})")
        else:
            taken = "" if entry.point is None else f" <- point {entry.point}"
            ordered = "" if entry.order is None else f" in the order of {entry.order}"
            lines.append(f"  {'table' if entry.static else 'input'} {name}{taken}{ordered} ({entry.schema})")
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
        where = "without state" if plan.forgets(stage) else "with state in Spark's checkpoint"
        if stage.number == 0:
            where = "where tuples are read, without state"
        lines.append(f"stage {stage.number} ({where})")
        for entry in plan.entries:
            if entry.stage == stage.number:
                lines.append(f"  -> {_entering(plan, entry)} {_spread(entry.spread)}")
        lines += [f"     {_boxed(plan, box)}" for box in stage.boxes]
        if not stage.boxes:
            lines.append("     no box: tuples are only read and spread")
        lines += [
            f"  => output {name} from {port}"
            for name, port in plan.outputs
            if plan.made_in[port] == stage.number
        ]
    return "\n".join(lines)


def _entering(plan: Plan, entry: Entry) -> str:
    """A stream or a clock by its name; what a box finds in every bucket has that of the box."""
    box = plan.steps.get(entry.port.box)
    name = str(entry.port) if box is None else f"the parts of {box}"
    if entry.clock is None:
        return name
    return f"the clock {name}.{entry.clock}" if box is None else f"the clock of {name}"


def _boxed(plan: Plan, box: Box) -> str:
    if box.name in plan.steps:
        return f"{box.kind} {plan.steps[box.name]}, first step: in every bucket, of the tuples there"
    return f"{box.kind} {box.name}{', second step: the parts put together' if plan.is_merge(box) else ''}"


def _spread(spread: tuple[str, ...] | Evenly | None) -> str:
    if spread is None:
        return "to every bucket"
    if spread is EVENLY:
        return "evenly"
    return f"by {', '.join(spread)}" if spread else "to one bucket"
