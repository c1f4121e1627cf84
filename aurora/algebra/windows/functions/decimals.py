"""sum(x) and avg(x) of decimals: exact, however many there are, and null where the total has too many digits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.decimal_arithmetic import divided
from aurora.algebra.expressions.tree import Call, Field
from aurora.algebra.tuples.decimals import fits_digits
from aurora.algebra.tuples.train import Ints
from aurora.algebra.windows.functions.function import Function, add_runs, to_valid
from aurora.algebra.windows.functions.scans import add_up_runs

__all__ = ["DecimalMean", "DecimalSum"]

LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class DecimalSum(Function):
    """Kept are how many values there are, and the sums of the four parts of 32 bits that each of them has.

    They add up as whole numbers do, in any order: two billion values fit.
    """

    width: ClassVar[int] = 5
    kind: pa.DataType

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        column, valid = arguments[0], to_valid(arguments[0])
        data = column.buffers()[1]
        words = np.zeros((rows, 2), np.int64)
        if data is not None and rows:
            words = np.frombuffer(data, np.int64, 2 * rows, column.offset * 16).reshape(rows, 2)
        words = np.where(valid[:, None] == 1, words, 0)
        low, high = words[:, 0], words[:, 1]
        parts = (low & LOW, (low >> 32) & LOW, high & LOW, high >> 32)
        return [pa.array(valid), *(pa.array(part) for part in parts)]

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_runs(column.to_numpy(), starts)) for column in columns]

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return [pa.array(add_up_runs(column.to_numpy(), starts)) for column in columns]

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        count, *parts = (column.to_numpy() for column in columns)
        carry = np.zeros(len(count), np.int64)
        digits = []
        for part in parts:
            whole = part + carry
            digits.append(whole & LOW)
            carry = whole >> 32
        # The last part has the sign: what is carried out of it must be nothing but that.
        top = (digits[3] << 32) >> 32
        lost = (carry != (top >> 63)) | (count == 0)
        words = np.stack([digits[0] | (digits[1] << 32), digits[2] | (top << 32)], axis=1)
        widest = pa.decimal128(38, self.kind.scale)
        words[lost] = 0
        total = pa.Array.from_buffers(widest, len(count), [None, pa.py_buffer(np.ascontiguousarray(words))])
        fits = fits_digits(total, self.kind.precision - self.kind.scale)
        kept = pc.and_(fits, pa.array(~lost))
        return pc.if_else(kept, total, pa.scalar(None, widest)).cast(self.kind)


@dataclass(frozen=True)
class DecimalMean(Function):
    """The sum and the count, which a sum keeps anyhow."""

    width: ClassVar[int] = DecimalSum.width
    total: DecimalSum
    kind: pa.DataType

    def lift(self, arguments: list[pa.Array], rows: int) -> list[pa.Array]:
        return self.total.lift(arguments, rows)

    def combine(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return self.total.combine(columns, starts)

    def scan(self, columns: list[pa.Array], starts: Ints) -> list[pa.Array]:
        return self.total.scan(columns, starts)

    def finish(self, columns: list[pa.Array]) -> pa.Array:
        total = self.total.finish(columns)
        count = columns[0].cast(pa.decimal128(19, 0))
        means = Call("/", (Field("total", None, total.type), Field("count", None, count.type)), self.kind)
        return divided(means)(total, count)
