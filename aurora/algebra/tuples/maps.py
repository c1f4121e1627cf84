"""Columns of maps: their entries one behind the other, and back."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.lists import list_lengths
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints

__all__ = ["Entries", "as_lists", "entries_of", "to_maps"]


class Entries(NamedTuple):
    """How many entries each map has, and all keys and values; a null has none."""

    lengths: Ints
    keys: pa.Array
    items: pa.Array

    @property
    def owner(self) -> Ints:
        """The map of each entry."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def as_lists(maps: pa.Array) -> pa.Array:
    """Each map as the list of its entries."""
    kind = maps.type
    return maps.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))


def entries_of(maps: pa.Array) -> Entries:
    """The entries in order.

    >>> maps = pa.array([[("a", 1)], None, [("b", 2), ("a", 3)]], pa.map_(pa.string(), pa.int64()))
    >>> entries_of(maps[1:]).keys.to_pylist(), entries_of(maps).lengths.tolist()
    (['b', 'a'], [1, 0, 2])
    """
    lists = as_lists(maps)
    keys, items = lists.flatten().flatten()
    return Entries(list_lengths(lists), keys, items)


def to_maps(entries: Entries, missing: pa.Array | None) -> pa.Array:
    """The maps with those entries, null where `missing` says so; of a key that comes twice, the last value."""
    entries = _each_key_once(entries)
    ends = np.concatenate([[0], np.cumsum(entries.lengths)]).astype(np.int32)
    if missing is None or not pc.any(missing).as_py():
        missing = None
    return pa.MapArray.from_arrays(pa.array(ends), entries.keys, entries.items, mask=missing)


def _each_key_once(entries: Entries) -> Entries:
    owner = entries.owner
    words = entries.keys.dictionary_encode()
    codes = words.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    both = owner * max(len(words.dictionary), 1) + codes
    different, first = np.unique(both, return_index=True)
    if len(different) == len(both):
        return entries
    _, last = np.unique(both[::-1], return_index=True)
    last = len(both) - 1 - last
    order = stable_order(first)
    kept, values = first[order], last[order]
    lengths = np.bincount(owner[kept], minlength=len(entries.lengths))
    return Entries(lengths, entries.keys.take(pa.array(kept)), entries.items.take(pa.array(values)))
