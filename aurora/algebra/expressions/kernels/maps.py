"""Maps: made, taken apart and looked into, all entries of a column at once."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.arrays import as_columns
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always, column, nulls
from aurora.algebra.expressions.kernels.text import constant
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.lists import list_lengths
from aurora.algebra.tuples.maps import Entries, as_lists, entries_of, to_maps
from aurora.algebra.tuples.types import BOOLEAN, INT, STRING

__all__ = ["KERNELS"]


def element(maps: Value, key: Value) -> pa.Array:
    """The value of the key; null where there is none."""
    maps, key = as_columns(maps, key)
    entries = entries_of(maps)
    place = np.full(len(maps), -1)
    found = np.flatnonzero(_matches(entries, key))
    place[entries.owner[found]] = found
    return entries.items.take(pa.array(np.maximum(place, 0), mask=place < 0))


def contains_key(maps: Value, key: Value) -> pa.Array:
    maps, key = as_columns(maps, key)
    entries = entries_of(maps)
    there = np.bincount(entries.owner[_matches(entries, key)], minlength=len(maps)) > 0
    return column(there, nulls(maps, key), BOOLEAN)


def _matches(entries: Entries, key: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    same = pc.equal(entries.keys, key.take(pa.array(entries.owner)))
    return np.asarray(pc.fill_null(same, False).to_numpy(zero_copy_only=False))


def part(keys: bool) -> Maker:
    def make(node: Call) -> Kernel:
        def kernel(maps: Value) -> pa.Array:
            entries = entries_of(maps)
            ends = np.concatenate([[0], np.cumsum(entries.lengths)]).astype(np.int32)
            missing = pc.is_null(maps) if maps.null_count else None
            chosen = entries.keys if keys else entries.items
            return pa.ListArray.from_arrays(pa.array(ends), chosen, mask=missing).cast(node.type)

        return kernel

    return make


def size(maps: Value) -> pa.Array:
    """Of a null -1, as in Spark."""
    return pc.fill_null(as_lists(maps).value_lengths(), -1).cast(INT)


def made(node: Call) -> Kernel:
    width = len(node.args) // 2

    def kernel(*values: Value) -> pa.Array:
        columns = as_columns(*values)
        rows = len(columns[0])
        order = pa.array((np.arange(rows)[:, None] + rows * np.arange(width)).ravel())
        keys, items = (pa.concat_arrays(columns[first::2]).take(order) for first in (0, 1))
        entries = Entries(np.full(rows, width), keys, items.cast(node.type.item_type))
        return to_maps(entries, None)

    return kernel


def from_arrays(node: Call) -> Kernel:
    """Null where there are more keys than values, or fewer, or a key is null: there Spark ends the query."""

    def kernel(keys: Value, values: Value) -> pa.Array:
        keys, values = as_columns(keys, values)
        lengths = list_lengths(keys)
        owner = np.repeat(np.arange(len(keys)), lengths)
        unknown = np.asarray(pc.is_null(keys.flatten()).to_numpy(zero_copy_only=False))
        bad = (lengths != list_lengths(values)) | (np.bincount(owner[unknown], minlength=len(keys)) > 0)
        missing = nulls(keys, values)
        missing = bad if missing is None else bad | missing
        blank = pa.array(missing)
        keys, values = (pc.if_else(blank, pa.scalar(None, each.type), each) for each in (keys, values))
        entries = Entries(np.where(missing, 0, lengths), keys.flatten(), values.flatten())
        return to_maps(entries, blank)

    return kernel


def str_to_map(node: Call) -> Kernel:
    between, behind_key = constant(node, 1), constant(node, 2)

    def kernel(value: Value, *_: Value) -> pa.Array:
        parts = pc.split_pattern(value, between)
        pair = pc.split_pattern(parts.flatten(), behind_key, max_splits=1)
        sizes = list_lengths(pair)
        starts = np.cumsum(sizes) - sizes
        words = pair.flatten()
        values = words.take(pa.array(starts + sizes - 1, mask=sizes < 2)).cast(STRING)
        entries = Entries(list_lengths(parts), words.take(pa.array(starts)).cast(STRING), values)
        return to_maps(entries, pc.is_null(value))

    return kernel


KERNELS: dict[str, Maker] = {
    "map": made,
    "map_element": always(element),
    "map_contains_key": always(contains_key),
    "map_keys": part(keys=True),
    "map_values": part(keys=False),
    "map_size": always(size),
    "map_from_arrays": from_arrays,
    "str_to_map": str_to_map,
}
