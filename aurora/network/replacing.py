"""A part of a network that takes the place of another of its name; what stands behind it is checked again."""

from collections.abc import Mapping
from typing import Any

from aurora.errors import AuroraError
from aurora.network.ends import add_output, add_point, describe_ends
from aurora.network.network import Input, Network
from aurora.network.text import add_boxes

__all__ = ["replace_box", "replace_input"]


def replace_box(network: Network, name: str, spec: Mapping[str, Any]) -> None:
    """Puts a box in the place of the one of that name; its references are whole names."""
    specs = {other: spec if other == name else box.spec for other, box in network.boxes.items()}
    _adopt(network, network.inputs, specs, f"box {name}")


def replace_input(network: Network, entry: Input) -> None:
    specs = {name: box.spec for name, box in network.boxes.items()}
    _adopt(network, {**network.inputs, entry.name: entry}, specs, f"input {entry.name}")


def _adopt(network: Network, inputs: Mapping[str, Input], specs: Mapping[str, Any], what: str) -> None:
    """Builds the whole anew, and takes it over if nothing is wrong with it."""
    fresh = Network(network.name, latency_from=network.latency_from)
    fresh.inputs = dict(inputs)
    try:
        add_boxes(fresh, specs)
        _, points, outputs = describe_ends(network)
        for name, entry in outputs.items():
            add_output(fresh, name, entry)
        for name, entry in points.items():
            if name in network.points:
                add_point(fresh, name, entry)
    except AuroraError as fault:
        raise AuroraError(f"{fault} ({what} stays as it was)") from fault.__cause__
    network.inputs, network.boxes = fresh.inputs, fresh.boxes
    network.outputs, network.points = fresh.outputs, fresh.points
