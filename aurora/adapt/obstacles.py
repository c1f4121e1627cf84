"""What keeps load from being shed although the graphs allow it, and what in the graphs cannot be."""

from collections.abc import Mapping

from aurora.adapt.figures import Figures, InputFigures
from aurora.adapt.flows import STATE, find_flows
from aurora.adapt.shedding import can_lose
from aurora.network.network import Box, Network, Port
from aurora.network.qos import find_zone

__all__ = ["find_doubts", "find_obstacles"]

# A batch takes about so many seconds even if it has one row, and a tuple waits for the batch before its own.
BATCH = 0.3
POINT = "point "


def find_obstacles(network: Network, ends: Mapping[str, Port] | None = None) -> tuple[str, ...]:
    """Return a sentence for each box, output or point because of which tuples are kept that outputs may lose.

    `ends` are the outputs and points that count, all where nothing is given. Where no output may lose tuples there are
    no obstacles.
    """
    if ends is None:
        ends = {name: output.port for name, output in network.outputs.items()}
        ends |= {f"{POINT}{name}": point.port for name, point in network.points.items()}
    lossy = {name for name in ends if name in network.outputs and can_lose(network.outputs[name].qos)}
    inputs = {name: InputFigures(0.0, 0.0) for name, entry in network.inputs.items() if not entry.static}
    kept: set[str] = set()
    for flow in find_flows(network, Figures(inputs=inputs), ends).values():
        if flow.ends & lossy:
            kept |= flow.ends - lossy
    boxes = [_describe_box(box) for box in network.boxes.values() if f"{STATE}{box.name}" in kept]
    return (*boxes, *(_describe_end(name) for name in ends if name in kept))


def find_doubts(network: Network) -> tuple[str, ...]:
    """Return a sentence for each thing about the graphs of a network that its user may not expect."""
    short = [
        f"output {name}: its good zone ends at {zone:g} s, and a batch takes about {BATCH:g} s or longer: its rows are "
        "late whatever the load is; let the zone end at 1 s or later"
        for name, output in network.outputs.items()
        if (zone := find_zone([output.qos])) < BATCH
    ]
    return (*short, *(text for text in find_obstacles(network) if text.startswith("box ")))


def _describe_box(box: Box) -> str:
    if box.kind == "user":
        why, fix = "may remember each of them", "stateless: true if it remembers none, or may_miss: true"
    else:
        why, fix = "counts each of them in all that it gives later", "may_miss: true"
    return (
        f"box {box.name}: no load is shed in front of it, because a box of kind {box.kind} {why}; declare {fix} if it "
        "may miss tuples"
    )


def _describe_end(name: str) -> str:
    if name.startswith(POINT):
        return f"{name} keeps all that passes: no load is shed in front of it"
    return f"output {name} has neither a delivered nor a value graph: no load is shed on the way to it"
