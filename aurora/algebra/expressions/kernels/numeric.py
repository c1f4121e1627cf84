"""Arithmetic as Java does it: integers wrap, division by zero is null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS
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

__all__ = ["KERNELS"]


def nonzero(value: Value) -> Value:
    """The divisor, null where it is zero."""
    if isinstance(value, pa.Scalar):
        return pa.scalar(None, value.type) if value.is_valid and value.as_py() == 0 else value
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), pa.scalar(None, value.type), value)


def divide(one: Value, other: Value) -> pa.Array:
    return pc.divide(one, nonzero(other))


def whole_divide(one: Value, other: Value) -> pa.Array:
    other = nonzero(other)
    # Arrow's result for the smallest number by -1 is not Java's, which wraps.
    by_minus_one = pc.equal(other, -1)
    safe = pc.if_else(by_minus_one, pa.scalar(1, other.type), other)
    return pc.if_else(by_minus_one, pc.negate(one), pc.divide(one, safe))


def remainder(positive: bool) -> Maker:
    """The remainder with the sign of the dividend; `positive` moves it into the range of the divisor."""

    def make(node: Call) -> Kernel:
        arrow = node.type

        def kernel(one: Value, other: Value) -> pa.Array:
            other = nonzero(other)
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
    # Java computes with bytes and shorts as ints.
    wide = np.int32 if result.dtype.itemsize < 4 else result.dtype
    moved = np.fmod(result.astype(wide) + divisor.astype(wide), divisor)
    return np.where(result < 0, moved, result).astype(result.dtype)


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


KERNELS: dict[str, Maker] = {
    "+": always(pc.add),
    "-": always(pc.subtract),
    "*": always(pc.multiply),
    "/": always(divide),
    "div": always(whole_divide),
    "%": remainder(positive=False),
    "pmod": remainder(positive=True),
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
