"""The groups that a turn touches: numbered from 0 as they first come, each with the rows that a box keeps of it."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from aurora.algebra.state.runs import (
    PART,
    find,
    from_lists,
    hashes_of,
    join_entries,
    key_columns,
    lengths_of,
    make_run,
    match,
    merge_runs,
    part_names,
    take_entries,
    take_lists,
    to_lists,
)
from aurora.algebra.tuples.arrays import encode, first_places, same_rows
from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask

__all__ = ["Groups"]

Side = tuple[pa.RecordBatch, Sequence[str]]


class Groups:
    """`numbers` has, for each stream, the group of each of its rows. Without key fields there is one group."""

    def __init__(
        self, runs: list[pa.RecordBatch], width: int, sides: Sequence[Side], everything: bool
    ) -> None:
        self.everything = everything
        self.numbers, self.keys = _number(width, sides)
        self._hashes = hash_rows(self.keys, len(self.keys[0]) if width else 1)
        self._stored: pa.RecordBatch | None = None
        if everything and runs:
            self._load_everything(merge_runs(runs, drop_empty=True))
        else:
            self._stored, self._place = _load(runs, self.keys, self._hashes, self._order)
        self._parts: dict[str, pa.Array] = {}
        self._dirty = np.zeros(len(self), bool)

    @cached_property
    def _order(self) -> Ints:
        """The groups in the order of their hashes."""
        return stable_order(self._hashes)

    def __len__(self) -> int:
        return len(self._hashes)

    def _load_everything(self, whole: pa.RecordBatch) -> None:
        """Groups that no row of the turn has touched get the numbers behind those that one has."""
        self._stored = whole
        order = stable_order(self._hashes)
        place = np.empty(len(order), np.int64)
        place[order] = find(whole, self.keys, order, self._hashes[order])
        others = np.ones(whole.num_rows, bool)
        others[place[place >= 0]] = False
        rest = np.flatnonzero(others)
        self._place = np.concatenate([place, rest])
        self.keys = [
            pa.concat_arrays([own, stored.take(pa.array(rest))])
            for own, stored in zip(self.keys, key_columns(whole), strict=True)
        ]
        self._hashes = np.concatenate([self._hashes, hashes_of(whole)[rest]])

    def columns(self, numbers: Ints) -> list[pa.Array]:
        """The key fields of each group."""
        return [column.take(pa.array(numbers)) for column in self.keys]

    def find(self, keys: list[pa.Array]) -> Ints:
        """The number of the group with each key, -1 where it is none of these."""
        if not keys:
            return np.zeros(0, np.int64)
        columns = []
        for own, column in zip(self.keys, keys, strict=True):
            if own.type != column.type:
                own, column = own.cast(pa.int64()), column.cast(pa.int64())
            columns.append(pa.concat_arrays([own, column]))
        numbers = encode(columns)[len(self) :]
        return np.where(numbers < len(self), numbers, -1)

    def rows(self, part: str) -> tuple[Ints, pa.RecordBatch] | None:
        """What is stored for the groups under this name: the group of each row, ascending, and the rows."""
        lists = self._lists(part)
        return None if lists is None else from_lists(lists)

    def put(self, part: str, group: Ints, rows: pa.RecordBatch, changed: Mask | None = None) -> None:
        """Replaces what is stored under this name; `changed` are the groups for which that makes a difference."""
        if len(group) > 1 and (group[1:] < group[:-1]).any():
            order = stable_order(group)
            group, rows = group[order], rows.take(pa.array(order))
        self._parts[part] = to_lists(group, rows, len(self))
        self._dirty |= np.ones(len(self), bool) if changed is None else changed

    def _lists(self, part: str) -> pa.Array | None:
        """The rows of each group as a list."""
        if part in self._parts:
            return self._parts[part]
        if self._stored is None or PART + part not in self._stored.schema.names:
            return None
        return take_lists(self._stored.column(PART + part), self._place)

    def changed_entries(self) -> pa.RecordBatch | None:
        """The run of what was put; None if nothing was."""
        if not self._dirty.any():
            return None
        names = dict.fromkeys([*self._parts, *([] if self._stored is None else part_names(self._stored))])
        parts = {}
        for name in names:
            lists = self._lists(name)
            assert lists is not None
            parts[name] = lists
        wanted = ~_hold_nothing(parts, len(self))
        if not self.everything:
            wanted = self._dirty & (wanted | (self._place >= 0))
            if not wanted.any():
                return None
        return make_run(self.keys, parts, self._hashes, self._order[wanted[self._order]])


def _hold_nothing(parts: dict[str, pa.Array], groups: int) -> Mask:
    rows = np.zeros(groups, np.int64)
    for lists in parts.values():
        rows += lengths_of(lists)
    return np.asarray(rows == 0)


def _number(width: int, sides: Sequence[Side]) -> tuple[list[Ints], list[pa.Array]]:
    """The number of each row's group, stream by stream, and the key of each group."""
    counts = [rows.num_rows for rows, _ in sides]
    if width == 0:
        return [np.zeros(count, np.int64) for count in counts], []
    columns = []
    for position in range(width):
        pieces = [rows.column(names[position]) for rows, names in sides]
        if any(piece.type != pieces[0].type for piece in pieces):
            # Integers of two widths.
            pieces = [piece.cast(pa.int64()) for piece in pieces]
        columns.append(pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces))
    codes = encode(columns)
    firsts = pa.array(first_places(codes))
    numbers = np.split(codes, np.cumsum(counts)[:-1])
    # A key is the same whichever of equal values comes first.
    return numbers, [normalise(column.take(firsts)) for column in columns]


