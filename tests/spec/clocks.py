"""Boxes that go by a clock, tuple at a time: somebody tells them how far it has come."""

from collections.abc import Callable
from typing import Any

from tests.spec import running, top
from tests.spec.joins import Sides
from tests.spec.squal import Box, Functions, Gate, Order, Out, Row, Seen, by_fields, joined
from tests.spec.windows import Aggregate, Entry, Group, group_fields, in_order_of_start, place

__all__ = [
    "AsOf",
    "BSort",
    "Clock",
    "Gather",
    "Join",
    "KeptJoin",
    "OwnSessions",
    "Resample",
    "Running",
    "Sessions",
    "Top",
    "Wait",
    "Windows",
]


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


class ByOneClock(Box):
    """`know` says how far its clock has come, for the tuples behind; `reach` gives what that brings forth, too."""

    bound: Any = None

    def know(self, bounds: list[Any]) -> None:
        (self.bound,) = bounds

    def tell(self, bounds: list[Any]) -> list[Out]:
        return self.reach(bounds[0])

    def reach(self, bound: Any) -> list[Out]:
        raise NotImplementedError


class Windows(ByOneClock, Aggregate):
    """Aggregate; `reach` gives what closes when no tuple below the bound can come any more."""

    def __init__(self, functions: Functions, order: Order, size: Any, advance: Any, align: bool) -> None:
        Aggregate.__init__(self, functions, order, size, advance, align=align)

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


class Top(Windows, top.Top):
    """The best of each window that closes."""

    def __init__(
        self,
        k: int,
        by: top.By,
        order: Order,
        size: Any,
        advance: Any,
        align: bool,
        ties: bool,
        rank: str | None = None,
    ) -> None:
        top.Top.__init__(self, k, by, order, size, advance, ties, rank, align=align)

    def reach(self, bound: Any) -> list[Out]:
        return self.unfolded(super().reach(bound))


class Sessions(ByOneClock):
    """The sessions of all tuples so far, found anew each time."""

    def __init__(self, functions: Functions, order: Order, gap: Any) -> None:
        super().__init__()
        self.functions = functions
        self.order = order
        self.gap = gap
        self.groups: dict[Any, Group] = {}

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
        found = [each for group in self.groups.values() for each in self.close(group, bound, end)]
        return in_order_of_start(found)

    def close(self, group: Group, bound: Any, end: bool = False) -> list[tuple[Any, Out]]:
        found: list[tuple[Any, Out]] = []
        for session in self.split(group):
            start, last = session[0].value, session[-1].value
            over = end or (bound is not None and bound >= last + self.gap)
            if over and start not in group.closed:
                group.closed.add(start)
                fields = group_fields(self.order, group)
                row = {**fields, self.order.on: start, **self.functions([e.row for e in session])}
                found.append((start, ("1", min(e.ts for e in session), row)))
        return found

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


class OwnSessions(Sessions):
    """Each group goes by its own tuples."""

    def __init__(self, functions: Functions, order: Order, gap: Any) -> None:
        super().__init__(functions, order, gap)
        self.gate = Gate(order, self)

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.gate.admits(row):
            return []
        # No clock has come anywhere yet: this takes in what the gate let in.
        super().push(port, row, ts)
        key = self.order.group(row)
        return in_order_of_start(self.close(self.groups[key], self.gate.bound(key)))


class BSort(ByOneClock):
    """A tuple leaves when the clock reaches it; one that comes too late for that goes straight through."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.order = order
        self.held: list[tuple[Any, int, Row, int]] = []
        self.arrivals = 0

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


class Running(BSort):
    """The tuples in the order in which they leave; one that comes too late for that is left out."""

    def __init__(self, functions: Functions, order: Order) -> None:
        super().__init__(order)
        self.windows = running.Running(functions, order)

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        value = self.order.value(row)
        if value is not None and self.bound is not None and value < self.bound:
            self.discarded["out of order"] += 1
            return []
        return self.take_in(super().push(port, row, ts))

    def reach(self, bound: Any) -> list[Out]:
        return self.take_in(super().reach(bound))

    def end(self) -> list[Out]:
        return self.take_in(super().end())

    def take_in(self, free: list[Out]) -> list[Out]:
        return [self.windows.take_in(row, ts) for _, ts, row in free]


class Wait(ByOneClock):
    """A tuple leaves when the clock has passed its T; the other input matters to the clock alone."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Out] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if port == 1:
            return []
        if row["T"] is None:
            self.discarded["no order value"] += 1
            return []
        if self.bound is not None and self.bound > row["T"]:
            return [("1", ts, row)]
        self.held.append(("1", ts, row))
        return []

    def reach(self, bound: Any) -> list[Out]:
        self.bound = bound
        free = [out for out in self.held if bound is not None and bound > out[2]["T"]]
        self.held = [out for out in self.held if out not in free]
        return free

    def end(self) -> list[Out]:
        return self.held


