"""Boxes that go by a clock, tuple at a time: somebody tells them how far it has come."""

from typing import Any

from tests.spec.squal import Box, Functions, Order, Out, Row, Seen
from tests.spec.windows import Aggregate, Entry, Group, group_value, in_order_of_start, place

__all__ = ["BSort", "Clock", "Sessions", "Windows"]


class Clock:
    """The largest value of a field so far, less the slack."""

    def __init__(self, span: Any) -> None:
        self.span = span
        self.largest: Any = None

    def see(self, value: Any) -> None:
        if value is not None:
            self.largest = value if self.largest is None else max(self.largest, value)

    @property
    def bound(self) -> Any:
        return None if self.largest is None else self.largest - self.span


class Windows(Aggregate):
    """Aggregate; `reach` gives what closes when no tuple below the bound can come any more."""

    def __init__(self, functions: Functions, order: Order, size: Any, advance: Any, align: bool) -> None:
        super().__init__(functions, order, size, advance, align=align)
        self.bound: Any = None

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        value = self.order.value(row)
        if value is None:
            self.discarded["no order value"] += 1
        elif self.bound is not None and value < self.bound:
            self.discarded["out of order"] += 1
        else:
            group = self.groups.setdefault(self.order.group(row), Group(Seen(self.order)))
            group.arrivals += 1
            group.held.append(Entry(value, group.arrivals, row, ts, 0))
        return []

    def reach(self, bound: Any) -> list[Out]:
        self.bound = bound
        found: list[tuple[Any, Out]] = []
        for group in self.groups.values():
            group.held.sort(key=place)
            while bound is not None and group.held and group.held[0].value <= bound:
                self.take_in(group, group.held.pop(0))
            if bound is not None:
                found += self.close(group, bound)
        return in_order_of_start(found)

    @property
    def earliest_start(self) -> Any:
        """The smallest start that a window which closes later may have."""
        if self.bound is None:
            return None
        start = self.bound - self.size + 1
        return -(-start // self.advance) * self.advance if self.align else start


class Sessions(Box):
    """The sessions of all tuples so far, found anew each time."""

    def __init__(self, functions: Functions, order: Order, gap: Any) -> None:
        super().__init__()
        self.functions = functions
        self.order = order
        self.gap = gap
        self.groups: dict[Any, Group] = {}
        self.bound: Any = None

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        value = self.order.value(row)
        if value is None:
            self.discarded["no order value"] += 1
        elif self.bound is not None and value < self.bound:
            self.discarded["out of order"] += 1
        else:
            group = self.groups.setdefault(self.order.group(row), Group(Seen(self.order)))
            group.arrivals += 1
            group.released.append(Entry(value, group.arrivals, row, ts, 0))
        return []

    def reach(self, bound: Any, end: bool = False) -> list[Out]:
        self.bound = bound
        found: list[tuple[Any, Out]] = []
        for group in self.groups.values():
            for session in self.split(group):
                start, last = session[0].value, session[-1].value
                over = end or (bound is not None and bound >= last + self.gap)
                if over and start not in group.closed:
                    group.closed.add(start)
                    fields = {name: group_value(group, name) for name in self.order.group_by}
                    row = {**fields, self.order.on: start, **self.functions([e.row for e in session])}
                    found.append((start, ("1", min(e.ts for e in session), row)))
        return in_order_of_start(found)

    def split(self, group: Group) -> list[list[Entry]]:
        sessions: list[list[Entry]] = []
        for entry in sorted(group.released, key=place):
            if sessions and entry.value - sessions[-1][-1].value < self.gap:
                sessions[-1].append(entry)
            else:
                sessions.append([entry])
        return sessions

    def end(self) -> list[Out]:
        return self.reach(self.bound, end=True)


class BSort(Box):
    """A tuple leaves when the clock reaches it; one that comes too late for that goes straight through."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order
        self.held: list[tuple[Any, int, Row, int]] = []
        self.arrivals = 0
        self.bound: Any = None

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        value = self.order.value(row)
        if value is None:
            self.discarded["no order value"] += 1
            return []
        if self.bound is not None and value <= self.bound:
            return [("1", ts, row)]
        self.arrivals += 1
        self.held.append((value, self.arrivals, row, ts))
        return []

    def reach(self, bound: Any) -> list[Out]:
        self.bound = bound
        leaving = sorted((h for h in self.held if bound is not None and h[0] <= bound), key=lambda h: h[:2])
        self.held = [held for held in self.held if held not in leaving]
        return [("1", ts, row) for _, _, row, ts in leaving]

    def end(self) -> list[Out]:
        rest = sorted(self.held, key=lambda held: held[:2])
        return [("1", ts, row) for _, _, row, ts in rest]
