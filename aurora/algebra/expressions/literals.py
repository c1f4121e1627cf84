"""Numbers and intervals as they are written."""

import math

from sqlglot import exp

from aurora.algebra.expressions.coercion import INTEGERS
from aurora.algebra.expressions.dialect import Positive, source
from aurora.algebra.expressions.signature import Clash
from aurora.algebra.expressions.tree import Constant, Node
from aurora.algebra.tuples.types import BIGINT, DOUBLE, INT, parse_type
from aurora.errors import AuroraError

__all__ = ["adds_interval", "fraction", "holds_interval", "interval_text", "is_short_literal", "whole_number"]


def is_short_literal(node: exp.Expression) -> bool:
    """Whether it is a whole number with its type behind it: 3Y, 3S, 3L, 3::tinyint."""
    return (
        isinstance(node, exp.TryCast)
        and isinstance(node.this, exp.Literal)
        and not node.this.is_string
        and str(node.this.this).isdigit()
        and node.meta.get("written") is None
        and parse_type(source(node.args["to"])) in INTEGERS
    )


def adds_interval(node: exp.Expression) -> bool:
    return isinstance(node, exp.Add | exp.Sub) and (
        holds_interval(node.expression) or (isinstance(node, exp.Add) and holds_interval(node.this))
    )


def holds_interval(node: exp.Expression) -> bool:
    while isinstance(node, exp.Add | exp.Sub) and holds_interval(node.expression):
        node = node.this
    return isinstance(node, exp.Interval)


def interval_text(node: exp.Expression) -> str:
    """The counts and units of INTERVAL 3 DAYS, of INTERVAL '1 day 2 hours', or of a sum of them."""
    if isinstance(node, exp.Add):
        return f"{interval_text(node.this)} {interval_text(node.expression)}"
    count, sign = node.this, ""
    if isinstance(count, exp.Neg | Positive):
        count, sign = count.this, "-" if isinstance(count, exp.Neg) else ""
    if not isinstance(count, exp.Literal):
        raise Clash(
            "an interval needs a written number; timestamp_seconds(unix_seconds(t) + n) adds a computed one"
        )
    return f"{sign}{count.this} {node.args.get('unit') or ''}"


def fraction(text: str) -> Node:
    value = float(text)
    if math.isinf(value):
        raise AuroraError(f"{text} does not fit a double: the largest is 1.7976931348623157e308")
    return Constant(value, DOUBLE)


def whole_number(value: int) -> Node:
    for arrow, bits in ((INT, 31), (BIGINT, 63)):
        if -(1 << bits) <= value < 1 << bits:
            return Constant(value, arrow)
    raise AuroraError(f"{value} does not fit a bigint: write it as a double, {float(value)!r}")
