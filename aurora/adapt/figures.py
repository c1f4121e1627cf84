"""The figures of a network: what each box costs and gives, what comes in and goes out, and what belongs to no box."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from aurora.engine.pacing import find_least, find_longest

__all__ = [
    "BoxFigures",
    "Figures",
    "InputFigures",
    "LaterFigures",
    "OutputFigures",
    "find_capacity",
    "longest_batch",
]

# A network that falls behind makes its batches longer, because long trains cost less a row: up to so many seconds, and
# to this share of the shortest good zone of its outputs.
LONGEST = 4.0


@dataclass(frozen=True)
class BoxFigures:
    """`cost`: seconds of one core for each further tuple taken; `selectivity`: tuples given at each port for each one
    taken; `rate`: tuples taken a second; `waiting`: tuples that wait in front of it."""

    cost: float
    selectivity: Mapping[str, float]
    rate: float
    waiting: int = 0

    def gives(self, port: str) -> float:
        """Tuples a second at a port, now."""
        return self.rate * self.selectivity.get(port, 0.0)


@dataclass(frozen=True)
class InputFigures:
    """`rate`: rows read a second; `cost`: seconds of one core to read a further row.

    `waiting` are the rows that have come and are not read yet, None where nobody knows; `growth` is by how many they
    become more in a second, `comes` how many came a second of late. The newest row that was read had `waited` so many
    seconds. Only a `live` input falls behind: a stored file waits.
    """

    rate: float
    cost: float
    waiting: int | None = None
    growth: float = 0.0
    live: bool = False
    comes: float | None = None
    waited: float = 0.0

    @property
    def arriving(self) -> float:
        """Rows that come in a second, read or not."""
        return max(self.rate + self.growth, 0.0) if self.comes is None else self.comes


@dataclass(frozen=True)
class OutputFigures:
    """`rate`: rows a second; `latency`: seconds that the median row was under way, and the slowest in a hundred; None
    while no row comes."""

    rate: float
    latency: tuple[float, float] | None = None


@dataclass(frozen=True)
class LaterFigures:
    """What the part of a network that may wait costs beside its boxes, in seconds of one core: `fixed` for a batch, and
    `per_row` for each tuple that is handed over to it. It makes so many `batches` and takes so many `rows` a second."""

    fixed: float
    per_row: float
    batches: float
    rows: float

    @property
    def trips(self) -> float:
        """The cores that its batches as such need now."""
        return self.fixed * self.batches


@dataclass(frozen=True)
class Figures:
    """All of a network, by name; what was never measured is not there.

    A batch of n rows takes `fixed` + n x (costs of boxes and of reading + `per_row`) seconds of one core, shared by the
    `cores`; the part that may wait, if there is one, has batches of its own (`later`). `train` is how many rows, of all
    inputs, a batch has had lately, `most` how many it can have, and `longest` how many seconds it may take while rows
    wait.
    """

    boxes: Mapping[str, BoxFigures] = field(default_factory=dict)
    inputs: Mapping[str, InputFigures] = field(default_factory=dict)
    outputs: Mapping[str, OutputFigures] = field(default_factory=dict)
    fixed: float = 0.0
    per_row: float = 0.0
    cores: int = 1
    train: float = 0.0
    most: float = math.inf
    longest: float = LONGEST
    later: LaterFigures | None = None

    @property
    def rate(self) -> float:
        """Rows read a second, of all inputs."""
        return sum(read.rate for read in self.inputs.values())

    def seconds(self, rows: float) -> float:
        """How long a batch of so many rows takes, mixed as they come now."""
        return (self.fixed + rows * self.row_cost) / self.cores

    @property
    def row_cost(self) -> float:
        """Seconds of one core that a row, mixed as they come now, costs on its whole way."""
        if not self.rate:
            return self.per_row
        boxes = sum(box.cost * box.rate for box in self.boxes.values())
        reading = sum(read.cost * read.rate for read in self.inputs.values())
        handed = 0.0 if self.later is None else self.later.per_row * self.later.rows
        return self.per_row + (boxes + reading + handed) / self.rate

    @property
    def capacity(self) -> float:
        """Rows a second, mixed as they come now, that can be taken for good."""
        cores = self.cores - (0.0 if self.later is None else self.later.trips)
        return find_capacity(self.fixed, self.row_cost, cores, self.longest, self.most)


def longest_batch(zone: float) -> float:
    """How many seconds a batch takes at most, where the shortest good zone ends at `zone`."""
    return min(LONGEST, find_longest(zone))


def find_capacity(fixed: float, per_row: float, cores: float, longest: float, most: float) -> float:
    """Rows a second, where a batch costs `fixed` seconds of one core and `per_row` for each row.

    While rows wait, batches take the `longest` time or have the `most` rows; they are never made shorter than a train
    that is worth its trip.

    >>> [round(find_capacity(0.4, 1e-6, 1, *limits)) for limits in ((4.0, 1e9), (4.0, 100_000), (0.1, 1e9))]
    [900000, 200000, 500000]
    """
    if per_row <= 0:
        return math.inf
    by_time = (cores - fixed / longest) / per_row
    shortest = cores / (per_row + fixed / find_least(fixed, per_row))
    return min(max(by_time, shortest), cores / (per_row + fixed / most))
