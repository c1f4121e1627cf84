"""approx_count_distinct(x): how many different values there are, in at most 4 kB however many that is.

Up to `EXACT` different values are kept as their hashes, and their number is exact. Beyond, what is left is HyperLogLog:
`REGISTERS` bytes, of which each holds the longest row of zeros with which a hash of its share began. The standard error
is 1.04 / sqrt(REGISTERS), 1.6%. Which of the two it is follows from the set of values alone, and so does the result.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.collections import from_lists, single_lists, to_lists
from aurora.algebra.windows.functions.function import Function, to_valid

__all__ = ["ApproximateDistinct", "PlainDistinct"]

Registers = npt.NDArray[np.uint8]

INDEX_BITS = 12
REGISTERS = 1 << INDEX_BITS
REST_BITS = 64 - INDEX_BITS
# As many hashes as there is room for in the registers.
EXACT = REGISTERS // 8
KIND = pa.large_binary()


@dataclass(frozen=True)
class ApproximateDistinct(Function):
    """Kept are a list of hashes, and, where there were too many of them, the registers."""

    width: ClassVar[int] = 2

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        hashes = pa.array(hash_rows(arguments, rows))
        return [single_lists(hashes, to_valid(arguments[0])), pa.nulls(rows, KIND)]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        lists, registers = columns
        if len(starts) == len(lists):
            return columns
        run = np.zeros(len(lists), np.int64)
        run[starts[1:]] = 1
        run = np.cumsum(run)
        hashes, owner = _different(lists, run)
        filled = np.flatnonzero(to_valid(registers))
        full = np.bincount(owner, minlength=len(starts)) > EXACT
        full[run[filled]] = True
        place = np.cumsum(full) - 1
        table = np.zeros((int(full.sum()), REGISTERS), np.uint8)
        if len(filled):
            begins, _ = find_runs(run[filled])
            found = np.maximum.reduceat(_to_table(registers.take(pa.array(filled))), begins, axis=0)
            table[place[run[filled[begins]]]] = found
        many = full[owner]
        _add(table, place[owner[many]], hashes[many])
        few = to_lists(pa.array(hashes[~many]), owner[~many], len(starts))
        return [few, _from_table(table).take(pa.array(place, mask=~full))]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        lists, registers = columns
        _, _, counts = from_lists(lists)
        filled = np.flatnonzero(to_valid(registers))
        counts[filled] = _estimate(_to_table(registers.take(pa.array(filled))))
        return pa.array(counts)


@dataclass(frozen=True)
class PlainDistinct(ApproximateDistinct):
    """The same, kept in types that fields of a stream can have; without registers the second list is empty."""

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return _to_plain(super().lift(arguments, rows))

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return _to_plain(super().combine(_from_plain(columns), starts))

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        return super().finish(_from_plain(columns))


def _to_plain(columns: list[pa.Array]) -> list[pa.Array]:
    lists, registers = columns
    filled = np.flatnonzero(to_valid(registers))
    table = _to_table(registers.take(pa.array(filled)))
    numbers = pa.array(table.ravel().view(np.int8))
    return [
        lists.cast(pa.list_(pa.int64()), safe=False),
        to_lists(numbers, np.repeat(filled, REGISTERS), len(lists)),
    ]


def _from_plain(columns: list[pa.Array]) -> list[pa.Array]:
    lists, registers = columns
    numbers, _, lengths = from_lists(registers)
    filled = lengths > 0
    table = np.asarray(numbers.to_numpy(zero_copy_only=False)).astype(np.int8).view(np.uint8)
    place = pa.array(np.cumsum(filled) - 1, mask=~filled)
    return [
        lists.cast(pa.list_(pa.uint64()), safe=False),
        _from_table(table.reshape(-1, REGISTERS)).take(place),
    ]


def _different(lists: pa.Array, run: Ints) -> tuple[Hashes, Ints]:
    """The different hashes of each run, by run and hash."""
    values, owner, _ = from_lists(lists)
    hashes = np.asarray(values.to_numpy(zero_copy_only=False))
    owner = run[owner]
    order = np.lexsort((hashes, owner))
    hashes, owner = hashes[order], owner[order]
    firsts, _ = find_runs(owner, hashes)
    return hashes[firsts], owner[firsts]


def _add(table: Registers, row: Ints, hashes: Hashes) -> None:
    register = (hashes >> np.uint64(REST_BITS)).astype(np.int64)
    rest = (hashes & np.uint64((1 << REST_BITS) - 1)).astype(np.float64)
    # A double holds all bits of the rest, and its exponent is their number.
    zeros = REST_BITS - np.frexp(rest)[1]
    np.maximum.at(table.reshape(-1), row * REGISTERS + register, (zeros + 1).astype(np.uint8))


def _to_table(registers: pa.Array) -> Registers:
    """Registers without nulls, a line for each row."""
    if len(registers) == 0:
        return np.empty((0, REGISTERS), np.uint8)
    _, offsets, data = registers.buffers()
    start = np.frombuffer(offsets, np.int64)[registers.offset]
    table = np.frombuffer(data, np.uint8)
    return table[start : start + len(registers) * REGISTERS].reshape(-1, REGISTERS)


def _from_table(table: Registers) -> pa.Array:
    offsets = np.arange(len(table) + 1) * REGISTERS
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(table.tobytes())]
    return pa.LargeBinaryArray.from_buffers(KIND, len(table), buffers)


def _estimate(table: Registers) -> Ints:
    """O. Ertl's estimator: it needs no tables of corrections, and is unbiased for small and large sets alike."""
    rows = len(table)
    levels = REST_BITS + 2
    cells = np.arange(rows)[:, None] * levels + table
    counts = np.bincount(cells.ravel(), minlength=rows * levels).reshape(rows, levels).astype(np.float64)
    total = REGISTERS * _tau(1 - counts[:, -1] / REGISTERS)
    for level in range(REST_BITS, 0, -1):
        total = 0.5 * (total + counts[:, level])
    total = total + REGISTERS * _sigma(counts[:, 0] / REGISTERS)
    estimates: Ints = np.rint(REGISTERS * REGISTERS / (2 * np.log(2)) / total).astype(np.int64)
    return estimates


def _sigma(share: Any) -> Any:
    """x + the sum of 2^(k-1) x^(2^k), for the share of the registers that nothing has reached; below 1 here."""
    power, factor, total = share, 1.0, share
    while True:
        power = power * power
        more = total + power * factor
        if (more == total).all():
            return total
        factor, total = 2 * factor, more


def _tau(share: Any) -> Any:
    """(1 - x - the sum of (1 - x^(2^-k))^2 2^-k) / 3, for the share of the registers that are not at their end."""
    root, factor, total = share, 1.0, 1 - share
    while True:
        root, factor = np.sqrt(root), 0.5 * factor
        less = total - (1 - root) ** 2 * factor
        if (less == total).all():
            return np.where((share == 0) | (share == 1), 0.0, total / 3)
        total = less
