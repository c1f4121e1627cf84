"""A piece of an input that is merged with others: its rows know their positions, and late ones are rejects."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.values import from_values, to_values
from aurora.algebra.tuples.python_values import python_value
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.sources.in_order.merging import Places
from aurora.engine.sources.input_checks import find_origins, leave_out
from aurora.engine.sources.portion_schema import fit_rows
from aurora.engine.sources.source import Piece, Portion

__all__ = ["Late", "OrderedPiece", "read_keys", "show_key"]


@dataclass(frozen=True)
class Late:
    """Rows of a batch that come after larger ones: their places, their values, and the largest value before each."""

    places: Ints
    own: Ints
    before: Ints


@dataclass(frozen=True)
class OrderedPiece:
    """A piece of the input `name`, whose rows in this batch begin with the number `begin`.

    Of all positions there are, `inputs` apart, it takes those at `slot`: inputs without an order have the others.
    """

    piece: Piece
    name: str
    field: str
    kind: pa.DataType
    begin: int
    places: Places
    late: Late
    inputs: int
    slot: int

    def read(self, schema: Schema) -> Portion:
        portion = self.piece.read(schema)
        order = self.places.read()[portion.numbers - self.begin] * self.inputs + self.slot
        portion = replace(portion, order=order)
        if not len(self.late.places):
            return portion
        bad = np.flatnonzero(np.isin(portion.numbers, self.late.places + self.begin))
        if not len(bad):
            return portion
        at = np.searchsorted(self.late.places, portion.numbers[bad] - self.begin)
        good = np.ones(len(order), np.bool_)
        good[bad] = False
        rejects = [
            replace(reject, reason=self._reason(int(place)))
            for reject, place in zip(find_origins(self.name, portion, bad), at, strict=True)
        ]
        return leave_out(portion, good, rejects)

    def _reason(self, place: int) -> str:
        own, before = (show_key(int(keys[place]), self.kind) for keys in (self.late.own, self.late.before))
        return f"{self.field} {own} comes after {before}, and the input is in the order of {self.field}"


def read_keys(piece: Piece, name: str, field: str, kind: pa.DataType) -> tuple[Ints, Ints, Portion]:
    """Return the values of the field in a piece, as whole numbers, and the numbers of the rows that have one."""
    schema = Schema.of({field: kind})
    portion = piece.read(schema)
    portion = replace(portion, rows=fit_rows(f"source {name}", portion, schema))
    column, numbers = portion.rows.column(0), portion.numbers
    if column.null_count:
        numbers = numbers[column.is_valid().to_numpy(zero_copy_only=False)]
        column = column.drop_null()
    return to_values(column), numbers, portion


def show_key(key: int, kind: pa.DataType) -> str:
    """Return a value of the field as people write it."""
    return str(python_value(from_values(np.array([key]), kind)[0])).removesuffix("+00:00")
