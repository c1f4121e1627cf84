"""Arithmetic of decimals, as Spark does it.

Spark computes a product with 39 digits, a quotient with 39 digits behind the point, and rounds each again to the
scale of the result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, column, nulls
from aurora.algebra.expressions.kernels.decimal_digits import (
    NARROW,
    Digits,
    digits_of,
    from_digits,
    half_up,
)
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import BIGINT, MOST_DIGITS

__all__ = ["added", "divided", "multiplied", "remainder", "whole_divided"]

# The digits that Spark computes with.
WORKING = 39
LOW = (1 << 64) - 1


def added(function: Callable[..., pa.Array]) -> Maker:
    """+ and -, exact before they are rounded."""

    def make(node: Call) -> Kernel:
        kinds = [argument.type for argument in node.args]
        scale = max(kind.scale for kind in kinds)
        sign = 1 if function is pc.add else -1
        if max(kind.precision - kind.scale for kind in kinds) + scale + 1 <= MOST_DIGITS:
            return function

        def kernel(one: Value, other: Value) -> pa.Array:
            first, second = (digits_of(value, scale - value.type.scale) for value in (one, other))
            total = half_up(first + sign * second, scale - node.type.scale)
            return from_digits(total, nulls(one, other), node.type)

        return kernel

    return make


def multiplied(node: Call) -> Kernel:
    one_type, other_type = (argument.type for argument in node.args)
    if one_type.precision + other_type.precision + 1 <= MOST_DIGITS:
        return pc.multiply  # type: ignore[no-any-return]
    fewer = one_type.scale + other_type.scale - node.type.scale

    def kernel(one: Value, other: Value) -> pa.Array:
        product = to_working(digits_of(one) * digits_of(other))
        return from_digits(half_up(product, fewer), nulls(one, other), node.type)

    return kernel


def to_working(digits: Digits) -> Digits:
    """At most 39 digits that count."""
    for place in np.flatnonzero(abs(digits) >= 10**WORKING):
        more = len(str(abs(digits[place]))) - WORKING
        digits[place] = int(half_up(np.array([digits[place]], object), more)[0]) * 10**more
    return digits


def divided(node: Call) -> Kernel:
    one_type, other_type = (argument.type for argument in node.args)
    scale = node.type.scale
    # A quotient of shorter numbers does not come as near to a half as to be rounded to it before.
    first = scale if scale + other_type.precision < WORKING else WORKING
    behind = first + 1 - one_type.scale + other_type.scale
    narrow = one_type.precision + behind <= NARROW and other_type.precision <= NARROW

    def kernel(one: Value, other: Value) -> pa.Array:
        dividend = digits_of(one, behind, narrow)
        divisor, missing = nonzero(digits_of(other, 0, narrow), nulls(one, other))
        size = abs(dividend) // abs(divisor)
        quotient = half_up(np.where((dividend < 0) != (divisor < 0), -size, size), 1)
        return from_digits(half_up(quotient, first - scale), missing, node.type)

    return kernel


def nonzero(divisor: Digits, missing: Any) -> tuple[Digits, Any]:
    """The divisor with 1 where it is zero, and where it is that or something is null."""
    zero = divisor == 0
    return np.where(zero, 1, divisor), zero if missing is None else zero | missing


def remainder(positive: bool) -> Maker:
    def make(node: Call) -> Kernel:
        def kernel(one: Value, other: Value) -> pa.Array:
            dividend, divisor, missing = aligned(one, other)
            rest = cut(dividend, divisor)
            if positive:
                rest = np.where(rest < 0, cut(rest + divisor, divisor), rest)
            return from_digits(rest, missing, node.type)

        return kernel

    return make


def cut(dividend: Digits, divisor: Digits) -> Digits:
    """The remainder, with the sign of the dividend."""
    size = abs(dividend) % abs(divisor)
    return np.where(dividend < 0, -size, size)


def whole_divided(node: Call) -> Kernel:
    """div: the whole part of a quotient, of which Java keeps the lowest bits."""
    one_type, other_type = (argument.type for argument in node.args)
    most = 10 ** min(one_type.precision - one_type.scale + other_type.scale, MOST_DIGITS)

    def kernel(one: Value, other: Value) -> pa.Array:
        dividend, divisor, missing = aligned(one, other)
        size = (abs(dividend) // abs(divisor)).astype(object)
        missing = missing | (size >= most)
        whole = np.where((dividend < 0) != (divisor < 0), -size, size)
        return column((whole & LOW).astype(np.uint64).view(np.int64), missing, BIGINT)

    return kernel


def aligned(one: Value, other: Value) -> tuple[Digits, Digits, Any]:
    """The digits of both with as many behind the point; where the second is zero or something is null."""
    scale = max(one.type.scale, other.type.scale)
    behind = [(value, scale - value.type.scale) for value in (one, other)]
    narrow = all(value.type.precision + more <= NARROW for value, more in behind)
    first, second = (digits_of(value, more, narrow) for value, more in behind)
    divisor, missing = nonzero(second, nulls(one, other))
    return first, divisor, missing