def _load(
    runs: list[pa.RecordBatch], keys: list[pa.Array], hashes: Hashes, order: Ints
) -> tuple[pa.RecordBatch | None, Ints]:
    """The newest entry of each key, and where it stands among those that are given; -1 for a key without one.

    Looks for the hashes alone, and compares the keys once, of all that was found. Where that does not do, because
    different keys have one hash, it looks again and compares the keys in each run.
    """
    ordered = hashes[order]
    if not (ordered[1:] == ordered[:-1]).any():
        found, place = _find_newest(
            runs, order, ordered, lambda run, here: match(hashes_of(run), ordered[here])
        )
        if found is None:
            return None, place
        places = np.flatnonzero(place >= 0)
        stored = [column.take(pa.array(place[places])) for column in key_columns(found)]
        if same_rows(stored, [column.take(pa.array(places)) for column in keys], len(places)).all():
            return found, place
    return _find_newest(runs, order, ordered, lambda run, here: find(run, keys, order[here], ordered[here]))


def _find_newest(
    runs: list[pa.RecordBatch],
    order: Ints,
    ordered: Hashes,
    find_in: Callable[[pa.RecordBatch, Ints], Ints],
) -> tuple[pa.RecordBatch | None, Ints]:
    """The same, by a function that gives the place in a run of each of these keys, or -1."""
    place = np.full(len(order), -1, np.int64)
    missing = np.ones(len(order), bool)
    found: list[pa.RecordBatch] = []
    count = 0
    for run in reversed(runs):
        if run.num_rows == 0:
            continue
        # A run may hold a range of hashes.
        known = hashes_of(run)
        low = np.searchsorted(ordered, known[0], side="left")
        high = np.searchsorted(ordered, known[-1], side="right")
        here = low + np.flatnonzero(missing[low:high])
        if len(here) == 0:
            continue
        at = find_in(run, here)
        hit = at >= 0
        if hit.any():
            found.append(take_entries(run, at[hit]))
            place[order[here[hit]]] = np.arange(count, count + len(found[-1]))
            count += len(found[-1])
            missing[here[hit]] = False
    if not found:
        return None, place
    return join_entries(found), place
