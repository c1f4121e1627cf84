"""What a network is and how it would run, as text."""

from aurora.engine.plan import Plan
from aurora.network.network import Network

__all__ = ["describe_network", "describe_stages"]


def describe_network(network: Network) -> str:
    """Inputs, boxes and outputs with their schemas."""
    lines = [f"network {network.name}"]
    for name, entry in network.inputs.items():
        lines.append(f"  {'table' if entry.static else 'input'} {name} ({entry.schema})")
    for box in network.boxes.values():
        taken = ", ".join(str(port) for port in box.inputs)
        for port, schema in box.operator.outputs.items():
            shown = box.name if len(box.operator.outputs) == 1 else f"{box.name}.{port}"
            lines.append(f"  {box.kind:9} {shown} <- {taken} ({schema})")
    for name, output in network.outputs.items():
        lines.append(f"  output    {name} <- {output.port} ({network.schema(output.port)})")
    return "\n".join(lines)


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
