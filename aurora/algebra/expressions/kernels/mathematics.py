"""The functions of real numbers, with Java's answers at the edges."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import DOUBLE

__all__ = ["KERNELS"]


def logarithm(function: Callable[[Any], Any], limit: float = 0.0) -> Maker:
    """Null where there is no logarithm, not NaN."""

    def kernel(value: Value) -> pa.Array:
        numbers = plain(value)
        outside = numbers <= limit
        missing = nulls(value)
        with np.errstate(all="ignore"):
            result = function(numbers)
        return column(result, outside if missing is None else outside | missing, DOUBLE)

    return always(kernel)


def logarithm_to_base(node: Call) -> Kernel:
    def kernel(base: Value, value: Value) -> pa.Array:
        bases, numbers = np.broadcast_arrays(plain(base), plain(value))
        outside = (bases <= 0) | (numbers <= 0)
        missing = nulls(base, value)
        with np.errstate(all="ignore"):
            result = np.log(numbers) / np.log(bases)
        return column(result, outside if missing is None else outside | missing, DOUBLE)

    return kernel


def power(base: Any, exponent: Any) -> Any:
    """Unlike C, Java has no number for 1 to the power NaN, nor for 1 or -1 to an infinite one."""
    unknown = np.isnan(exponent) | ((np.abs(base) == 1) & np.isinf(exponent))
    return np.where(unknown, np.nan, np.power(base, exponent))


def sign(values: Any) -> Any:
    return np.where(values == 0, values, np.sign(values))


def is_nan(value: Value) -> pa.Array:
    return pc.fill_null(pc.is_nan(value), False)


KERNELS: dict[str, Maker] = {
    "sign": on_numbers(sign),
    "sqrt": on_numbers(np.sqrt),
    "cbrt": on_numbers(np.cbrt),
    "exp": on_numbers(np.exp),
    "expm1": on_numbers(np.expm1),
    "ln": logarithm(np.log),
    "log1p": logarithm(np.log1p, -1.0),
    "log10": logarithm(np.log10),
    "log2": logarithm(lambda values: np.log(values) / np.log(2.0)),
    "log": logarithm_to_base,
    "sin": on_numbers(np.sin),
    "cos": on_numbers(np.cos),
    "tan": on_numbers(np.tan),
    "asin": on_numbers(np.arcsin),
    "acos": on_numbers(np.arccos),
    "atan": on_numbers(np.arctan),
    "sinh": on_numbers(np.sinh),
    "cosh": on_numbers(np.cosh),
    "tanh": on_numbers(np.tanh),
    "degrees": on_numbers(np.degrees),
    "radians": on_numbers(np.radians),
    "power": on_numbers(power),
    # Spark takes away the sign of a zero.
    "atan2": on_numbers(lambda y, x: np.arctan2(y + 0.0, x + 0.0)),
    "hypot": on_numbers(np.hypot),
    "isnan": always(is_nan),
}
