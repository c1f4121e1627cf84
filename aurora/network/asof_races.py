"""Joins as of by arrival whose sides come from different inputs: which of two files is ahead decides their answers."""

from collections.abc import Collection
from dataclasses import dataclass

from aurora.network.network import Network

__all__ = ["Race", "find_races"]

WAYS_OUT = (
    "for the latest row by time write asof: {left: Field, right: Field}, or give both inputs an order: Field, by which "
    "they are merged"
)


@dataclass(frozen=True)
class Race:
    """A box that joins as of by arrival, and two inputs of which one may run ahead of the other."""

    box: str
    left: str
    right: str

    def describe(self, known: bool) -> str:
        """Say what happens and what to do; `known` if the two are files for certain."""
        both = f"{self.left} and {self.right}"
        when = f"{both} are files, which are read" if known else f"if {both} are files, they are read"
        return (
            f"box {self.box} joins as of by arrival: {when} side by side, row by row, so that a row of {self.left} may "
            f"meet one of {self.right} that is later than it; {WAYS_OUT}"
        )


def find_races(network: Network, inputs: Collection[str] | None = None) -> list[Race]:
    """Return the races between inputs, or between those of these names; inputs that are merged by an order run none."""
    roots: dict[str, frozenset[str]] = {}
    for name, entry in network.inputs.items():
        # The tuples of a point come in the order in which they arrived there.
        alone = entry.static or entry.point is not None or (inputs is not None and name not in inputs)
        roots[name] = frozenset() if alone else frozenset([name])
    found = []
    for box in network.boxes.values():
        sides = [roots[port.box] for port in box.inputs]
        roots[box.name] = frozenset().union(*sides)
        if box.spec.get("asof") is not True:
            continue
        pair = next(
            (
                (left, right)
                for left in sorted(sides[0])
                for right in sorted(sides[1])
                if left != right and not _are_merged(network, left, right)
            ),
            None,
        )
        if pair is not None:
            found.append(Race(box.name, *pair))
    return found


def _are_merged(network: Network, one: str, other: str) -> bool:
    return network.inputs[one].order is not None and network.inputs[other].order is not None
