"""Top tuple at a time: the tuples of a window sorted, the best of them given."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from tests.spec.squal import Order, Out, Row, by_fields, field_key
from tests.spec.windows import Aggregate, Entry, Group, place

__all__ = ["Top"]

# What tuples are compared by, and whether the largest comes first.
By = list[tuple[Callable[[Row], Any], bool]]


class Top(Aggregate):
    def __init__(
        self,
        k: int,
        by: By,
        order: Order,
        size: Any,
        advance: Any,
        ties: bool = False,
        rank: str | None = None,
        start: str = "window_start",
        **more: Any,
    ) -> None:
        super().__init__(lambda rows: {}, order, size, advance, **more)
        self.k = k
        self.by = by
        self.ties = ties
        self.rank = rank
        self.start = start

    def compare(self, one: Row, other: Row) -> int:
        """Below 0 where the first is better, 0 where they tie."""
        for value, descending in self.by:
            a, b = value(one), value(other)
            if (a is None) != (b is None):
                return 1 if a is None else -1
            if a is not None and field_key(a) != field_key(b):
                return -1 if (field_key(a) < field_key(b)) != descending else 1
        return 0

    def window(self, group: Group, start: Any, entries: list[Entry]) -> Out:
        port, ts, row = super().window(group, start, entries)
        inside = sorted((e for e in entries if start <= e.value < self.end_of(start)), key=place)
        inside.sort(key=cmp_to_key(lambda one, other: self.compare(one.row, other.row)))
        found = []
        for number, entry in enumerate(inside):
            better = sum(1 for each in inside if self.compare(each.row, entry.row) < 0)
            rank = (better if self.ties else number) + 1
            if rank <= self.k:
                ranks = {} if self.rank is None else {self.rank: rank}
                found.append((entry.ts, {**entry.row, self.start: start, **ranks}))
        return port, ts, {**row, "found": found}

    def unfolded(self, outs: list[Out]) -> list[Out]:
        """Of one cause: by the start of the window, then the place in it, then by the fields."""
        found = [
            (row[self.order.on], number, (port, own_ts, own))
            for port, _, row in outs
            for number, (own_ts, own) in enumerate(row["found"])
        ]
        return [out for *_, out in sorted(found, key=lambda each: (each[0], each[1], by_fields(each[2])))]

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        return self.unfolded(super().push(port, row, ts))

    def tick(self, now: int) -> list[Out]:
        return self.unfolded(super().tick(now))

    def end(self) -> list[Out]:
        return self.unfolded(super().end())
