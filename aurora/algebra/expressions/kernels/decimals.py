"""Decimals: exact to their scale, rounded half up, and null where there are too many digits."""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, nulls
from aurora.algebra.expressions.kernels.decimal_digits import NARROW, digits_of, from_digits, half_up
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DOUBLE, STRING, is_decimal

__all__ = ["from_decimal", "rescaled", "round_to", "to_decimal", "whole"]

WORKING = Context(prec=100, rounding=ROUND_HALF_UP)
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
# So many digits are exact in a double, and so is their quotient by a power of ten.
EXACT = 15


def rescaled(value: pa.Array, target: pa.DataType) -> pa.Array:
    """Decimals as other ones."""
    kind, fewer = value.type, value.type.scale - target.scale
    if fewer <= 0 and kind.precision - fewer <= target.precision:
        return value.cast(target)
    narrow = kind.precision + max(-fewer, 0) <= NARROW
    return from_digits(half_up(digits_of(value, narrow=narrow), fewer), nulls(value), target)


def whole(up: bool) -> Maker:
    """floor, and ceil with `up`."""

    def make(node: Call) -> Kernel:
        kind = node.args[0].type
        power, sign = 10**kind.scale, -1 if up else 1

        def kernel(value: Value) -> pa.Array:
            digits = digits_of(value, narrow=kind.precision <= NARROW)
            return from_digits(sign * (sign * digits // power), nulls(value), node.type)

        return kernel

    return make


def round_to(node: Call, digits: int) -> Kernel:
    kind = node.args[0].type
    if digits >= 0:
        return lambda value, _: rescaled(value, node.type)

    def kernel(value: Value, _: Value) -> pa.Array:
        rounded = half_up(digits_of(value), min(kind.scale - digits, kind.precision + 1))
        return from_digits(half_up(rounded, digits), nulls(value), node.type)

    return kernel


def to_decimal(source: pa.DataType, target: pa.DataType) -> Kernel:
    if is_decimal(source):
        return lambda value: rescaled(value, target)
    if source in INTEGERS or source == BOOLEAN:
        return lambda value: rescaled(value.cast(BIGINT).cast(pa.decimal128(19, 0)), target)
    if source in FRACTIONS:
        return lambda value: _each(value.cast(DOUBLE), lambda number: _read(repr(number), target), target)
    return lambda value: _each(value, lambda text: _read(text.strip(), target), target)


def _read(text: str, target: pa.DataType) -> Decimal | None:
    if not NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if number and number.adjusted() > target.precision:
        return None
    rounded = number.quantize(Decimal(1).scaleb(-target.scale), context=WORKING)
    return rounded if abs(rounded) < Decimal(10) ** (target.precision - target.scale) else None


def from_decimal(source: pa.DataType, target: pa.DataType) -> Kernel:
    if target == STRING:
        return lambda value: pc.cast(value, STRING)
    if target == BOOLEAN:
        return lambda value: pc.not_equal(value, pa.scalar(Decimal(0), source))
    if target in FRACTIONS:
        if source.precision <= EXACT and target == DOUBLE:
            return lambda value: pc.divide(
                pc.cast(_unscaled(value), DOUBLE), pa.scalar(10.0**source.scale, DOUBLE)
            )
        # The nearest number, as reading the text gives it.
        return lambda value: pc.cast(pc.cast(value, STRING), target)
    # Java keeps the lowest bits.
    return lambda value: pc.cast(_each(value, _lowest_bits, BIGINT), target, safe=False)


def _unscaled(value: pa.Array) -> pa.Array:
    """The digits without the point, of decimals that a bigint holds."""
    whole = pa.decimal128(value.type.precision, 0)
    data = pa.Array.from_buffers(whole, len(value), value.buffers(), offset=value.offset)
    return data.cast(BIGINT)


def _lowest_bits(number: Decimal) -> int:
    return (int(number) + (1 << 63)) % (1 << 64) - (1 << 63)


def _each(value: pa.Array, function: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    """The function on each different value; null where it gives none."""
    words = value.dictionary_encode()
    made = [None if own is None else function(own) for own in words.dictionary.to_pylist()]
    indices = words.indices.to_numpy(zero_copy_only=False)
    missing = np.isnan(indices) if indices.dtype.kind == "f" else np.zeros(len(indices), bool)
    places = np.where(missing, 0, indices).astype(np.int64)
    return pa.array(made or [None], kind).take(pa.array(places, mask=missing))
