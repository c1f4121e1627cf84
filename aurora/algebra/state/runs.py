"""Sorted runs: how the groups of a table lie in storage, an entry a group, by the hash of its key.

What one turn changed is one run, and an entry of a newer run replaces that of an older one. So a turn reads and writes
the groups that it touches, however many there are. An entry is its key and, for each part, a list of rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.arrays import expand, same_rows
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask

__all__ = [
    "HASH",
    "LAST",
    "PART",
    "ByLookup",
    "Sweep",
    "are_empty",
    "find",
    "find_bound",
    "from_lists",
    "hashes_of",
    "join_entries",
    "key_columns",
    "lengths_of",
    "make_run",
    "match",
    "merge_runs",
    "part_names",
    "rows_of_part",
    "slice_run",
    "sweep_entries",
    "take_entries",
    "take_lists",
    "to_lists",
    "with_hashes",
]

HASH = "#hash"
KEY = "#key"
# The largest hash.
LAST = 2**64 - 1
# The names of parts begin with it, those of other columns do not.
PART = "/"

# For a part, which of its rows are still of use: asked from time to time, of groups that no turn has touched for long.
Sweep = Mapping[str, Callable[[pa.RecordBatch], Mask]]


@dataclass(frozen=True)
class ByLookup:
    """The question of a sweep that looks groups up, which costs more than all else: asked once everything is merged."""

    stays: Callable[[pa.RecordBatch], Mask]

    def __call__(self, rows: pa.RecordBatch) -> Mask:
        return self.stays(rows)


def make_run(
    keys: list[pa.Array], parts: dict[str, pa.Array], hashes: Hashes, wanted: Ints
) -> pa.RecordBatch:
    """The wanted entries, which are given in the order of their hashes."""
    names = [HASH, *(f"{KEY}{i}" for i in range(len(keys))), *(PART + name for name in parts)]
    entries = pa.RecordBatch.from_arrays([pa.array(hashes), *keys, *parts.values()], names=names)
    return take_entries(entries, wanted)


def with_hashes(entries: pa.RecordBatch) -> pa.RecordBatch:
    """A run that was stored without its hashes; they follow from the keys."""
    hashes = hash_rows(key_columns(entries), entries.num_rows)
    return pa.RecordBatch.from_arrays(
        [pa.array(hashes), *entries.columns], names=[HASH, *entries.schema.names]
    )


def hashes_of(run: pa.RecordBatch) -> Hashes:
    return np.asarray(run.column(HASH).to_numpy())


def key_columns(run: pa.RecordBatch) -> list[pa.Array]:
    return [run.column(i) for i, name in enumerate(run.schema.names) if name.startswith(KEY)]


def part_names(run: pa.RecordBatch) -> list[str]:
    return [name.removeprefix(PART) for name in run.schema.names if name.startswith(PART)]


def find(run: pa.RecordBatch, keys: list[pa.Array], rows: Ints, hashes: Hashes) -> Ints:
    """For the key in each of these rows its entry in the run, -1 where there is none. `hashes`, of them, ascend."""
    known = hashes_of(run)
    place = np.full(len(rows), -1, np.int64)
    if len(known) == 0:
        return place
    low = np.searchsorted(known, hashes, side="left")
    # One behind the last stands for the last, whose hash is then another one.
    hit = np.flatnonzero(known[np.minimum(low, len(known) - 1)] == hashes)
    if len(hit) == 0:
        return place
    candidate, needle = low[hit], hit
    if (known[np.minimum(candidate + 1, len(known) - 1)] == hashes[hit])[candidate + 1 < len(known)].any():
        # Different keys with one hash.
        candidate, owner = expand(candidate, np.searchsorted(known, hashes[hit], side="right"))
        needle = hit[owner]
    stored = [column.take(pa.array(candidate)) for column in key_columns(run)]
    wanted = [column.take(pa.array(rows[needle])) for column in keys]
    same = same_rows(stored, wanted, len(candidate))
    place[needle[same]] = candidate[same]
    return place


def match(known: Hashes, hashes: Hashes) -> Ints:
    """For each of these hashes where one of `known` is equal to it, or -1. Both ascend."""
    place = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[place] == hashes, place, -1)


def slice_run(run: pa.RecordBatch, low: int, high: int) -> pa.RecordBatch:
    """The entries whose hashes lie between these two, both included."""
    hashes = hashes_of(run)
    start = int(np.searchsorted(hashes, np.uint64(low), side="left"))
    return run.slice(start, int(np.searchsorted(hashes, np.uint64(high), side="right")) - start)


def find_bound(runs: Sequence[Sequence[pa.RecordBatch]], start: int, entries: int) -> int:
    """The last hash of a range that begins at `start` and holds about so many entries of all runs.

    Each run is given as batches in the order of their hashes.
    """
    counts = [sum(batch.num_rows for batch in run) for run in runs]
    if not any(counts):
        return LAST
    # Hashes lie alike in all runs, so the largest one tells.
    largest = int(np.argmax(counts))
    ahead = max(entries * counts[largest] // sum(counts), 1)
    for batch in runs[largest]:
        hashes = hashes_of(batch)
        at = int(np.searchsorted(hashes, np.uint64(start), side="left"))
        if at + ahead < len(hashes):
            return int(hashes[at + ahead])
        ahead -= len(hashes) - at
    return LAST


def merge_runs(runs: Sequence[pa.RecordBatch], drop_empty: bool) -> pa.RecordBatch:
    """One run of several, the oldest first; without entries that hold nothing where no older run can have them."""
    if len(runs) == 1 and not drop_empty:
        return runs[0]
    merged = join_entries(runs)
    hashes = hashes_of(merged)
    # The runs are sorted already, which a merging sort makes use of.
    order = stable_order(hashes)
    newest = _are_newest(merged, hashes, order)
    if drop_empty:
        newest &= ~are_empty(merged)[order]
    return take_entries(merged, order[newest])


def join_entries(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Entries one after the other; a part that some of them lack is null there, which is an empty list."""
    if len(batches) == 1:
        return batches[0]
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    whole = pa.concat_tables(tables, promote_options="default").combine_chunks().to_batches()
    return whole[0] if whole else batches[0].slice(0, 0)


