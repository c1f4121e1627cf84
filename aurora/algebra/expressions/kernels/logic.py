"""Comparison, three-valued logic and the choice between values."""

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS
from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.tree import Call, Constant

__all__ = ["KERNELS", "equal", "greater"]


# From here on one look-up costs less than a comparison for each choice.
LONG_LIST = 20


def is_nan(value: Value) -> Value | None:
    """Where the value is NaN; None for a constant that is not."""
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        if number is None or number == number:
            return None
    return pc.is_nan(value)


def equal(fractions: bool) -> Kernel:
    if not fractions:
        return pc.equal  # type: ignore[no-any-return]

    def kernel(one: Value, other: Value) -> pa.Array:
        result = pc.equal(one, other)
        one_nan, other_nan = is_nan(one), is_nan(other)
        if one_nan is None or other_nan is None:
            return result
        return pc.or_(result, pc.and_(one_nan, other_nan))

    return kernel


def greater(fractions: bool) -> Kernel:
    """NaN is greater than all other numbers."""
    if not fractions:
        return pc.greater  # type: ignore[no-any-return]

    def kernel(one: Value, other: Value) -> pa.Array:
        result = pc.invert(pc.less_equal(one, other))
        other_nan = is_nan(other)
        return result if other_nan is None else pc.and_not(result, other_nan)

    return kernel


def greater_equal(fractions: bool) -> Kernel:
    if not fractions:
        return pc.greater_equal  # type: ignore[no-any-return]

    def kernel(one: Value, other: Value) -> pa.Array:
        result = pc.greater_equal(one, other)
        one_nan = is_nan(one)
        return result if one_nan is None else pc.or_(result, one_nan)

    return kernel


def has_fractions(node: Call) -> bool:
    return node.args[-1].type in FRACTIONS


def swapped(kernel: Kernel) -> Kernel:
    return lambda one, other: kernel(other, one)


def null_safe_equal(node: Call) -> Kernel:
    same = equal(has_fractions(node))

    def kernel(one: Value, other: Value) -> pa.Array:
        result = same(one, other)
        if not result.null_count:
            return result
        both_null = pc.and_(pc.is_null(one), pc.is_null(other))
        return pc.if_else(pc.is_null(result), both_null, result)

    return kernel


def choose(condition: Value, then: Value, otherwise: Value) -> pa.Array:
    if condition.type != pa.bool_() or (isinstance(condition, pa.Array) and not condition.null_count):
        return pc.if_else(condition, then, otherwise)
    return pc.if_else(pc.fill_null(condition, False), then, otherwise)


def contained(node: Call) -> Kernel:
    """x IN (..): null where x is null, and where nothing matches but the list holds a null."""
    constants = [part for part in node.args[1:] if isinstance(part, Constant) and part.value is not None]
    if len(constants) == len(node.args) - 1 >= LONG_LIST and not has_fractions(node):
        return contained_in(pa.array([part.scalar() for part in constants], node.args[0].type))
    same = equal(has_fractions(node))

    def kernel(value: Value, *choices: Value) -> pa.Array:
        result = same(value, choices[0])
        for choice in choices[1:]:
            result = pc.or_kleene(result, same(value, choice))
        return result

    return kernel


def contained_in(choices: pa.Array) -> Kernel:
    """The same for a list without nulls that is known beforehand: one look-up a row."""

    def kernel(value: Value, *_: Value) -> pa.Array:
        result = pc.is_in(value, value_set=choices)
        return (
            pc.if_else(pc.is_null(value), pa.scalar(None, pa.bool_()), result) if value.null_count else result
        )

    return kernel


KERNELS: dict[str, Maker] = {
    "=": lambda node: equal(has_fractions(node)),
    ">": lambda node: greater(has_fractions(node)),
    ">=": lambda node: greater_equal(has_fractions(node)),
    "<": lambda node: swapped(greater(True)) if has_fractions(node) else pc.less,
    "<=": lambda node: swapped(greater_equal(True)) if has_fractions(node) else pc.less_equal,
    "<=>": null_safe_equal,
    "and": always(pc.and_kleene),
    "or": always(pc.or_kleene),
    "not": always(pc.invert),
    "is null": always(pc.is_null),
    "if": always(choose),
    "coalesce": always(pc.coalesce),
    "in": contained,
}