class TwoSides(Box):
    """Takes in what is in order by the clock of its side; `reach` says how far both clocks have come."""

    def __init__(self) -> None:
        super().__init__()
        self.bounds: tuple[Any, Any] = None, None
        self.sides: tuple[list[Row], list[Row]] = [], []

    def know(self, bounds: list[Any]) -> None:
        self.bounds = bounds[0], bounds[1]

    def tell(self, bounds: list[Any]) -> list[Out]:
        return self.reach((bounds[0], bounds[1])) or []

    def reach(self, bounds: tuple[Any, Any]) -> list[Out] | None:
        raise NotImplementedError

    def admits(self, port: int, row: Row) -> bool:
        bound = self.bounds[port]
        if row["T"] is None:
            self.discarded["no order value"] += 1
        elif bound is not None and row["T"] < bound:
            self.discarded["out of order"] += 1
        else:
            return True
        return False


class Gather(TwoSides):
    """Every left tuple with the right ones between its bounds, as soon as the clock of the right has passed them."""

    def __init__(
        self, functions: Functions, match: Callable[[Row, Row], Any], nothing: Row | None = None
    ) -> None:
        super().__init__()
        self.functions = functions
        self.match = match
        # What the functions give for a left tuple without right ones, if it comes out at all.
        self.nothing = nothing
        self.done: list[Row] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if port == 0 and row["T"] is not None and row["U"] is None:
            self.discarded["no bounds"] += 1
            return []
        if not self.admits(port, row):
            return []
        self.sides[port].append(row)
        if port == 0 and self.bounds[1] is not None and self.bounds[1] > row["U"]:
            return self.give([row])
        return []

    def reach(self, bounds: tuple[Any, Any]) -> list[Out]:
        self.bounds = bounds
        over = [row for row in self.sides[0] if bounds[1] is not None and bounds[1] > row["U"]]
        return self.give([row for row in over if not any(row is other for other in self.done)])

    def give(self, rows: list[Row]) -> list[Out]:
        found = []
        for row in rows:
            self.done.append(row)
            near = [u for u in self.sides[1] if row["T"] <= u["T"] <= row["U"] and self.match(row, u)]
            near.sort(key=lambda u: u["T"])
            values = self.functions(near) if near else self.nothing
            if values is not None:
                ordered = {name: row[name] for name in ("g", "T", "U", "v")}
                found.append((row["U"], ("1", 0, {**ordered, **values})))
        return [out for _, out in sorted(found, key=lambda pair: (pair[0], by_fields(pair[1])))]

    def end(self) -> list[Out]:
        return self.give([row for row in self.sides[0] if not any(row is other for other in self.done)])


class AsOf(TwoSides):
    """Every left tuple with the latest right one of its key that is not later, once the clock of the right is past."""

    def __init__(self, predicate: Callable[[Row, Row], Any], sides: Sides) -> None:
        super().__init__()
        self.predicate = predicate
        self.unmatched = sides
        self.waiting: list[tuple[Row, int]] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        narrow = {name: row[name] for name in self.unmatched.names[port]}
        if not self.admits(port, row):
            return []
        if port == 1:
            self.sides[1].append(narrow)
            return []
        self.waiting.append((narrow, ts))
        return self.give([self.waiting[-1]]) if self.is_passed(row) else []

    def reach(self, bounds: tuple[Any, Any]) -> list[Out]:
        self.bounds = bounds
        return self.give([each for each in self.waiting if self.is_passed(each[0])])

    def is_passed(self, row: Row) -> bool:
        return self.bounds[1] is not None and bool(self.bounds[1] > row["T"])

    def give(self, leaving: list[tuple[Row, int]]) -> list[Out]:
        self.waiting = [each for each in self.waiting if not any(each is other for other in leaving)]
        found = []
        for row, ts in sorted(leaving, key=lambda each: each[0]["T"]):
            partner = self.partner(row)
            if partner is None or not self.predicate(row, partner):
                found += self.unmatched.lone(0, ts, row)
            else:
                found += self.unmatched.pair(ts, row, partner)
        return found

    def partner(self, row: Row) -> Row | None:
        """The latest value wins and, of those, what came last."""
        if not self.unmatched.is_complete(0, row):
            return None
        key = self.unmatched.key(0, row)
        best: Row | None = None
        for other in self.sides[1]:
            fits = self.unmatched.is_complete(1, other) and self.unmatched.key(1, other) == key
            if fits and other["T"] <= row["T"] and (best is None or other["T"] >= best["T"]):
                best = other
        return best

    def end(self) -> list[Out]:
        return self.give(self.waiting)


