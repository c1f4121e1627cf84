"""The mathematical functions."""

import pyarrow as pa

from aurora.algebra.expressions.coercion import INTEGERS, converted
from aurora.algebra.expressions.decimal_rules import decimal_round, decimal_whole
from aurora.algebra.expressions.signature import Clash, Function, literal, need, number, same_type
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, is_decimal, is_nested, type_name

__all__ = ["MATH"]

OF_DOUBLE = (
    "sign sqrt cbrt exp expm1 ln log1p log10 log2 sin cos tan asin acos atan sinh cosh tanh degrees radians"
)


def of_double(op: str, count: int = 1, result: pa.DataType = DOUBLE) -> Function:
    """A function that computes in doubles, whatever numbers it gets."""

    def rule(*args: Node) -> Node:
        numbers = (node if is_decimal(node.type) else number(op, node) for node in args)
        return Call(op, tuple(converted(node, DOUBLE) for node in numbers), result)

    return Function(rule, count, count)


def absolute(node: Node) -> Node:
    node = node if is_decimal(node.type) else number("abs", node)
    return Call("abs", (node,), node.type)


def whole(op: str) -> Function:
    def rule(node: Node) -> Node:
        if is_decimal(node.type):
            return decimal_whole(op, node)
        node = number(op, node)
        if node.type in INTEGERS:
            return converted(node, BIGINT)
        return Call(op, (converted(node, DOUBLE),), BIGINT)

    return Function(rule, 1, 1)


def rounded(node: Node, digits: Node = Constant(0, INT)) -> Node:  # noqa: B008
    count = literal("round", digits, INT)
    if is_decimal(node.type):
        return decimal_round(node, count)
    node = number("round", node)
    return Call("round", (node, Constant(count, INT)), node.type)


def logarithm(*args: Node) -> Node:
    if len(args) == 1:
        return MATH["ln"]("log", args)
    return of_double("log", 2)("log", args)


def extreme(op: str) -> Function:
    def rule(*args: Node) -> Node:
        args = same_type(op, args)
        if is_nested(args[0].type):
            raise Clash(f"{op} cannot compare {type_name(args[0].type)}")
        return Call(op, args, args[0].type)

    return Function(rule, 2, None)


def is_nan(node: Node) -> Node:
    return Call("isnan", (need("isnan", node, (DOUBLE, FLOAT), "a float or double"),), BOOLEAN)


MATH: dict[str, Function] = {
    **{op: of_double(op) for op in OF_DOUBLE.split()},
    "signum": of_double("sign"),
    "power": of_double("power", 2),
    "pow": of_double("power", 2),
    "atan2": of_double("atan2", 2),
    "hypot": of_double("hypot", 2),
    "log": Function(logarithm, 1, 2),
    "abs": Function(absolute, 1, 1),
    "floor": whole("floor"),
    "ceil": whole("ceil"),
    "ceiling": whole("ceil"),
    "round": Function(rounded, 1, 2),
    "greatest": extreme("greatest"),
    "least": extreme("least"),
    "isnan": Function(is_nan, 1, 1),
}
