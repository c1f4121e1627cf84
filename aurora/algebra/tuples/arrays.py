"""Algorithms on arrays that the boxes share: codes of equal rows, runs of equal values, ranges of positions."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.floats import normalise
from aurora.algebra.tuples.packing import pack
from aurora.algebra.tuples.sorting import lexical_order, stable_order
from aurora.algebra.tuples.train import Ints, Mask, Values

__all__ = [
    "encode",
    "expand",
    "find_runs",
    "find_starts",
    "first_not_before",
    "first_places",
    "number_rows",
    "same_rows",
    "starts_of",
    "value_order",
]


# So many values tell whether it is likely that all of them differ.
SAMPLE = 1024


def encode(columns: list[pa.Array]) -> Ints:
    """Numbers rows from 0 in the order in which their values first appear; nulls are equal to each other."""
    packed, done = pack(columns)
    codes: Ints | None = None
    if packed is not None:
        codes = _number_values(packed)
    for column in columns[done:]:
        encoded = normalise(column).dictionary_encode(null_encoding="encode")
        code = encoded.indices.to_numpy().astype(np.int64)
        if codes is None:
            codes = code
        else:
            mixed = pa.array(codes * np.int64(max(len(encoded.dictionary), 1)) + code)
            codes = mixed.dictionary_encode().indices.to_numpy().astype(np.int64)
    assert codes is not None
    return codes


def _number_values(values: Ints) -> Ints:
    """Where all of them differ, there is nothing to number; a sort tells so much sooner than a table of all values."""
    if not _repeats(values[:: len(values) // SAMPLE + 1]) and not _repeats(values):
        return np.arange(len(values))
    return np.asarray(pa.array(values).dictionary_encode().indices.to_numpy().astype(np.int64))


def _repeats(values: Ints) -> bool:
    ascending = np.sort(values)
    return bool((ascending[1:] == ascending[:-1]).any())


def number_rows(columns: list[pa.Array]) -> Ints:
    """Equal numbers for equal rows. Where whole numbers fit into one, they ascend like the rows.

    >>> number_rows([pa.array([2, 1, 2]), pa.array([0, 7, 0])]).tolist()
    [8, 7, 8]
    >>> number_rows([pa.array(["b", "a", "b"])]).tolist()
    [0, 1, 0]
    """
    packed, done = pack(columns)
    return packed if packed is not None and done == len(columns) else encode(columns)


def first_places(codes: Ints) -> Ints:
    """Where each code, counted from 0, stands first."""
    places = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return places


def same_rows(one: list[pa.Array], other: list[pa.Array], rows: int) -> Mask:
    """Where the rows of two lists of columns are equal; null equals null, NaN equals NaN, 0.0 equals -0.0."""
    same = np.ones(rows, bool)
    for left, right in zip(one, other, strict=True):
        if pa.types.is_floating(left.type):
            a, b = (_float_bits(column) for column in (left, right))
            equal = a == b
        else:
            equal = pc.fill_null(pc.equal(left, right), True).to_numpy(zero_copy_only=False)
        if left.null_count or right.null_count:
            valid = (column.is_valid().to_numpy(zero_copy_only=False) for column in (left, right))
            a_valid, b_valid = valid
            equal = (equal | ~a_valid) & (a_valid == b_valid)
        same &= equal
    return same


def _float_bits(column: pa.Array) -> Ints:
    numbers = normalise(column.cast(pa.float64())).fill_null(0.0).to_numpy(zero_copy_only=False)
    return np.asarray(numbers.view(np.int64))


def value_order(groups: Ints, values: Values) -> Ints:
    """The permutation by group, then value, first come first on ties."""
    count = len(groups)
    if count and values.dtype.kind == "i":
        low, high = int(values.min()), int(values.max())
        if high - low < 2**62 // (int(groups.max()) + 1):
            return stable_order(groups * np.int64(high - low + 1) + (values - low))
    return lexical_order(groups, values)


def find_runs(*sorted_columns: Values) -> tuple[Ints, Ints]:
    """Where each run of equal rows starts, and for each row the number of its run."""
    changed = _find_changes(sorted_columns)
    return np.flatnonzero(changed), np.cumsum(changed) - 1


def find_starts(*sorted_columns: Values) -> Ints:
    """Where each run of equal rows starts."""
    return np.flatnonzero(_find_changes(sorted_columns))


def _find_changes(sorted_columns: Sequence[Values]) -> Mask:
    changed = np.zeros(len(sorted_columns[0]), bool)
    changed[:1] = True
    for column in sorted_columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def starts_of(sorted_groups: Ints) -> Ints:
    """For each element the position at which its group starts."""
    changed = np.concatenate([[True], sorted_groups[1:] != sorted_groups[:-1]])[: len(sorted_groups)]
    return np.maximum.accumulate(np.where(changed, np.arange(len(sorted_groups)), 0))


def expand(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All positions low..high-1 of each range, one after the other, and for each the number of its range."""
    lengths = np.where(high > low, high - low, 0)
    owner = np.repeat(np.arange(len(low)), lengths)
    offsets = np.cumsum(lengths) - lengths
    return np.arange(len(owner)) - offsets[owner] + low[owner], owner


def first_not_before(
    values: Values,
    low: Ints,
    high: Ints,
    wanted: Values,
    after: bool = False,
) -> Ints:
    """For each range of ascending values the first position whose value is >= (or, with `after`, >) the wanted one."""
    low, high = low.copy(), high.copy()
    open_ = low < high
    while open_.any():
        middle = (low + high) >> 1
        probe = values[np.where(open_, middle, 0)]
        smaller = open_ & ((probe <= wanted) if after else (probe < wanted))
        low = np.where(smaller, middle + 1, low)
        high = np.where(open_ & ~smaller, middle, high)
        open_ = low < high
    return low
