"""Sums and products of decimals: how many digits they have."""

import pyarrow as pa

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS, as_decimal, converted
from aurora.algebra.expressions.signature import Clash, names
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import DOUBLE, MOST_DIGITS

__all__ = ["decimal_arithmetic"]


def decimal_arithmetic(op: str, one: Node, other: Node) -> Node:
    """Spark's rules for how many digits a sum or a product has."""
    if one.type in FRACTIONS or other.type in FRACTIONS:
        return Call(op, (converted(one, DOUBLE), converted(other, DOUBLE)), DOUBLE)
    found = [literal_digits(node) or as_decimal(node.type) for node in (one, other)]
    kinds = [kind for kind in found if kind is not None]
    if op not in ("+", "-", "*") or len(kinds) < 2:
        hint = ": CAST the decimal to double" if len(kinds) == 2 else ""
        raise Clash(f"{op} cannot take {names(one.type, other.type)}{hint}")
    (whole, scale), (other_whole, other_scale) = ((kind.precision - kind.scale, kind.scale) for kind in kinds)
    if op == "*":
        scale, precision = scale + other_scale, whole + scale + other_whole + other_scale + 1
    else:
        scale = max(scale, other_scale)
        precision = max(whole, other_whole) + scale + 1
    if precision > MOST_DIGITS:
        raise Clash(
            f"{op} of {names(one.type, other.type)} has up to {precision} digits, and a decimal has {MOST_DIGITS} at "
            "most: CAST one of them to fewer"
        )
    args = tuple(converted(node, kind) for node, kind in zip((one, other), kinds, strict=True))
    return Call(op, args, pa.decimal128(precision, scale))


def literal_digits(node: Node) -> pa.DataType | None:
    """A whole number that is written out has the digits that are written."""
    if isinstance(node, Constant) and node.type in INTEGERS and isinstance(node.value, int):
        return pa.decimal128(len(str(abs(node.value))), 0)
    return None
