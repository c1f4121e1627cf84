"""SQuAl tuple at a time: naive boxes, written from the paper, to hold the kernels to.

A tuple is a dict; beside it travels its arrival time. `push` takes one tuple at one input and gives what comes out
because of it, `tick` says that a turn begins at a local time, `end` that the input is over.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "BSort",
    "Box",
    "Filter",
    "Join",
    "Lookup",
    "Map",
    "Order",
    "Resample",
    "Stateful",
    "Union",
    "Wait",
]

Row = dict[str, Any]
# Port, arrival time, tuple.
Out = tuple[str, int, Row]


class Box:
    def __init__(self) -> None:
        self.discarded: Counter[str] = Counter()

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        raise NotImplementedError

    def tick(self, now: int) -> list[Out]:
        return []

    def end(self) -> list[Out]:
        return []


def by_fields(out: Out) -> list[Any]:
    """How rows of one moment are ordered: by their fields (NaN after the numbers, null last), then by TS."""
    return [*(sort_key(value) for value in out[2].values()), out[1]]


def sort_key(value: Any) -> Any:
    """Of rows that differ in nothing else, that with -0.0 stands before that with 0.0."""
    return *field_key(value), math.copysign(1, value) if isinstance(value, float) and value == 0 else 0


def field_key(value: Any) -> Any:
    if value is None:
        return (2, 0)
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def one_zero(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


@dataclass(frozen=True)
class Order:
    on: str
    slack: int = 0
    span: Any = None
    group_by: tuple[str, ...] = ()

    def group(self, row: Row) -> tuple[Any, ...]:
        """Nulls are one group, and so are NaNs, and 0.0 and -0.0."""
        return tuple(field_key(row[name]) for name in self.group_by)

    def fields(self, row: Row) -> Row:
        """The group fields of a result: 0.0 for -0.0."""
        return {name: one_zero(row[name]) for name in self.group_by}

    def value(self, row: Row) -> Any:
        """The order value, None for what has no place on a line: null, NaN, infinite."""
        value = row[self.on]
        return None if value is None or (isinstance(value, float) and not math.isfinite(value)) else value


@dataclass
class Seen:
    """All order values of one group, in order of arrival."""

    order: Order
    values: list[Any] = field(default_factory=list)

    def out_of_order(self, value: Any) -> bool:
        if self.order.span is not None:
            return bool(self.values) and value < max(self.values) - self.order.span
        return sum(1 for earlier in self.values if earlier > value) > self.order.slack

    def bound(self) -> Any:
        """The smallest value that would still be in order; None while any would."""
        if self.order.span is not None:
            return max(self.values) - self.order.span if self.values else None
        if len(self.values) <= self.order.slack:
            return None
        return sorted(self.values, reverse=True)[self.order.slack]


class Gate:
    """Lets in what is in order."""

    def __init__(self, order: Order, box: Box) -> None:
        self.order = order
        self.box = box
        self.seen: dict[Any, Seen] = {}

    def admits(self, row: Row) -> bool:
        value = self.order.value(row)
        if value is None:
            self.box.discarded["no order value"] += 1
            return False
        seen = self.seen.setdefault(self.order.group(row), Seen(self.order))
        late = seen.out_of_order(value)
        seen.values.append(value)
        if late:
            self.box.discarded["out of order"] += 1
        return not late

    def bound(self, group: Any) -> Any:
        return self.seen[group].bound() if group in self.seen else None


class Filter(Box):
    def __init__(self, *predicates: Callable[[Row], Any]) -> None:
        super().__init__()
        self.predicates = predicates

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        for number, predicate in enumerate(self.predicates, 1):
            if predicate(row):
                return [(str(number), ts, row)]
        return [("rest", ts, row)]


class Map(Box):
    def __init__(self, **fields: Callable[[Row], Any]) -> None:
        super().__init__()
        self.fields = fields

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        return [("1", ts, {name: function(row) for name, function in self.fields.items()})]


class Explode(Box):
    """`elements` is the name of the element of an array, or the names of the key and the value of a map's entry."""

    def __init__(
        self,
        array: Callable[[Row], Any],
        elements: str | tuple[str, str],
        place: str = "",
        outer: bool = False,
    ) -> None:
        super().__init__()
        self.array, self.elements, self.place, self.outer = array, elements, place, outer

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        found: list[Any] = list(enumerate(self.array(row) or []))
        if not found and self.outer:
            found = [(None, None)]
        made = []
        for place, element in found:
            if isinstance(self.elements, str):
                own = {self.elements: element}
            else:
                own = dict(zip(self.elements, element or (None, None), strict=True))
            made.append(("1", ts, {**row, **own, **({self.place: place} if self.place else {})}))
        return made


class Union(Box):
    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        return [("1", ts, row)]


