"""Union(S1, .., Sn): merges streams of one schema in the order of arrival."""

from collections.abc import Mapping
from dataclasses import dataclass

from aurora.algebra.box.keeps import keeps_fields
from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Train
from aurora.errors import AuroraError

__all__ = ["Union"]


@dataclass(frozen=True)
class Union:
    """Tuples that one arrival brought to several inputs come in the order of the inputs.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> both = Union.of([Schema.parse("A int"), Schema.parse("A int")])
    >>> one, two = (pa.record_batch({"A": values}, both.schema.arrow()) for values in ([1, 3], [2]))
    >>> trains = Train(one, np.zeros(2, int), np.array([[0, 2]])), Train(two, np.zeros(1, int), np.array([[1]]))
    >>> both.call(trains, Turn())["1"].rows["A"].to_pylist()
    [1, 2, 3]
    """

    schema: Schema
    inputs: int

    @classmethod
    def of(cls, schemas: list[Schema], where: str = "union") -> "Union":
        if not schemas:
            raise AuroraError(f"{where}: needs at least one input")
        for number, schema in enumerate(schemas[1:], 2):
            if schema != schemas[0]:
                raise AuroraError(
                    f"{where}: input {number} has ({schema}), input 1 has ({schemas[0]}): "
                    "a union needs one schema; bring them together with a map"
                )
        return cls(schemas[0], len(schemas))

    @property
    def outputs(self) -> dict[str, Schema]:
        return {"1": self.schema}

    @property
    def partition(self) -> Partition | None:
        return None

    @property
    def traits(self) -> Traits:
        return Traits(uniform=True)

    def keeps(self, port: str) -> Keeps:
        return (keeps_fields(self.schema.names),) * self.inputs

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        return (given,) * self.inputs

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs)

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + 1

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        numbered = [train.at_input(number, depth) for number, train in enumerate(inputs)]
        return {"1": Train.concat(numbered).arrange()}
