"""Sources whose rows arrive in the order of a field: what one of them gives waits for the others to come as far."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.train import Ints
from aurora.engine.sources.files.merged_piece import count_first
from aurora.engine.sources.in_order.merging import LOWEST, Keys, Places, count_safe, find_positions
from aurora.engine.sources.in_order.piece import Late, OrderedPiece, read_keys, show_key
from aurora.engine.sources.input_checks import find_origins
from aurora.engine.sources.source import (
    NOTICE,
    Cursor,
    Piece,
    Source,
    bytes_of_row,
    check_reached,
    forget_before,
    has_moved,
    is_replaced,
    paths_read,
    rows_waiting,
    source_identity,
    why_uncut,
)
from aurora.engine.waits import Waiting, waits
from aurora.errors import AuroraError
from aurora.network.network import Network

__all__ = ["InOrder", "Member", "Together", "put_in_order"]

# So many rows of an input are looked at, at least.
LEAST = 4096


def put_in_order(network: Network, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the sources of a network, those of inputs with an order merged by it."""
    entries = {name: network.inputs[name] for name in sources}
    members = []
    for name, entry in entries.items():
        if entry.order is not None:
            reason = why_uncut(sources[name], sources[name].begin())
            if reason:
                raise AuroraError(
                    f"input {name}: order: {entry.order}: {reason}; leave order out, or take another source"
                )
            kind = entry.schema[entry.order]
            members.append(Member(name, sources[name], entry.order, kind, entry.idle))
    if not members:
        return dict(sources)
    slot = list(sources).index(members[0].name)
    together = Together(tuple(members), len(sources), slot)
    ordered = {member.name: InOrder(together, index) for index, member in enumerate(members)}
    return {name: ordered.get(name, source) for name, source in sources.items()}


def _milliseconds() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class Member:
    """An input with the field by which it is merged, and for how many milliseconds others wait while it is silent."""

    name: str
    source: Source
    field: str
    kind: pa.DataType
    idle: int | None = None


@dataclass(frozen=True)
class State:
    """How far the inputs have come: a place in each, and the value of the last row of each."""

    places: tuple[Cursor, ...]
    keys: tuple[int, ...]

    @staticmethod
    def of(cursor: Cursor) -> "State":
        return State(tuple(cursor["all"]), tuple(cursor["keys"]))

    @property
    def floor(self) -> int:
        """The value of the last row of all that went out."""
        return max(self.keys)


@dataclass(frozen=True)
class Ahead:
    """The rows of an input from a place up to another one, of which nothing has gone out yet."""

    start: Cursor
    end: Cursor
    keys: Keys


