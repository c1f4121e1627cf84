"""Aggregate tuple at a time: every window of every group, kept whole until it closes."""

import math
from dataclasses import dataclass, field
from typing import Any

from tests.spec import local
from tests.spec.squal import Box, Functions, Order, Out, Row, Seen, by_fields

__all__ = ["ARRIVAL", "Aggregate"]

ARRIVAL = "#"


@dataclass(frozen=True)
class Entry:
    """A tuple in order, and when it came: in the order of the group, by TS, by the local clock."""

    value: Any
    number: int
    row: Row
    ts: int
    now: int


def place(entry: Entry) -> Any:
    return entry.value, entry.number


@dataclass
class Group:
    """`timed` and `closed` are the starts of the windows that gave, or would have given, their row."""

    seen: Seen
    arrivals: int = 0
    held: list[Entry] = field(default_factory=list)
    released: list[Entry] = field(default_factory=list)
    origin: Any = None
    opened: list[Any] = field(default_factory=list)
    timed: set[Any] = field(default_factory=set)
    closed: set[Any] = field(default_factory=set)


class Aggregate(Box):
    """`advance` is a number or a predicate; `align` may be a time zone; `bits` is the width of the order field."""

    def __init__(
        self,
        functions: Functions,
        order: Order,
        size: Any,
        advance: Any,
        timeout: int | None = None,
        align: bool | str = False,
        bits: int = 64,
    ) -> None:
        super().__init__()
        self.functions = functions
        self.order = order
        self.size = size
        self.advance = advance
        self.timeout = timeout
        self.align = align
        self.lowest = -(2 ** (bits - 1))
        self.groups: dict[Any, Group] = {}
        self.now = 0

    def starts(self, group: Group, value: Any, origin: Any) -> list[Any]:
        """The windows that hold the value."""
        if callable(self.advance):
            return [start for start in group.opened if start <= value < start + self.size]
        if isinstance(self.align, str):
            return local.starts_of(self.align, self.size, self.advance, value)
        first = 0 if self.align else origin
        if isinstance(value, float):
            near = math.floor((value - first) / self.advance)
            back = math.ceil(self.size / self.advance)
            steps = range(near - back - 3, near + 4)
        else:
            steps = range((value - first - self.size) // self.advance, (value - first) // self.advance + 1)
        found = [first + step * self.advance for step in steps if self.align or step >= 0]
        # A start must be a value of the order field.
        return [start for start in found if start <= value < start + self.size and start >= self.lowest]

    def end_of(self, start: Any) -> Any:
        if isinstance(self.align, str):
            return local.end_of(self.align, self.size, self.advance, start)
        return start + self.size

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        key = self.order.group(row)
        group = self.groups.setdefault(key, Group(Seen(self.order)))
        if self.order.on == ARRIVAL:
            value = group.arrivals + 1
        else:
            value = self.order.value(row)
            if value is None:
                self.discarded["no order value"] += 1
                return []
            late = group.seen.out_of_order(value)
            group.seen.values.append(value)
            if late:
                self.discarded["out of order"] += 1
                return []
        group.arrivals += 1
        if group.timed:
            self.discarded["timed out"] += len(
                set(self.starts(group, value, group.origin)) & group.timed - group.closed
            )
        entry = Entry(value, group.arrivals, row, ts, self.now)
        if self.order.on == ARRIVAL:
            self.take_in(group, entry)
            return in_order_of_start(self.close(group, value + 1))
        group.held.append(entry)
        group.held.sort(key=place)
        if self.order.span is not None:
            bound = group.seen.bound()
            while group.held and group.held[0].value <= bound:
                self.take_in(group, group.held.pop(0))
            return in_order_of_start(self.close(group, bound))
        if len(group.held) <= self.order.slack:
            return []
        first = group.held.pop(0)
        self.take_in(group, first)
        return in_order_of_start(self.close(group, first.value))

    def take_in(self, group: Group, entry: Entry) -> None:
        """The tuple leaves the sort and enters its windows."""
        if group.origin is None:
            group.origin = entry.value
            group.opened.append(entry.value)
        if callable(self.advance):
            if self.advance(entry.row) and entry.value not in group.opened:
                group.opened.append(entry.value)
        elif not self.align and entry.value < group.origin:
            self.discarded["before the first window"] += 1
            return
        elif not self.starts(group, entry.value, group.origin):
            self.discarded["between windows"] += 1
        group.released.append(entry)

    def window(self, group: Group, start: Any, entries: list[Entry]) -> Out:
        inside = sorted((e for e in entries if start <= e.value < self.end_of(start)), key=place)
        rows = [entry.row for entry in inside]
        fields = group_fields(self.order, group)
        return "1", min(e.ts for e in inside), {**fields, self.order.on: start, **self.functions(rows)}

    def close(self, group: Group, bound: Any) -> list[tuple[Any, Out]]:
        """Closes the windows that end at or before the bound (None: all); gives start and row of each."""
        starts = {
            start for entry in group.released for start in self.starts(group, entry.value, group.origin)
        }
        found = []
        for start in sorted(starts - group.closed):
            if bound is None or self.end_of(start) <= bound:
                group.closed.add(start)
                if start not in group.timed:
                    found.append((start, self.window(group, start, group.released)))
        return found

    def tick(self, now: int) -> list[Out]:
        self.now = now
        found: list[tuple[Any, Out]] = []
        for group in self.groups.values() if self.timeout is not None else ():
            entries = [*group.released, *group.held]
            if not entries:
                continue
            origin = min(entry.value for entry in group.held) if group.origin is None else group.origin
            inside: dict[Any, list[Entry]] = {}
            for entry in entries:
                for start in self.starts(group, entry.value, origin):
                    inside.setdefault(start, []).append(entry)
            for start, those in inside.items():
                begin = min(entry.now for entry in those)
                if start in group.closed | group.timed or now <= begin + self.timeout:
                    continue
                group.origin = origin
                group.timed.add(start)
                found.append((start, self.window(group, start, entries)))
        return in_order_of_start(found)

    def end(self) -> list[Out]:
        if self.order.on == ARRIVAL:
            return []
        found: list[tuple[Any, Out]] = []
        for group in self.groups.values():
            for entry in sorted(group.held, key=place):
                self.take_in(group, entry)
            group.held = []
            found += self.close(group, None)
        return in_order_of_start(found)


def group_fields(order: Order, group: Group) -> Row:
    return order.fields([*group.released, *group.held][0].row)


def in_order_of_start(found: list[tuple[Any, Out]]) -> list[Out]:
    return [out for _, out in sorted(found, key=lambda pair: (pair[0], by_fields(pair[1])))]