class BSort(Box):
    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order
        self.buffers: dict[Any, list[tuple[Any, int, Row, int]]] = {}
        self.largest: dict[Any, Any] = {}
        self.arrivals = 0

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        value = self.order.value(row)
        if value is None:
            self.discarded["no order value"] += 1
            return []
        group = self.order.group(row)
        buffer = self.buffers.setdefault(group, [])
        self.arrivals += 1
        buffer.append((value, self.arrivals, row, ts))
        buffer.sort(key=lambda held: held[:2])
        largest = self.largest[group] = max(value, self.largest.get(group, value))
        if self.order.span is not None:
            leaving = sum(1 for held in buffer if held[0] <= largest - self.order.span)
        else:
            leaving = 1 if len(buffer) > self.order.slack else 0
        left, self.buffers[group] = buffer[:leaving], buffer[leaving:]
        return [("1", ts, row) for _, _, row, ts in left]

    def end(self) -> list[Out]:
        held = sorted(
            (held for buffer in self.buffers.values() for held in buffer), key=lambda held: held[:2]
        )
        self.buffers.clear()
        return [("1", ts, row) for _, _, row, ts in held]


def joined(left: Row, right: Row) -> Row:
    row = dict(left)
    for name, value in right.items():
        while name in row:
            name += "_right"
        row[name] = value
    return row


class Join(Box):
    def __init__(self, predicate: Callable[[Row, Row], Any], size: Any, left: Order, right: Order) -> None:
        super().__init__()
        self.predicate = predicate
        self.size = size
        self.gates = Gate(left, self), Gate(right, self)
        self.kept: tuple[list[tuple[Row, int]], list[tuple[Row, int]]] = [], []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.gates[port].admits(row):
            return []
        self.kept[port].append((row, ts))
        found = []
        for other, other_ts in self.kept[1 - port]:
            left, right = (row, other) if port == 0 else (other, row)
            apart = abs(left[self.gates[0].order.on] - right[self.gates[1].order.on])
            if apart <= self.size and self.predicate(left, right):
                found.append(("1", min(ts, other_ts), joined(left, right)))
        return found


class Lookup(Box):
    def __init__(self, predicate: Callable[[Row, Row], Any], table: list[Row], table_is_left: bool) -> None:
        super().__init__()
        self.predicate = predicate
        self.table = table
        self.table_is_left = table_is_left

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        pairs = [(other, row) if self.table_is_left else (row, other) for other in self.table]
        return [("1", ts, joined(*pair)) for pair in pairs if self.predicate(*pair)]


Functions = Callable[[list[Row]], Row]


class Resample(Box):
    """`functions` takes the tuples of a window, by value and then arrival, and gives the new fields."""

    def __init__(self, functions: Functions, size: Any, left: Order, right: Order) -> None:
        super().__init__()
        self.functions = functions
        self.size = size
        self.left, self.right = left, right
        self.gates = Gate(left, self), Gate(right, self)
        self.beats: list[tuple[Row, int]] = []
        self.reports: dict[Any, list[tuple[Row, int]]] = {}
        self.done: set[tuple[int, Any]] = set()

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.gates[port].admits(row):
            return []
        if port == 0:
            self.beats.append((row, ts))
        else:
            self.reports.setdefault(self.right.group(row), []).append((row, ts))
        return self.complete(over=False)

    def end(self) -> list[Out]:
        return self.complete(over=True)

    def complete(self, over: bool) -> list[Out]:
        found = []
        for number, (beat, beat_ts) in enumerate(self.beats):
            at = beat[self.left.on]
            for group, reports in self.reports.items():
                bound = self.gates[1].bound(group)
                if (number, group) in self.done or not (
                    over or (bound is not None and bound > at + self.size)
                ):
                    continue
                self.done.add((number, group))
                near = [report for report in reports if abs(report[0][self.right.on] - at) <= self.size]
                near.sort(key=lambda report: report[0][self.right.on])
                if near:
                    rows = [row for row, _ in near]
                    fields = self.right.fields(reports[0][0])
                    row = {**fields, self.left.on: at, **self.functions(rows)}
                    found.append(("1", min(beat_ts, *(ts for _, ts in near)), row))
        return sorted(found, key=lambda out: (out[2][self.left.on], by_fields(out)))


class Wait(Box):
    """Input 0 waits for input 1."""

    def __init__(self, on: str, order: Order) -> None:
        super().__init__()
        self.on = Order(on, group_by=order.group_by)
        self.watched = Gate(order, Box())
        self.held: list[tuple[Row, int]] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if port == 1:
            self.watched.admits(row)
        elif self.on.value(row) is None:
            self.discarded["no order value"] += 1
        else:
            self.held.append((row, ts))
        free = [held for held in self.held if self.passed(held[0])]
        self.held = [held for held in self.held if not self.passed(held[0])]
        return [("1", ts, row) for row, ts in free]

    def passed(self, row: Row) -> bool:
        bound = self.watched.bound(self.on.group(row))
        return bound is not None and bound > self.on.value(row)

    def end(self) -> list[Out]:
        return [("1", ts, row) for row, ts in self.held]


class Stateful(Box):
    """A user's box: a generator over one tuple, that keeps what it likes in `state`."""

    def __init__(self, function: Callable[[int, Row, dict[Any, Any]], Iterator[tuple[str, Row]]]) -> None:
        super().__init__()
        self.function = function
        self.state: dict[Any, Any] = {}

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        return [(out, ts, found) for out, found in self.function(port, row, self.state)]