@dataclass
class Together:
    """The inputs that are merged. What is known of the rows ahead is kept from one batch to the next.

    Of the turns that the inputs of the network take, `inputs` of them, these have the one with the number `slot`.
    """

    members: tuple[Member, ...]
    inputs: int
    slot: int
    clock: Callable[[], int] = _milliseconds
    least: int = LEAST
    _ahead: dict[int, Ahead] = field(default_factory=dict, repr=False)
    # When each input gave its last row.
    _gave: dict[int, int] = field(default_factory=dict, repr=False)
    _found: tuple[State, State] | None = field(default=None, repr=False)
    _batch: tuple[State, State, list[Keys]] | None = field(default=None, repr=False)
    # Which input the others wait for, and what is told of that.
    _silent: tuple[int, Waiting] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]

    def begin(self) -> State:
        return State(tuple(member.source.begin() for member in self.members), (LOWEST,) * len(self.members))

    def advance(self, index: int, state: State, rows: int) -> State:
        """Return how far a batch goes; the first input looks anew, the others take what it found."""
        if index == 0 or self._found is None or self._found[0] != state:
            self._found = state, self._advance(state, rows)
        return self._found[1]

    def _advance(self, state: State, rows: int) -> State:
        ahead = [self._known(index, state) for index in range(len(self.members))]
        asked = self._look_ahead(ahead, state, rows)
        while True:
            counts = self._count(ahead, state, asked, rows)
            reached = [self._reach(index, ahead[index], count) for index, count in enumerate(counts)]
            anew = [
                index for index, count in enumerate(counts) if count and self._is_stale(index, ahead[index])
            ]
            if anew:
                for index in anew:
                    ahead[index] = Ahead(ahead[index].start, ahead[index].start, Keys.none())
                asked = self._look_ahead(ahead, state, rows)
                continue
            moved = [
                place["row"] - before["row"] for place, before in zip(reached, state.places, strict=True)
            ]
            short = [index for index, count in enumerate(counts) if moved[index] < count]
            for index, count in enumerate(counts):
                if moved[index] > count:
                    name = self.members[index].name
                    raise AuroraError(
                        f"input {name}: order: its source gave {moved[index]} rows where {count} were asked for, and "
                        "cannot be held at any row; leave order out, or take another source"
                    )
            if not short:
                break
            # A source that gives fewer rows at once than it has: the others wait for the rest.
            for index in short:
                ahead[index] = Ahead(
                    ahead[index].start, reached[index], ahead[index].keys.cut(0, moved[index])
                )
                asked.discard(index)
        self._ahead = {
            index: Ahead(reached[index], known.end, known.keys.cut(count, len(known.keys)))
            for index, (known, count) in enumerate(zip(ahead, counts, strict=True))
        }
        keys = tuple(
            int(known.keys.values[count - 1]) if count else key
            for known, count, key in zip(ahead, counts, state.keys, strict=True)
        )
        end = State(tuple(reached), keys)
        taken = [known.keys.cut(0, count) for known, count in zip(ahead, counts, strict=True)]
        self._batch = state, end, taken
        return end

    def _reach(self, index: int, known: Ahead, count: int) -> Cursor:
        """Return the place behind so many rows: in one step, as whoever reads them must know of all files between."""
        if count:
            return self.members[index].source.advance(known.start, count)
        return known.start if len(known.keys) else known.end

    def _is_stale(self, index: int, known: Ahead) -> bool:
        """Whether what is known of an input is that of a file which another one has replaced since."""
        return is_replaced(self.members[index].source, known.end)

    def _look_ahead(self, ahead: list[Ahead], state: State, rows: int) -> set[int]:
        """Look at further rows until enough of them can go; return the inputs of which no row is waited for."""
        free: set[int] = set()
        now = self.clock()
        for index in range(len(self.members)):
            self._gave.setdefault(index, now)
        while True:
            free |= {index for index, known in enumerate(ahead) if self._is_over(index, known.end)}
            safe, limit = self._safe(ahead, state, free)
            if limit is None or sum(safe) >= rows:
                self._tell_of(None)
                return free
            longer = self._longer(limit, ahead[limit], state, max(self.least, rows // len(ahead)))
            if longer is not None:
                if len(longer.keys) > len(ahead[limit].keys):
                    self._gave[limit] = now
                ahead[limit] = longer
                continue
            idle = self.members[limit].idle
            if idle is None or now - self._gave[limit] < idle:
                held = any(len(known.keys) > most for known, most in zip(ahead, safe, strict=True))
                self._tell_of(limit if held else None)
                return free
            free.add(limit)

    def _tell_of(self, silent: int | None) -> None:
        """Say that rows of the other inputs wait for this one, or for none any more."""
        if self._silent is not None and self._silent[0] != silent:
            index, waiting = self._silent
            waits.end(waiting, f"input {self.members[index].name} holds up no other any more")
            self._silent = None
        if self._silent is None and silent is not None:
            member = self.members[silent]
            others = ", ".join(name for name in self.names if name != member.name)
            most = "; idle: 10s there would set a limit"
            if member.idle is not None:
                most = f" for {member.idle / 1000:g} s at most"
            self._silent = (
                silent,
                waits.begin(
                    f"input {member.name} gives no row, and {others} must not run ahead of its {member.field}",
                    f"their rows wait for it{most}",
                    once=True,
                ),
            )

    def _safe(self, ahead: list[Ahead], state: State, free: set[int]) -> tuple[list[int], int | None]:
        keys = [known.keys.values for known in ahead]
        levels = [
            int(own[-1]) if len(own) else key if place["row"] else None
            for own, key, place in zip(keys, state.keys, state.places, strict=True)
        ]
        return count_safe(keys, levels, [index not in free for index in range(len(ahead))])

    def _count(self, ahead: list[Ahead], state: State, free: set[int], rows: int) -> list[int]:
        """Return how many rows of each input are among the first that can go."""
        safe, _ = self._safe(ahead, state, free)
        return count_first([known.keys.values[:most] for known, most in zip(ahead, safe, strict=True)], rows)

    def _is_over(self, index: int, place: Cursor) -> bool:
        return self.members[index].source.finished(place)

    def _known(self, index: int, state: State) -> Ahead:
        known, place = self._ahead.get(index), state.places[index]
        return known if known is not None and known.start == place else Ahead(place, place, Keys.none())

    def _longer(self, index: int, known: Ahead, state: State, rows: int) -> Ahead | None:
        """Return what is known with further rows, None if there are none now."""
        member = self.members[index]
        reached = member.source.advance(known.end, rows)
        # Asked behind the look: before that, the file could be replaced in between.
        if self._is_stale(index, known):
            known = Ahead(known.start, known.start, Keys.none())
            reached = member.source.advance(known.end, rows)
        if reached["row"] == known.end["row"]:
            # A header alone, or the end of a file: the place is another one.
            return Ahead(known.start, reached, known.keys) if has_moved(known.end, reached) else None
        reason = why_uncut(member.source, reached)
        if reason:
            raise AuroraError(
                f"input {member.name}: order: {member.field}: {reason}; start over without order"
            )
        before = int(known.keys.values[-1]) if len(known.keys) else max(state.keys[index], state.floor)
        more = self._read(index, known.end, reached, before)
        return Ahead(known.start, reached, more.behind(known.keys))

    def _read(self, index: int, start: Cursor, end: Cursor, before: int) -> Keys:
        """Read the values of the rows between two places; `before` came before them."""
        member = self.members[index]
        pieces = member.source.pieces(start, end, 1)
        parts = [read_keys(piece, member.name, member.field, member.kind) for piece in pieces]
        nothing = np.empty(0, np.int64)
        values = np.concatenate([nothing, *(part[0] for part in parts)])
        there = np.concatenate([nothing, *(part[1] for part in parts)]) - start["row"]
        keys = Keys.of(values, there, end["row"] - start["row"], before)
        if len(keys.late) and not member.source.live:
            number = int(keys.late[0]) + start["row"]
            for _, _, portion in parts:
                place = np.flatnonzero(portion.numbers == number)
                if len(place):
                    (found,) = find_origins(member.name, portion, place)
                    raise self._unordered(member, f"line {found.line} of {found.file}", keys)
            raise self._unordered(member, f"row {number + 1}", keys)
        return keys

    def _unordered(self, member: Member, where: str, keys: Keys) -> AuroraError:
        own, before = int(keys.own[0]), int(keys.values[keys.late[0]])
        return AuroraError(
            f"input {member.name} is not in the order of {member.field}: {where} has {show_key(own, member.kind)} "
            f"after {show_key(before, member.kind)}; sort it first, or leave order out"
        )

    def find_keys(self, start: State, end: State) -> list[Keys]:
        """Return the keys of the rows of a batch, read again where another process has made it."""
        if self._batch is None or self._batch[:2] != (start, end):
            keys = [
                self._read(index, low, high, max(start.keys[index], start.floor))
                if low["row"] != high["row"]
                else Keys.none()
                for index, (low, high) in enumerate(zip(start.places, end.places, strict=True))
            ]
            self._batch = start, end, keys
        return self._batch[2]


@dataclass
class InOrder:
    """One of the sources. A cursor has its own rows, and how far all have come."""

    merged: Together
    index: int

    @property
    def _member(self) -> Member:
        return self.merged.members[self.index]

    @property
    def _own(self) -> Source:
        return self._member.source

    @property
    def live(self) -> bool:
        return self._own.live

    @property
    def keeps(self) -> bool:
        return bool(getattr(self._own, "keeps", False))

    @property
    def history(self) -> bool:
        return bool(getattr(self._own, "history", False))

    @property
    def reads(self) -> tuple[str, ...]:
        return paths_read(self._own)

    def identity(self) -> str:
        return f"{source_identity(self._own)} in the order of {self._member.field}"

    def begin(self) -> Cursor:
        return self._cursor(self.merged.begin(), {})

    def _cursor(self, state: State, more: Mapping[str, Any]) -> Cursor:
        row = state.places[self.index]["row"]
        return {"row": row, "all": list(state.places), "keys": list(state.keys), **more}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        state = State.of(cursor)
        reached = self.merged.advance(self.index, state, rows)
        if reached == state:
            return cursor
        before, after = state.places[self.index], reached.places[self.index]
        # What a source says of its place counts for the batch that came there.
        more = {key: after[key] for key in (NOTICE, "now") if key in after and after != before}
        return self._cursor(reached, more)

    def finished(self, cursor: Cursor) -> bool:
        return self._own.finished(cursor["all"][self.index])

    def waiting(self, cursor: Cursor) -> int | None:
        return rows_waiting(self._own, cursor["all"][self.index])

    def row_bytes(self, cursor: Cursor) -> int:
        return bytes_of_row(self._own, cursor["all"][self.index])

    def forget(self, cursor: Cursor) -> None:
        forget_before(self._own, cursor["all"][self.index])

    def check_reached(self, cursor: Cursor) -> None:
        check_reached(self._own, cursor["all"][self.index])

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        low, high = State.of(start), State.of(end)
        if low.places[self.index]["row"] == high.places[self.index]["row"]:
            return []
        keys = self.merged.find_keys(low, high)
        own = keys[self.index]
        places = Places.of(self._positions(keys))
        late = Late(own.late, own.own, own.values[own.late])
        member, merged = self._member, self.merged
        return [
            OrderedPiece(
                piece, member.name, member.field, member.kind, int(start["row"]), places, late, merged.inputs,
                merged.slot,
            )
            for piece in self._own.pieces(low.places[self.index], high.places[self.index], number)
        ]  # fmt: skip

    def _positions(self, keys: list[Keys]) -> Ints:
        return find_positions([each.values for each in keys])[self.index]
