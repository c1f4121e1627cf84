"""Joins with what has no partner, and joins as of, tuple at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.spec.squal import Box, Gate, Order, Out, Row, field_key, joined

__all__ = ["AsOf", "Lookup", "OuterJoin", "Sides"]

Predicate = Callable[[Row, Row], Any]


@dataclass(frozen=True)
class Sides:
    """The fields of both sides, those that must be equal, and which sides come out without a partner, or `alone`."""

    names: tuple[list[str], list[str]]
    equal: tuple[tuple[str, str], ...] = ()
    unmatched: tuple[int, ...] = ()
    alone: bool = False

    def is_complete(self, side: int, row: Row) -> bool:
        return all(row[pair[side]] is not None for pair in self.equal)

    def key(self, side: int, row: Row) -> tuple[Any, ...]:
        return tuple(field_key(row[pair[side]]) for pair in self.equal)

    def pair(self, ts: int, left: Row, right: Row) -> list[Out]:
        return [] if self.alone else [("1", ts, joined(left, right))]

    def lone(self, side: int, ts: int, row: Row) -> list[Out]:
        if side not in self.unmatched:
            return []
        if self.alone:
            return [("1", ts, row)]
        nulls = dict.fromkeys(self.names[1 - side])
        return [("1", ts, joined(row, nulls) if side == 0 else joined(nulls, row))]


@dataclass
class Held:
    row: Row
    ts: int
    place: int
    met: bool = False
    gone: bool = False


class OuterJoin(Box):
    def __init__(self, predicate: Predicate, size: Any, left: Order, right: Order, sides: Sides) -> None:
        super().__init__()
        self.predicate = predicate
        self.size = size
        self.orders = left, right
        self.gates = Gate(left, self), Gate(right, self)
        self.sides = sides
        self.held: tuple[list[Held], list[Held]] = [], []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.gates[port].admits(row):
            return []
        own = Held(row, ts, sum(map(len, self.held)))
        self.held[port].append(own)
        found = self.let_go(1 - port, self.held[1 - port])
        for other in self.held[1 - port]:
            left, right = (own, other) if port == 0 else (other, own)
            apart = abs(left.row[self.orders[0].on] - right.row[self.orders[1].on])
            if apart <= self.size and self.predicate(left.row, right.row):
                assert not other.gone, "it was ruled out and met a partner"
                own.met = other.met = True
                found += self.sides.pair(min(ts, other.ts), left.row, right.row)
        return found + self.let_go(port, [own])

    def let_go(self, side: int, held: list[Held]) -> list[Out]:
        found = []
        for each in held:
            if not (each.met or each.gone) and self.is_ruled_out(side, each.row):
                each.gone = True
                found += self.sides.lone(side, each.ts, each.row)
        return found

    def is_ruled_out(self, side: int, row: Row) -> bool:
        if not self.sides.is_complete(side, row):
            return True
        fixed = {pair[1 - side]: pair[side] for pair in self.sides.equal}
        group_by = self.orders[1 - side].group_by
        if any(name not in fixed for name in group_by):
            return False
        bound = self.gates[1 - side].bound(tuple(field_key(row[fixed[name]]) for name in group_by))
        return bound is not None and bound > row[self.orders[side].on] + self.size

    def end(self) -> list[Out]:
        left = [(each.place, side, each) for side in (0, 1) for each in self.held[side]]
        lone = [(side, each) for _, side, each in sorted(left) if not (each.met or each.gone)]
        return [out for side, each in lone for out in self.sides.lone(side, each.ts, each.row)]


class AsOf(Box):
    def __init__(self, predicate: Predicate, sides: Sides) -> None:
        super().__init__()
        self.predicate = predicate
        self.sides = sides
        self.latest: dict[Any, tuple[Row, int]] = {}

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        key = self.sides.key(port, row)
        if port == 1:
            if self.sides.is_complete(1, row):
                self.latest[key] = row, ts
            return []
        partner = self.latest.get(key)
        if partner is None or not self.predicate(row, partner[0]):
            return self.sides.lone(0, ts, row)
        return self.sides.pair(ts, row, partner[0])


class Lookup(Box):
    def __init__(self, predicate: Predicate, table: list[Row], stream: int, sides: Sides) -> None:
        super().__init__()
        self.predicate = predicate
        self.table = table
        self.stream = stream
        self.sides = sides

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        pairs = [(row, other) if self.stream == 0 else (other, row) for other in self.table]
        fitting = [pair for pair in pairs if self.predicate(*pair)]
        if not fitting:
            return self.sides.lone(self.stream, ts, row)
        return [out for pair in fitting for out in self.sides.pair(ts, *pair)]
