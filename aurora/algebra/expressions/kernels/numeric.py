"""Arithmetic as Java does it: integers wrap, division by zero is null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS
from aurora.algebra.expressions.kernels import decimal_arithmetic as decimals
from aurora.algebra.expressions.kernels.columns import (
    Kernel,
    Maker,
    Value,
    always,
    column,
    nulls,
    on_numbers,
    plain,
)
from aurora.algebra.expressions.kernels.logic import greater
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import is_decimal

__all__ = ["KERNELS"]


def nonzero(arrow: pa.DataType) -> Kernel:
    """The divisor, null where it is zero."""
    zero, null = pa.scalar(0, arrow), pa.scalar(None, arrow)

    def kernel(value: Value) -> Value:
        if isinstance(value, pa.Scalar):
            return null if value.as_py() == 0 else value
        return pc.if_else(pc.equal(value, zero), null, value)

    return kernel


def divide(node: Call) -> Kernel:
    divisor = nonzero(node.type)
    return lambda one, other: pc.divide(one, divisor(other))


def whole_divide(node: Call) -> Kernel:
    divisor = nonzero(node.type)
    one_, minus_one = pa.scalar(1, node.type), pa.scalar(-1, node.type)

    def kernel(one: Value, other: Value) -> pa.Array:
        other = divisor(other)
        if isinstance(other, pa.Scalar) and other.as_py() != -1:
            return pc.divide(one, other)
        # Arrow's result for the smallest number by -1 is not Java's, which wraps.
        by_minus_one = pc.equal(other, minus_one)
        return pc.if_else(by_minus_one, pc.negate(one), pc.divide(one, pc.if_else(by_minus_one, one_, other)))

    return kernel


def remainder(positive: bool) -> Maker:
    """The remainder with the sign of the dividend; `positive` moves it into the range of the divisor."""

    def make(node: Call) -> Kernel:
        arrow, nonzero_divisor = node.type, nonzero(node.type)

        def kernel(one: Value, other: Value) -> pa.Array:
            other = nonzero_divisor(other)
            missing = nulls(one, other)
            dividend, divisor = plain(one), plain(other)
            with np.errstate(all="ignore"):
                if missing is not None:
                    divisor = np.where(missing, np.ones_like(divisor), divisor)
                result: Any = np.fmod(dividend, divisor)
                if positive:
                    result = shifted(result, divisor)
            return column(result, missing, arrow)

        return kernel

    return make


def shifted(result: Any, divisor: Any) -> Any:
    negative = result < 0
    if negative.any():
        # Java computes with bytes and shorts as ints.
        wide = np.int32 if result.dtype.itemsize < 4 else result.dtype
        by = (divisor if np.ndim(divisor) == 0 else divisor[negative]).astype(wide)
        result[negative] = np.fmod(result[negative].astype(wide) + by, by)
    return result


def shift(left: bool, unsigned: bool = False) -> Maker:
    def compute(values: Any, bits: Any) -> Any:
        width = values.dtype.itemsize * 8
        # Java looks at the lowest bits of the distance only.
        distance = (bits & (width - 1)).astype(values.dtype)
        if left:
            return np.left_shift(values, distance)
        if unsigned:
            unsigned_type = np.dtype(f"uint{width}")
            return np.right_shift(values.astype(unsigned_type), distance.astype(unsigned_type)).astype(
                values.dtype
            )
        return np.right_shift(values, distance)

    return on_numbers(compute)


def extreme(largest: bool) -> Maker:
    """The greatest or least of the values that are not null."""

    def make(node: Call) -> Kernel:
        if node.type in INTEGERS:
            return pc.max_element_wise if largest else pc.min_element_wise  # type: ignore[no-any-return]
        above = greater(node.type in FRACTIONS)

        def kernel(first: Value, *others: Value) -> pa.Array:
            best = first
            for value in others:
                better = above(value, best) if largest else above(best, value)
                best = pc.coalesce(pc.if_else(pc.fill_null(better, False), value, best), value)
            return best

        return kernel

    return make


def either(plain: Maker, of_decimals: Maker) -> Maker:
    return lambda node: (of_decimals if is_decimal(node.args[0].type) else plain)(node)


KERNELS: dict[str, Maker] = {
    "+": either(always(pc.add), decimals.added(pc.add)),
    "-": either(always(pc.subtract), decimals.added(pc.subtract)),
    "*": either(always(pc.multiply), decimals.multiplied),
    "/": either(divide, decimals.divided),
    "div": either(whole_divide, decimals.whole_divided),
    "%": either(remainder(positive=False), decimals.remainder(positive=False)),
    "pmod": either(remainder(positive=True), decimals.remainder(positive=True)),
    "negate": always(pc.negate),
    "abs": always(pc.abs),
    "&": always(pc.bit_wise_and),
    "|": always(pc.bit_wise_or),
    "^": always(pc.bit_wise_xor),
    "~": always(pc.bit_wise_not),
    "shiftleft": shift(left=True),
    "shiftright": shift(left=False),
    "shiftrightunsigned": shift(left=False, unsigned=True),
    "greatest": extreme(largest=True),
    "least": extreme(largest=False),
}
