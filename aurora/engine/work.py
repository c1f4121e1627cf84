"""What one batch did: what each box took, gave and cost, what was read, and how long the batch before it took."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aurora.engine.drops import SHED

__all__ = ["BoxWork", "InputWork", "Work", "sum_work"]


@dataclass(frozen=True)
class BoxWork:
    """Tuples that a box took, those that it gave at each port, and the seconds of one core that it worked."""

    taken: int
    given: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class InputWork:
    """Rows of an input that were read, and the seconds of one core that this took.

    `waiting` are the rows that lay there when the batch was made and did not come with it; None if nobody knows. Those
    that came with it had `waited` by then, the newest and the oldest one, in seconds.
    """

    rows: int
    seconds: float
    waiting: int | None = None
    waited: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Work:
    """One batch. How long a batch took is known when the next one is made: `before` are the seconds of the batch
    before this one, from one question for input to the next; None where another process had made that batch. `apart`
    are the seconds between the moments at which the two were made: where a run was idle or paused, these are more.

    `shed` are the tuples of each stream that drop boxes have left out, `values` the rows of outputs that are worth
    something by a value, counted by it.
    """

    boxes: dict[str, BoxWork] = field(default_factory=dict)
    inputs: dict[str, InputWork] = field(default_factory=dict)
    before: float | None = None
    shed: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[int]] = field(default_factory=dict)
    apart: float | None = None

    @property
    def rows(self) -> int:
        """Rows read, of all inputs."""
        return sum(read.rows for read in self.inputs.values())

    @property
    def seconds(self) -> float:
        """Seconds of one core that belong to boxes or to reading."""
        boxes = sum(box.seconds for box in self.boxes.values())
        return boxes + sum(read.seconds for read in self.inputs.values())


def sum_work(
    counts: Iterable[Mapping[str, Any]],
    reads: Iterable[Mapping[str, Any]],
    waiting: Mapping[str, int | None],
    took: int | None,
    values: Iterable[Mapping[str, Any]] = (),
    apart: int | None = None,
) -> Work:
    """The notes of all tasks of a batch; what is `waiting` and the milliseconds that the batch before `took`, and that
    lie between both, come from the source."""
    boxes: dict[str, BoxWork] = {}
    shed: Counter[str] = Counter()
    for count in counts:
        for name, part in count.items():
            shed[name] += part["discarded"].get(SHED, 0)
            before = boxes.get(name, BoxWork(0, {}, 0.0))
            ports = part["ports"]
            given = {port: before.given.get(port, 0) + number for port, number in ports.items()}
            boxes[name] = BoxWork(
                before.taken + part["taken"],
                {**before.given, **given},
                before.seconds + part["nanoseconds"] / 1e9,
            )
    inputs = {name: InputWork(0, 0.0, left) for name, left in waiting.items()}
    for read in reads:
        known = inputs.get(read["input"], InputWork(0, 0.0))
        newest, oldest = (moment / 1000 for moment in read.get("waited", (0, 0)))
        inputs[read["input"]] = InputWork(
            known.rows + read["rows"],
            known.seconds + read["nanoseconds"] / 1e9,
            known.waiting,
            (min(known.waited[0], newest) if known.rows else newest, max(known.waited[1], oldest)),
        )
    boxes = {name: work for name, work in boxes.items() if work.given or work.taken}
    counted: dict[str, list[int]] = {}
    for found in values:
        own = counted.get(found["output"], [0] * len(found["counts"]))
        counted[found["output"]] = [one + other for one, other in zip(own, found["counts"], strict=True)]
    passed = None if apart is None else apart / 1000
    return Work(boxes, inputs, None if took is None else took / 1000, dict(+shed), counted, passed)
