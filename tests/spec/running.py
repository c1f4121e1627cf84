"""Running windows tuple at a time: every tuple of every group is kept, and looked at again for each row."""

from typing import Any

from tests.spec.squal import Box, BSort, Functions, Gate, Order, Out, Row
from tests.spec.windows import ARRIVAL

__all__ = ["Running"]


class Running(Box):
    """`functions` takes the tuples of the window, of which the last is the tuple itself. `last` of None means all."""

    def __init__(self, functions: Functions, order: Order, last: int | None = None) -> None:
        super().__init__()
        self.functions = functions
        self.order = order
        self.last = last
        self.gate = Gate(order, self)
        self.sort = BSort(order)
        self.groups: dict[Any, list[Row]] = {}

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if self.order.on == ARRIVAL:
            return [self.take_in(row, ts)]
        if not self.gate.admits(row):
            return []
        return [self.take_in(free, came) for _, came, free in self.sort.push(port, row, ts)]

    def end(self) -> list[Out]:
        return [self.take_in(free, came) for _, came, free in self.sort.end()]

    def take_in(self, row: Row, ts: int) -> Out:
        rows = self.groups.setdefault(self.order.group(row), [])
        rows.append(row)
        window = rows if self.last is None else rows[-self.last :]
        own = self.order.fields(row)
        place = len(rows) if self.order.on == ARRIVAL else row[self.order.on]
        return "1", ts, {**own, self.order.on: place, **self.functions(window)}
