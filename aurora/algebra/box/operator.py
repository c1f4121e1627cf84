"""What every box can do, whatever it computes, and what it says of itself: planning knows boxes by that alone."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from aurora.algebra.box.choice import Choice
from aurora.algebra.box.needs import Needs
from aurora.algebra.box.pulled import Pulled
from aurora.algebra.expressions.expression import Expression
from aurora.algebra.expressions.tree import Node
from aurora.algebra.ordering.order import Clock
from aurora.algebra.ordering.progress import Progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train

__all__ = ["Keeps", "Operator", "Partition", "Traits"]

# For each input the fields by which its tuples may be spread over buckets (any subset will do, position by position
# the same for all inputs); None for an input that every bucket must see whole. No partition at all: no state.
Partition = tuple[tuple[str, ...] | None, ...]

# For each input that is a stream: its fields whose values an output still holds, and how they are called there.
Keeps = tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Traits:
    """What holds for a box whatever its schemas are.

    `passes`: its tuples are those of its first input, with all their fields. `uniform`: its inputs have one schema.
    `timeout`: milliseconds of local time after which it does something by itself. `relations`: the names of those it
    shares with other boxes. `functions`: those that its user wrote. `with_table` gives the box with the rows of its
    table, where one of its inputs is a table, or with what fetches them by key, where `asks`, the fields of the table
    that it wants equal to fields of its tuples, has them all. `clocks`: what it goes by beside its tuples; a turn has
    their progress. `conditions`: by output, what holds for every tuple there.

    `by_itself`: it takes any tuple of its schema, and answers each from its fields alone, without another effect:
    so it may change places with its neighbours. `lasting`: the numbers of the inputs whose tuples count in all that
    it gives later, however late: one that is left out there makes answers wrong for good. `choice`: it gives some
    of its tuples as they are. `computed`: its fields as it computes them. `narrowed` gives the box that does the
    same for these fields of its output only.

    `forgets`: tuples must meet in it, by its partition, but it keeps nothing from one turn to the next.
    """

    passes: bool = False
    uniform: bool = False
    timeout: int | None = None
    relations: tuple[str, ...] = ()
    functions: tuple[Callable[..., Any], ...] = ()
    with_table: Callable[[pa.RecordBatch | Pulled], "Operator"] | None = None
    asks: frozenset[str] = frozenset()
    clocks: tuple[Clock, ...] = ()
    conditions: Mapping[str, Expression] = field(default_factory=dict)
    by_itself: bool = False
    lasting: frozenset[int] = frozenset()
    choice: Choice | None = None
    computed: Mapping[str, Node] = field(default_factory=dict)
    narrowed: Callable[[Collection[str]], "Operator"] | None = None
    forgets: bool = False


class Operator(Protocol):
    """An operator bound to the schemas of its inputs: immutable, and pure but for the state in its turn."""

    @property
    def outputs(self) -> dict[str, Schema]:
        """The schema of each output port; the first is the one that the bare box name means."""
        ...

    @property
    def partition(self) -> Partition | None: ...

    @property
    def traits(self) -> Traits: ...

    def keeps(self, port: str) -> Keeps:
        """Which fields of its inputs every tuple at an output port holds unchanged.

        A box without state makes each tuple from one tuple of one input. One with state makes it where tuples of
        its key meet, and the fields are those of that key.
        """
        ...

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        """What it looks at of each input that is a stream, where so much of its outputs is looked at."""
        ...

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        """What it guarantees of fields of an output, from what its inputs guarantee, and from its clocks."""
        ...

    def depth(self, inputs: tuple[int, ...]) -> int:
        """How many lines the keys of the output have, from those of the inputs."""
        ...

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        """Works through one train per input, all of them in order of arrival."""
        ...
