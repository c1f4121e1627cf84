"""Fractions to whole numbers: floor, ceil, round half up, and Java's narrowing."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

from aurora.algebra.expressions.coercion import INTEGERS
from aurora.algebra.expressions.kernels import decimals
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, on_numbers
from aurora.algebra.expressions.tree import Call, Constant
from aurora.algebra.tuples.types import is_decimal

__all__ = ["KERNELS", "saturated"]


def saturated(values: Any, dtype: Any) -> Any:
    """Fractions as integers the way Java does it: NaN is 0, the rest is cut off and held in the range."""
    limits = np.iinfo(dtype)
    # A NaN makes both comparisons false, and the empty column has no extremes.
    if values.size and values.min() > limits.min and values.max() < limits.max:
        return values.astype(dtype)
    values = np.where(np.isnan(values), 0.0, values.astype(np.float64))
    above, below = values >= float(limits.max), values <= float(limits.min)
    result = np.where(above | below, 0.0, values).astype(dtype)
    return np.where(above, limits.max, np.where(below, limits.min, result)).astype(dtype)


def rounded(node: Call) -> Kernel:
    assert isinstance(node.args[1], Constant) and isinstance(node.args[1].value, int)
    digits = node.args[1].value
    if is_decimal(node.type):
        return decimals.round_to(node, digits)
    if node.type in INTEGERS:
        return on_numbers(lambda values, _: whole_rounded(values, digits))(node)
    return on_numbers(lambda values, _: fraction_rounded(values, digits))(node)


def fraction_rounded(values: Any, digits: int) -> Any:
    """Half up on the shortest decimal text of each number, as Java's BigDecimal.valueOf does.

    Scaling in binary decides all but those near a half and those too large for it; they go one by one.
    """
    wide = values.astype(np.float64)
    if abs(digits) > 22:
        exact = np.isfinite(wide)
        result = wide.copy()
    else:
        power = 10.0 ** abs(digits)
        scaled = wide * power if digits >= 0 else wide / power
        size = np.abs(scaled)
        near = np.floor(size + 0.5)
        result = np.copysign(near / power if digits >= 0 else near * power, wide)
        fits = size < 2.0**40
        # Scaling and the shortest text are each off by half a unit in the last place at most.
        clear = np.abs(size - np.floor(size) - 0.5) > size * 1e-15
        exact = np.isfinite(wide) & ~(fits & clear)
        result = np.where(np.isfinite(wide), result, wide)
    quantum = Decimal(1).scaleb(-digits)
    for place in np.flatnonzero(exact):
        result[place] = exactly_rounded(float(wide[place]), quantum)
    # BigDecimal knows no negative zero.
    return (result + 0.0).astype(values.dtype)


def exactly_rounded(value: float, quantum: Decimal) -> float:
    decimal = Decimal(repr(value))
    if decimal.adjusted() - int(quantum.adjusted()) > 25 or decimal.as_tuple().exponent >= quantum.adjusted():  # type: ignore[operator]
        return value
    if decimal.adjusted() < quantum.adjusted() - 1:
        return 0.0
    return float(decimal.quantize(quantum, ROUND_HALF_UP))


def whole_rounded(values: Any, digits: int) -> Any:
    if digits >= 0:
        return values
    if digits < -19:
        return np.zeros_like(values)
    # Python's integers, because the rounded number may leave the range and then wraps.
    power, bits = 10**-digits, values.dtype.itemsize * 8
    size = [(abs(int(value)) + power // 2) // power * power * (-1 if value < 0 else 1) for value in values]
    wrapped = [(value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)) for value in size]
    return np.array(wrapped, values.dtype)


def whole(fractions: Any, up: bool) -> Maker:
    plain = on_numbers(lambda values: saturated(fractions(values), np.int64))
    exact = decimals.whole(up)
    return lambda node: (exact if is_decimal(node.type) else plain)(node)


KERNELS: dict[str, Maker] = {
    "floor": whole(np.floor, up=False),
    "ceil": whole(np.ceil, up=True),
    "round": rounded,
}
