"""A network of naive boxes: each arrival goes through the whole of it before the next one comes."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.spec.squal import Box, Out, Row

__all__ = ["Network"]

# Where a stream comes from: an input, or a box and its port.
Source = tuple[str, str]


class Network:
    """Boxes in an order in which each stands behind those that it reads from; an input's port is ""."""

    def __init__(self, boxes: Mapping[str, tuple[Box, list[Source]]]) -> None:
        self.boxes = boxes

    def run(self, arrivals: Iterable[tuple[str, Row]]) -> dict[Source, list[Row]]:
        """What comes out of every port of every box, in the order of emission; then the input ends."""
        streams: dict[Source, list[Row]] = {}
        for number, (name, row) in enumerate(arrivals):
            self.pass_on({(name, ""): [("", number, row)]}, streams, over=False)
        self.pass_on({}, streams, over=True)
        return streams

    def pass_on(self, moment: dict[Source, list[Out]], streams: dict[Source, list[Row]], over: bool) -> None:
        for name, (box, sources) in self.boxes.items():
            found: list[Any] = []
            for port, source in enumerate(sources):
                for _, ts, row in moment.get(source, []):
                    found += box.push(port, row, ts)
            if over:
                found += box.end()
            for out in found:
                moment.setdefault((name, out[0]), []).append(out)
                streams.setdefault((name, out[0]), []).append(out[2])
