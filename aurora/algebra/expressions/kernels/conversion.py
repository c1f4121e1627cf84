"""CAST, as Spark does it without ANSI mode: what cannot be converted is null."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS, NUMBERS
from aurora.algebra.expressions.kernels import decimals, reading, writing
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, on_numbers
from aurora.algebra.expressions.kernels.rounding import saturated
from aurora.algebra.expressions.kernels.time import DAY, micros_of_seconds, product
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, is_decimal

__all__ = ["KERNELS"]

WHOLE_NUMBER = r"^[+-]?[0-9]+$"


def cast(node: Call) -> Kernel:
    source, target = node.args[0].type, node.type
    if source == target:
        return unchanged
    if is_decimal(target):
        return decimals.to_decimal(source, target)
    if is_decimal(source):
        return decimals.from_decimal(source, target)
    if source == STRING:
        return reading.reader(target)
    if target == STRING:
        return writing.writer(source)
    if source == TIMESTAMP:
        return from_timestamp(node)
    if target == TIMESTAMP:
        if source == DATE:
            return product(DAY)(node)
        return micros_of_seconds(node)
    if source in FRACTIONS and target in INTEGERS:
        return narrowed(node)
    if source in NUMBERS and target == BOOLEAN:
        return lambda value: pc.not_equal(value, pa.scalar(0, source))
    return lambda value: pc.cast(value, target, safe=False)


def try_cast(node: Call) -> Kernel:
    """CAST in ANSI mode, null where that fails: no fraction is cut off and no number is held in its range."""
    source, target = node.args[0].type, node.type
    plain = cast(node)
    if target not in INTEGERS or source == BOOLEAN:
        return plain
    if source == STRING:
        return lambda value: kept(
            plain(value), pc.match_substring_regex(reading.trimmed(value), WHOLE_NUMBER)
        )
    if source in INTEGERS:
        return lambda value: reading.within(pc.cast(value, BIGINT), target)
    if source in FRACTIONS:
        limits = np.iinfo(target.to_pandas_dtype())

        def fits(value: Value) -> Any:
            whole = pc.cast(value, DOUBLE)
            high = pc.less_equal(pc.floor(whole), pa.scalar(float(limits.max)))
            return pc.and_(high, pc.greater_equal(pc.ceil(whole), pa.scalar(float(limits.min))))

        return lambda value: kept(plain(value), fits(value))
    return plain


def kept(value: Value, where: Value) -> pa.Array:
    return pc.if_else(pc.fill_null(where, False), value, pa.scalar(None, value.type))


def unchanged(value: Value) -> Any:
    return value


def narrowed(node: Call) -> Kernel:
    # Java goes through int on the way to the smaller types, and only the first step keeps to the range.
    first = np.int64 if node.type == BIGINT else np.int32
    return on_numbers(lambda values: saturated(values, first).astype(node.type.to_pandas_dtype()))(node)


def from_timestamp(node: Call) -> Kernel:
    if node.type == DATE:
        return on_numbers(lambda micros: np.floor_divide(micros, DAY))(node)
    if node.type == DOUBLE:
        return on_numbers(lambda micros: micros / 1e6)(node)
    seconds = on_numbers(lambda micros: np.floor_divide(micros, 1_000_000))(Call("cast", node.args, BIGINT))
    return seconds if node.type == BIGINT else lambda value: reading.within(seconds(value), INT)


KERNELS: dict[str, Maker] = {"cast": cast, "try_cast": try_cast}