class Resample(TwoSides):
    """Every left tuple with each group of the right that has tuples near it, once the clock of the right is past."""

    def __init__(self, functions: Functions, size: Any, right: Order) -> None:
        super().__init__()
        self.functions = functions
        self.size = size
        self.right = right
        self.done: list[Row] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.admits(port, row):
            return []
        self.sides[port].append(row)
        return self.give([row]) if port == 0 and self.is_passed(row) else []

    def reach(self, bounds: tuple[Any, Any]) -> list[Out]:
        self.bounds = bounds
        return self.give([row for row in self.sides[0] if self.is_passed(row)])

    def is_passed(self, row: Row) -> bool:
        return self.bounds[1] is not None and bool(self.bounds[1] > row["T"] + self.size)

    def give(self, rows: list[Row]) -> list[Out]:
        new = [row for row in rows if not any(row is other for other in self.done)]
        self.done += new
        found = []
        for row in new:
            near: dict[Any, list[Row]] = {}
            for other in sorted(self.sides[1], key=lambda other: other["T"]):
                if abs(other["T"] - row["T"]) <= self.size:
                    near.setdefault(self.right.group(other), []).append(other)
            for rights in near.values():
                fields = self.right.fields(rights[0])
                found.append(("1", 0, {**fields, "T": row["T"], **self.functions(rights)}))
        return sorted(found, key=lambda out: (out[2]["T"], by_fields(out)))

    def end(self) -> list[Out]:
        return self.give(self.sides[0])


class KeptJoin(TwoSides):
    """The left is kept until its U, the right until its U or for good."""

    def __init__(self, match: Callable[[Row, Row], Any], for_good: bool) -> None:
        super().__init__()
        self.match = match
        self.for_good = for_good

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.admits(port, row):
            return []
        self.sides[port].append(row)
        found = []
        for other in self.sides[1 - port]:
            bound = self.bounds[port]
            kept = bound is None or (other["U"] is not None and other["U"] >= bound)
            pair = (row, other) if port == 0 else (other, row)
            if (kept or (port == 0 and self.for_good)) and self.match(*pair):
                found.append(("1", 0, joined(*pair)))
        return found

    def reach(self, bounds: tuple[Any, Any]) -> None:
        self.bounds = bounds


class Join(TwoSides):
    """Pairs not further apart than the size; `outer` sides give tuples without a partner once none can come.

    `alone` leaves out the pairs.
    """

    def __init__(
        self, match: Callable[[Row, Row], Any], size: int, outer: tuple[int, ...], alone: bool = False
    ) -> None:
        super().__init__()
        self.match = match
        self.size = size
        self.outer = outer
        self.alone = alone
        self.came: list[tuple[int, Row]] = []
        # Those of `came` that have met a partner, or were given alone.
        self.met: list[tuple[int, Row]] = []

    def push(self, port: int, row: Row, ts: int) -> list[Out]:
        if not self.admits(port, row):
            return []
        own: tuple[int, Row] = (port, row)
        found = []
        for each in self.came:
            side, other = each
            pair = (row, other) if port == 0 else (other, row)
            if side != port and abs(row["T"] - other["T"]) <= self.size and self.match(*pair):
                found.append(("1", 0, joined(*pair)))
                self.met += [own, each]
        self.came.append(own)
        if not found and (self.is_passed(*own) or row["g"] is None):
            return self.give([own])
        return [] if self.alone else found

    def reach(self, bounds: tuple[Any, Any]) -> list[Out]:
        self.bounds = bounds
        return self.give([each for each in self.came if self.is_passed(*each)])

    def is_passed(self, port: int, row: Row) -> bool:
        bound = self.bounds[1 - port]
        return bound is not None and bool(bound > row["T"] + self.size)

    def give(self, rows: list[tuple[int, Row]]) -> list[Out]:
        lone = [each for each in rows if each[0] in self.outer and not self.has_met(each)]
        self.met += lone
        if self.alone:
            return [("1", 0, row) for _, row in lone]
        nothing = dict.fromkeys(("T", "g", "U", "v"))
        pairs = [(row, nothing) if port == 0 else (nothing, row) for port, row in lone]
        return [("1", 0, joined(*pair)) for pair in pairs]

    def has_met(self, own: tuple[int, Row]) -> bool:
        return any(own is other for other in self.met)

    def end(self) -> list[Out]:
        return self.give(self.came)
