"""A network of naive boxes: each arrival goes through the whole of it before the next one comes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.spec.squal import Out, Row

__all__ = ["Clocks", "Network"]

# Where a stream comes from: an input, or a box and its port.
Source = tuple[str, str]
Phases = tuple[list[Out], list[Out]]
# What a clock brings forth stands before the rows of the arrival that moved it.
BEFORE, ITSELF = 0, 1


@dataclass(frozen=True)
class Clocks:
    """What a box goes by, each clock so much behind, and what it knows of the T of its rows.

    `own` makes it of the bounds of its clocks; a box that `passes` T on from these inputs knows what is known of all.
    """

    streams: list[tuple[Source, Any]] = field(default_factory=list)
    own: Callable[[list[Any]], Any] | None = None
    passes: tuple[int, ...] = ()


NO_CLOCKS = Clocks()


class Network:
    """Boxes in an order in which each stands behind those that it reads from; an input's port is ""."""

    def __init__(
        self,
        boxes: Mapping[str, tuple[Any, list[Source]]],
        clocks: Mapping[str, Clocks] | None = None,
        fields: Collection[str] = (),
    ) -> None:
        """Of the rows that boxes give, the `fields` are passed on, or all."""
        self.boxes = boxes
        self.fields = fields
        self.clocks = clocks or {}
        # The largest T of each stream so far, before the rows of the arrival itself and with them.
        self.largest: dict[Source, list[Any]] = {}

    def run(self, arrivals: Iterable[tuple[str, Row]]) -> dict[Source, list[Row]]:
        """What comes out of every port of every box, in the order of emission; then the input ends."""
        streams: dict[Source, list[Row]] = {}
        for number, (name, row) in enumerate(arrivals):
            self.pass_on({(name, ""): ([], [("", number, row)])}, streams, over=False)
        self.pass_on({}, streams, over=True)
        return streams

    def pass_on(self, moment: dict[Source, Phases], streams: dict[Source, list[Row]], over: bool) -> None:
        for values in self.largest.values():
            values[BEFORE] = values[ITSELF]
        for source in moment:
            self.see(source, moment[source])
        for name, (box, sources) in self.boxes.items():
            made: dict[Source, Phases] = {}
            for phase, found in enumerate(
                self.push(name, box, [moment.get(s, ([], [])) for s in sources], over)
            ):
                for port, ts, row in found:
                    narrow = {field: row[field] for field in self.fields} or row
                    made.setdefault((name, port), ([], []))[phase].append((port, ts, narrow))
            for source, phases in made.items():
                self.see(source, phases)
                streams.setdefault(source, []).extend(out[2] for found in phases for out in found)
            moment |= made

    def push(self, name: str, box: Any, inputs: list[Phases], over: bool) -> Phases:
        found: Phases = [], []
        for phase in (BEFORE, ITSELF):
            for port, phases in enumerate(inputs):
                for _, ts, row in phases[phase]:
                    found[phase].extend(box.push(port, row, ts))
            bounds = self.bounds(name, phase)
            if bounds and phase == BEFORE and not over:
                box.know(bounds)
            elif bounds and not over:
                found[BEFORE].extend(box.tell(bounds))
        if over:
            found[ITSELF].extend(box.end())
        return found

    def see(self, source: Source, phases: Phases) -> None:
        values = self.largest.setdefault(source, [None, None])
        for phase, found in enumerate(phases):
            for _, _, row in found:
                for later in range(phase, len(values)):
                    values[later] = row["T"] if values[later] is None else max(values[later], row["T"])

    def bounds(self, name: str, phase: int) -> list[Any]:
        """How far the clocks of a box have come."""
        clocks = self.clocks.get(name, NO_CLOCKS)
        come = ((self.reached(source, phase), span) for source, span in clocks.streams)
        return [None if reached is None else reached - span for reached, span in come]

    def reached(self, source: Source, phase: int) -> Any:
        if self.is_known(source):
            return self.known(source, phase)
        return self.largest.get(source, [None, None])[phase]

    def is_known(self, source: Source) -> bool:
        clocks = self.clocks.get(source[0], NO_CLOCKS)
        passed = [self.boxes[source[0]][1][port] for port in clocks.passes]
        return clocks.own is not None or (bool(passed) and all(map(self.is_known, passed)))

    def known(self, source: Source, phase: int) -> Any:
        clocks = self.clocks[source[0]]
        if clocks.own is not None:
            values = self.bounds(source[0], phase)
            return None if None in values else clocks.own(values)
        passed = [self.known(self.boxes[source[0]][1][port], phase) for port in clocks.passes]
        return None if None in passed else min(passed)
