"""A part of several files that are merged by a field, and the values of that field by which it is merged."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.sources.text.lines import Form, LinePiece

__all__ = ["LOWEST", "MergedPiece", "count_first", "read_keys"]

# Before the first record of a file.
LOWEST = -(1 << 63)


def read_keys(piece: LinePiece, field: str, before: int) -> Ints:
    """The value of the field in each record. A record that has none, or cannot be read, goes with the one before it.

    `before` is that of the record before the piece.
    """
    schema = Schema.of({field: piece.declared[field]})
    form = Form(piece.form.csv, piece.form.columns or piece.declared.names)
    portion = replace(piece, form=form, declared=schema).read(schema)
    values, there = _numbers(portion.rows.column(0))
    return _filled(values, (portion.numbers - piece.number)[there], piece.records, before)


def _numbers(column: pa.Array) -> tuple[Ints, Ints]:
    """Values in whole numbers that are ordered alike, and where they are."""
    if column.null_count:
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        column = column.drop_null()
    else:
        there = np.arange(len(column))
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64()).to_numpy(), there


def _filled(values: Ints, there: Ints, count: int, before: int) -> Ints:
    if len(there) == count:
        return values
    last = np.searchsorted(there, np.arange(count), side="right")
    return np.concatenate([np.array([before], np.int64), values])[last]


def count_first(keys: list[Ints], rows: int) -> list[int]:
    """How many of each of these ascending values are among the first `rows`; of equal ones, the first files' are.

    >>> count_first([np.array([1, 2, 2, 5]), np.array([2, 3])], 4)
    [3, 1]
    """
    there = [own for own in keys if len(own)]
    if rows >= sum(map(len, there)):
        return [len(own) for own in keys]
    low, high = min(int(own[0]) for own in there), max(int(own[-1]) for own in there)
    while low < high:
        middle = (low + high) // 2
        if sum(int(np.searchsorted(own, middle, side="right")) for own in there) >= rows:
            high = middle
        else:
            low = middle + 1
    counts = [int(np.searchsorted(own, low)) for own in keys]
    left = rows - sum(counts)
    for at, own in enumerate(keys):
        equal = min(left, int(np.searchsorted(own, low, side="right")) - counts[at])
        counts[at] += equal
        left -= equal
    return counts


@dataclass(frozen=True)
class MergedPiece:
    """Records of several files that come one after the other once they are merged, the first with the number `number`.

    Each part has the value of the field in the record before it.
    """

    parts: tuple[tuple[LinePiece, int], ...]
    field: str
    number: int

    def read(self, schema: Schema) -> Portion:
        portions = [part.read(schema) for part, _ in self.parts]
        counts = [part.records for part, _ in self.parts]
        keys = [
            self._keys(part, before, portion)
            for (part, before), portion in zip(self.parts, portions, strict=True)
        ]
        order = np.argsort(np.concatenate(keys), kind="stable")
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(self.number, self.number + len(order))
        firsts = np.cumsum([0, *counts])
        own = [
            numbers[first + portion.numbers - part.number]
            for first, portion, (part, _) in zip(firsts, portions, self.parts, strict=False)
        ]
        rejects = tuple(reject for portion in portions for reject in portion.rejects)
        rows, of_rows = pa.concat_batches([portion.rows for portion in portions]), np.concatenate(own)
        if len(portions) > 1:
            by_number = np.argsort(of_rows, kind="stable")
            rows, of_rows = rows.take(pa.array(by_number)), of_rows[by_number]

        def origins(wanted: Ints) -> list[Reject]:
            places = order[wanted - self.number]
            parts = np.searchsorted(firsts, places, side="right") - 1
            told: list[Reject | None] = [None] * len(places)
            for at in np.unique(parts).tolist():
                mine = np.flatnonzero(parts == at)
                ask = portions[at].origins
                assert ask is not None
                found = ask(places[mine] - firsts[at] + self.parts[at][0].number)
                for place, reject in zip(mine.tolist(), found, strict=True):
                    told[place] = reject
            return [reject for reject in told if reject is not None]

        return Portion(rows, of_rows, rejects, origins=origins)

    def _keys(self, part: LinePiece, before: int, portion: Portion) -> Ints:
        """As they were where the piece was cut: also of records that cannot be read for another field's sake."""
        column = portion.rows.column(self.field)
        if portion.rows.num_rows == part.records and not pc.sum(column.is_null()).as_py():
            return _numbers(column)[0]
        return read_keys(part, self.field, before)
