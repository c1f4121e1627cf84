"""What a box keeps from one train to the next: named batches, and groups, of which a turn reads what it touches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from aurora.algebra.state.groups import Groups
from aurora.algebra.state.runs import Sweep, are_empty, merge_runs, slice_run, sweep_entries

__all__ = ["Changes", "Delta", "State", "Store", "Stored"]


# So many runs are looked through one by one; more are merged.
MANY = 4


class Store(Protocol):
    """Where state lies between two turns."""

    def read(self, name: str) -> pa.RecordBatch | None: ...

    def runs(self, table: str, sweep: Sweep | None) -> list[pa.RecordBatch]:
        """The runs of a table, the oldest first."""
        ...

    def size(self, prefix: str) -> int:
        """The bytes of what has a name that begins so."""
        ...


@dataclass(frozen=True)
class Delta:
    """A run that a turn adds to a table; with `whole` it takes the place of all others."""

    run: pa.RecordBatch
    whole: bool = False


@dataclass(frozen=True)
class Changes:
    """What a turn changed: None stands for a name that was removed."""

    values: dict[str, pa.RecordBatch | None]
    deltas: dict[str, Delta]


@dataclass
class _Turn:
    """What all boxes of a stage have read and put in one turn."""

    values: dict[str, pa.RecordBatch | None] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    open: dict[str, list[Groups]] = field(default_factory=dict)
    deltas: dict[str, list[Delta]] = field(default_factory=dict)


class State:
    """What a box stores. `within` gives a box its own names, `guarded` checks what it asks for."""

    def __init__(self, store: Store | None = None) -> None:
        self._store: Store = store or Stored()
        self._turn = _Turn()
        self._prefix = ""
        self._guard: Callable[[str], None] | None = None
        self._slice: tuple[int, int] | None = None

    def within(self, prefix: str) -> "State":
        """The part of this state whose names begin with `prefix`."""
        return self._view(self._prefix + prefix, self._guard)

    def guarded(self, guard: Callable[[str], None]) -> "State":
        """The same state; `guard` raises a fault for names that must not be asked for."""
        return self._view(self._prefix, guard)

    def as_stored(self) -> "State":
        """The state as it was when the turn began, read-only."""
        view = State(self._store)
        view._prefix, view._guard = self._prefix, self._guard
        return view

    def in_slice(self, low: int, high: int) -> "State":
        """The state as stored, restricted to the groups whose hash lies between `low` and `high`."""
        view = self.as_stored()
        view._slice = low, high
        return view

    def count(self, table: str) -> int:
        """How many groups a table has at most."""
        return sum(run.num_rows for run in self._store.runs(self._name(table), None))

    def _view(self, prefix: str, guard: Callable[[str], None] | None) -> "State":
        view = State(self._store)
        view._turn, view._prefix, view._guard = self._turn, prefix, guard
        return view

    def get(self, name: str) -> pa.RecordBatch | None:
        """The batch stored under this name, or None."""
        full = self._name(name)
        values = self._turn.values
        if full not in values:
            values[full] = self._store.read(full)
        return values[full]

    def put(self, name: str, value: pa.RecordBatch | None) -> None:
        """Stores a batch; an empty one, or None, removes the name."""
        empty = value is None or value.num_rows == 0
        if empty and self.get(name) is None:
            return
        full = self._name(name)
        self._turn.values[full] = None if empty else value
        self._turn.changed.add(full)

    def groups(
        self,
        name: str,
        fields: Sequence[str],
        *streams: pa.RecordBatch | tuple[pa.RecordBatch, Sequence[str]],
        everything: bool = False,
        sweep: Sweep | None = None,
    ) -> Groups:
        """The groups of the rows of these streams, with what is stored for them.

        Give a stream together with its field names if they differ. With `everything`, all other groups are there too. A
        second call for the same groups sees what was put before, and only the latest one may put more.
        """
        full = self._name(name)
        self._flush(full)
        deltas = self._turn.deltas.get(full, [])
        runs = [delta.run for delta in deltas]
        if not any(delta.whole for delta in deltas):
            stored = self._store.runs(full, sweep)
            if self._slice is not None:
                stored = [slice_run(run, *self._slice) for run in stored]
            runs = stored + runs
        sides = [side if isinstance(side, tuple) else (side, fields) for side in streams]
        groups = Groups(runs, len(fields), sides, everything)
        self._turn.open.setdefault(full, []).append(groups)
        return groups

    def bytes(self, prefix: str = "") -> int:
        """The size of what is stored, as of the last turn."""
        return self._store.size(self._prefix + prefix)

    def changes(self) -> Changes:
        """What was put since the last call."""
        for table in list(self._turn.open):
            self._flush(table)
        turn = self._turn
        changes = Changes(
            {name: turn.values[name] for name in sorted(turn.changed)},
            {table: _join(turn.deltas[table]) for table in sorted(turn.deltas)},
        )
        turn.changed.clear()
        turn.deltas.clear()
        return changes

    def _flush(self, table: str) -> None:
        """What was put so far becomes a run, which whoever asks for the table next sees."""
        for groups in self._turn.open.pop(table, []):
            run = groups.changed_entries()
            if run is not None:
                delta = Delta(run, groups.everything)
                before = [] if delta.whole else self._turn.deltas.get(table, [])
                found = [*before, delta]
                self._turn.deltas[table] = found if len(found) < MANY else [_join(found)]

    def _name(self, name: str) -> str:
        if self._guard is not None:
            self._guard(name)
        return self._prefix + name


def _join(deltas: list[Delta]) -> Delta:
    whole = any(delta.whole for delta in deltas)
    return Delta(merge_runs([delta.run for delta in deltas], drop_empty=whole), whole)


class Stored:
    """A store in memory, for tests and for boxes that are called by hand."""

    def __init__(self) -> None:
        self.values: dict[str, pa.RecordBatch] = {}
        self.tables: dict[str, list[pa.RecordBatch]] = {}

    def read(self, name: str) -> pa.RecordBatch | None:
        return self.values.get(name)

    def runs(self, table: str, sweep: Sweep | None) -> list[pa.RecordBatch]:
        runs = self.tables.get(table, [])
        if len(runs) >= MANY:
            merged = sweep_entries(merge_runs(runs, drop_empty=True), sweep or {})
            runs = self.tables[table] = [merged.filter(pa.array(~are_empty(merged)))]
        return list(runs)

    def size(self, prefix: str) -> int:
        held: Mapping[str, list[pa.RecordBatch]] = {**{k: [v] for k, v in self.values.items()}, **self.tables}
        return sum(int(b.nbytes) for name, found in held.items() if name.startswith(prefix) for b in found)

    def write(self, changes: Changes) -> None:
        for name, value in changes.values.items():
            if value is None:
                self.values.pop(name, None)
            else:
                self.values[name] = value
        for table, delta in changes.deltas.items():
            before = [] if delta.whole else self.tables.get(table, [])
            self.tables[table] = [*before, delta.run] if delta.run.num_rows or before else []
            if not self.tables[table]:
                del self.tables[table]
