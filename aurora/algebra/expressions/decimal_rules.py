"""Arithmetic of decimals: how many digits a result has."""

import pyarrow as pa

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS, as_decimal, converted
from aurora.algebra.expressions.signature import Clash, names
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import BIGINT, DOUBLE, INT, MOST_DIGITS, VOID

__all__ = ["decimal_arithmetic", "decimal_round", "decimal_whole"]

# So many digits behind the point are kept where there are too many in all.
FEWEST_BEHIND = 6


def decimal_arithmetic(op: str, one: Node, other: Node) -> Node:
    """An operator on two numbers, one of them a decimal at least."""
    if op != "div" and (one.type in FRACTIONS or other.type in FRACTIONS):
        return Call(op, (converted(one, DOUBLE), converted(other, DOUBLE)), DOUBLE)
    one, other = as_beside(one, other.type), as_beside(other, one.type)
    found = [literal_digits(node) or as_decimal(node.type) for node in (one, other)]
    kinds = [kind for kind in found if kind is not None]
    if len(kinds) < 2:
        hint = ": CAST the string to decimal(p,s)" if pa.string() in (one.type, other.type) else ""
        raise Clash(f"{op} cannot take {names(one.type, other.type)}{hint}")
    args = tuple(converted(node, kind) for node, kind in zip((one, other), kinds, strict=True))
    return Call(op, args, BIGINT if op == "div" else result_type(op, *kinds))


def result_type(op: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    before, other_before = (kind.precision - kind.scale for kind in (one, other))
    scale = max(one.scale, other.scale)
    match op:
        case "*":
            return adjusted(one.precision + other.precision + 1, one.scale + other.scale)
        case "/":
            scale = max(FEWEST_BEHIND, one.scale + other.precision + 1)
            return adjusted(before + other.scale + scale, scale)
        case "%" | "pmod":
            return adjusted(min(before, other_before) + scale, scale)
    return adjusted(max(before, other_before) + scale + 1, scale)


def adjusted(precision: int, scale: int) -> pa.DataType:
    """Where there are too many digits, those behind the point go first, but for some."""
    if precision <= MOST_DIGITS:
        return pa.decimal128(precision, scale)
    room = MOST_DIGITS - (precision - scale)
    return pa.decimal128(MOST_DIGITS, max(room, min(scale, FEWEST_BEHIND)))


def as_beside(node: Node, other: pa.DataType) -> Node:
    """A NULL is of the type that it stands beside."""
    return converted(node, other) if node.type == VOID else node


def literal_digits(node: Node) -> pa.DataType | None:
    """A whole number that is written out has the digits that are written; not so a tinyint, as in Spark."""
    if isinstance(node, Constant) and node.type in INTEGERS[1:] and isinstance(node.value, int):
        return pa.decimal128(len(str(abs(node.value))), 0)
    return None


def decimal_round(node: Node, digits: int) -> Node:
    """Rounding can give one more digit before the point."""
    before = node.type.precision - node.type.scale + 1
    scale = max(min(node.type.scale, digits), 0)
    before = max(before, 1 - digits)
    kind = pa.decimal128(min(before + scale, MOST_DIGITS), scale)
    return Call("round", (node, Constant(digits, INT)), kind)


def decimal_whole(op: str, node: Node) -> Node:
    """floor and ceil."""
    kind = node.type
    if kind.scale == 0:
        return Call(op, (node,), kind)
    return Call(op, (node,), pa.decimal128(min(kind.precision - kind.scale + 1, MOST_DIGITS), 0))