def _are_newest(entries: pa.RecordBatch, hashes: Hashes, order: Ints) -> Mask:
    """Which entries, in this order, no later one replaces."""
    ordered = hashes[order]
    newest = np.ones(len(order), bool)
    twice = np.flatnonzero(ordered[:-1] == ordered[1:])
    if len(twice) == 0:
        return newest
    keys = key_columns(entries)
    one, other = ([column.take(pa.array(order[places])) for column in keys] for places in (twice, twice + 1))
    same = same_rows(one, other, len(twice))
    newest[twice[same]] = False
    for hash_ in np.unique(ordered[twice[~same]]):
        # Different keys with one hash, which may stand in any order: looked at one by one.
        places = np.flatnonzero(ordered == hash_)
        seen: set[tuple[object, ...]] = set()
        for place in places[::-1].tolist():
            key = tuple(_comparable(column[int(order[place])].as_py()) for column in keys)
            newest[place] = key not in seen
            seen.add(key)
    return newest


def _comparable(value: object) -> object:
    return "NaN" if isinstance(value, float) and value != value else value


def are_empty(entries: pa.RecordBatch) -> Mask:
    """Which entries hold no row in any part."""
    rows = np.zeros(entries.num_rows, np.int64)
    for name in part_names(entries):
        rows += lengths_of(entries.column(PART + name))
    return np.asarray(rows == 0)


def lengths_of(lists: pa.Array) -> Ints:
    """How many rows each list has; null is an empty list."""
    lengths = lists.value_lengths()
    filled = lengths.fill_null(0) if lengths.null_count else lengths
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def take_entries(entries: pa.RecordBatch, places: Ints) -> pa.RecordBatch:
    """The entries at these places. Arrow's own `take` is slow with lists."""
    wanted = pa.array(places)
    columns = [
        take_lists(column, places) if pa.types.is_list(column.type) else column.take(wanted)
        for column in entries.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=entries.schema.names)


def take_lists(lists: pa.Array, places: Ints) -> pa.Array:
    """The lists at these places; an empty one for -1."""
    offsets = lists.offsets.to_numpy()
    starts, lengths = offsets[places].astype(np.int64), offsets[places + 1] - offsets[places]
    lengths[places < 0] = 0
    if lists.null_count:
        lengths[~lists.is_valid().to_numpy(zero_copy_only=False)[places]] = 0
    ends = np.cumsum(lengths)
    if len(lengths) and lengths.min() == lengths.max() == 1:
        rows = starts
    else:
        rows = np.repeat(starts + lengths - ends, lengths) + np.arange(ends[-1] if len(ends) else 0)
    taken = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    return pa.ListArray.from_arrays(taken, lists.values.take(pa.array(rows)))


def to_lists(group: Ints, rows: pa.RecordBatch, groups: int) -> pa.Array:
    """The rows of each group as a list; `group` ascends."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), rows.to_struct_array())


def from_lists(lists: pa.Array) -> tuple[Ints, pa.RecordBatch] | None:
    """The group of each row, and the rows; None if there are none."""
    rows = lists.flatten()
    if len(rows) == 0:
        return None
    return np.repeat(np.arange(len(lists)), lengths_of(lists)), pa.RecordBatch.from_struct_array(rows)


def rows_of_part(entries: pa.RecordBatch, part: str) -> tuple[Ints, pa.RecordBatch] | None:
    """What the entries hold in a part: the place of the entry of each row, and the rows."""
    if PART + part not in entries.schema.names:
        return None
    return from_lists(entries.column(PART + part))


def sweep_entries(entries: pa.RecordBatch, sweep: Sweep, whole: bool = True) -> pa.RecordBatch:
    """The entries without the rows that are of no more use; `whole` says whether these are all entries."""
    for part, stays in sweep.items():
        if isinstance(stays, ByLookup) and not whole:
            continue
        found = rows_of_part(entries, part)
        if found is None:
            continue
        entry, rows = found
        mask = stays(rows)
        if not mask.all():
            lists = to_lists(entry[mask], rows.filter(pa.array(mask)), entries.num_rows)
            entries = entries.set_column(entries.schema.names.index(PART + part), PART + part, lists)
    return entries
