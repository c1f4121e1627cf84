"""What every box can do, whatever it computes."""

from typing import Protocol

from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train

__all__ = ["Operator", "Partition"]

# For each input the fields by which its tuples may be spread over buckets (any subset will do, position by position
# the same for all inputs); None for an input that every bucket must see whole. No partition at all: no state.
Partition = tuple[tuple[str, ...] | None, ...]


class Operator(Protocol):
    """An operator bound to the schemas of its inputs: immutable, and pure but for the state in its turn."""

    @property
    def outputs(self) -> dict[str, Schema]:
        """The schema of each output port; the first is the one that the bare box name means."""
        ...

    @property
    def partition(self) -> Partition | None: ...

    def depth(self, inputs: tuple[int, ...]) -> int:
        """How many lines the keys of the output have, from those of the inputs."""
        ...

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        """Works through one train per input, all of them in order of arrival."""
        ...
