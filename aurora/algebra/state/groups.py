"""Groups of tuples, numbered in the order in which they first came."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.state.turn import State
from aurora.algebra.tuples.train import Ints, Values

__all__ = ["Groups", "encode", "expand", "first_not_before", "segments", "stable_order", "value_order"]


class Groups:
    """The directory of a box's groups: other state refers to a group by its number."""

    def __init__(self, state: State, name: str, fields: tuple[str, ...]) -> None:
        self._state = state
        self._name = name
        self._fields = fields
        self._known = state.get(name) if fields else None

    def __len__(self) -> int:
        if not self._fields:
            return 1
        return 0 if self._known is None else int(self._known.num_rows)

    def number(self, rows: pa.RecordBatch) -> Ints:
        """The group of each row; groups not seen before are added to the directory."""
        if not self._fields:
            return np.zeros(rows.num_rows, np.int64)
        known = len(self)
        numbers = self._encode(rows, self._fields)
        if len(numbers) and numbers.max() >= known:
            _, firsts = np.unique(numbers, return_index=True)
            fresh = firsts[numbers[firsts] >= known]
            added = rows.select(list(self._fields)).take(pa.array(fresh))
            self._known = added if self._known is None else pa.concat_batches([self._known, added])
            self._state.put(self._name, self._known)
        return numbers

    def find(self, rows: pa.RecordBatch, fields: tuple[str, ...]) -> Ints:
        """The group that each row's `fields` name, -1 where there is none yet."""
        if not self._fields:
            return np.zeros(rows.num_rows, np.int64)
        numbers = self._encode(rows, fields)
        return np.where(numbers < len(self), numbers, -1)

    def _encode(self, rows: pa.RecordBatch, fields: tuple[str, ...]) -> Ints:
        columns = []
        for own, name in zip(self._fields, fields, strict=True):
            column = rows.column(name)
            if self._known is not None:
                known = self._known.column(own)
                if column.type != known.type:
                    # Integers of two widths.
                    known, column = known.cast(pa.int64()), column.cast(pa.int64())
                column = pa.concat_arrays([known, column])
            columns.append(column)
        return encode(columns)[len(self) :]

    def columns(self, numbers: Ints) -> list[pa.Array]:
        """The group fields of each number."""
        if not self._fields:
            return []
        assert self._known is not None
        return list(self._known.take(pa.array(numbers)).columns)


def encode(columns: list[pa.Array]) -> Ints:
    """Numbers rows from 0 in the order in which their values first appear; nulls are equal to each other."""
    codes: Ints | None = None
    for column in columns:
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0.0, column.type))
        encoded = column.dictionary_encode(null_encoding="encode")
        code = encoded.indices.to_numpy().astype(np.int64)
        if codes is None:
            codes = code
        else:
            mixed = pa.array(codes * np.int64(max(len(encoded.dictionary), 1)) + code)
            codes = mixed.dictionary_encode().indices.to_numpy().astype(np.int64)
    assert codes is not None
    return codes


def stable_order(groups: Ints) -> Ints:
    """The permutation that brings groups together and keeps the order inside each."""
    if len(groups) and groups.max() < 2**16:
        return np.argsort(groups.astype(np.uint16), kind="stable")
    return np.argsort(groups, kind="stable")


def value_order(groups: Ints, values: Values) -> Ints:
    """The permutation by group, then value, first come first on ties."""
    count = len(groups)
    if count and values.dtype.kind == "i":
        low, high = int(values.min()), int(values.max())
        if high - low < 2**62 // (int(groups.max()) + 1):
            return np.argsort(groups * np.int64(high - low + 1) + (values - low), kind="stable")
    return np.lexsort((values, groups))


def segments(*sorted_columns: Values) -> tuple[Ints, Ints]:
    """Where each run of equal rows starts, and for each row the number of its run."""
    count = len(sorted_columns[0])
    if count == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    changed = np.zeros(count, bool)
    changed[0] = True
    for column in sorted_columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed), np.cumsum(changed) - 1


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
