"""References that begin with a dot: names from the top of the network, whatever the group around has."""

from collections.abc import Callable, Mapping
from typing import Any

from aurora.errors import AuroraError
from aurora.network.boxes import clock_references, references, with_clocks, with_references
from aurora.network.network import Box, Network

__all__ = ["describe_box", "from_the_top"]


def from_the_top(spec: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A description whose references are whole names, so that a group does not change what they mean."""
    return _with_dots(spec, where, lambda reference: True)


def describe_box(network: Network, box: Box) -> dict[str, Any]:
    """The description for the text form: a dot stands where the group of the box has a box of the same name."""
    group = box.name.rpartition(".")[0]

    def is_hidden(reference: str) -> bool:
        found = network.find(f".{reference}", box.name)
        try:
            with network.group(group):
                return network.find(reference, box.name) != found
        except AuroraError:
            return True

    return _with_dots(box.spec, f"box {box.name}", is_hidden) if group else dict(box.spec)


def _with_dots(spec: Mapping[str, Any], where: str, needs_one: Callable[[str], bool]) -> dict[str, Any]:
    def dotted(reference: str) -> str:
        return f".{reference}" if needs_one(reference) else reference

    taken = [dotted(reference) for _, reference in references(spec, where)]
    clocks = {clock: dotted(clock) for clock in clock_references(spec, where)}
    return with_clocks(with_references(spec, taken), clocks)
