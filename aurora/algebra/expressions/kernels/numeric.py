"""Arithmetic as Java does it: integers wrap, division by zero is null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always, column, nulls, plain
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
    wide = np.int32 if result.dtype.itemsize < 4 else result.dtype
    return np.where(result < 0, np.fmod(result.astype(wide) + divisor, divisor), result).astype(result.dtype)


KERNELS: dict[str, Maker] = {
    "+": always(pc.add),
    "-": always(pc.subtract),
    "*": always(pc.multiply),
    "/": always(divide),
    "div": always(whole_divide),
    "%": remainder(positive=False),
    "pmod": remainder(positive=True),
    "negate": always(pc.negate),
}
