"""The operators and the choices between values: arithmetic, comparison, logic, if, coalesce."""

from collections.abc import Sequence

import pyarrow as pa

from aurora.algebra.expressions.coercion import (
    INTEGERS,
    NUMBERS,
    TIMES,
    common_type,
    converted,
)
from aurora.algebra.expressions.compile import fold
from aurora.algebra.expressions.conversions import arithmetic_fix, comparison_fix, conversion
from aurora.algebra.expressions.decimal_rules import decimal_arithmetic
from aurora.algebra.expressions.signature import Clash, Function, names, need, number, same_type
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    VOID,
    is_decimal,
    is_nested,
    type_name,
)

__all__ = ["OPERATORS", "conditional"]


def both(
    name: str, one: Node, other: Node, allowed: Sequence[pa.DataType], wanted: str, alone: pa.DataType
) -> tuple[pa.DataType, tuple[Node, Node]]:
    """Two arguments as their common type, which is `alone` where both are NULL."""
    for node in (one, other):
        if node.type != VOID and node.type not in allowed:
            fix = arithmetic_fix(name, one, other) or conversion(node, allowed)
            raise Clash(f"{name} needs {wanted}, found {names(one.type, other.type)}", fix)
    target = common_type(one.type, other.type)
    target = alone if target == VOID else target
    return target, (converted(one, target), converted(other, target))


def arithmetic(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        if op in ("+", "-") and DATE in (one.type, other.type):
            return days_later(op, one, other)
        if is_decimal(one.type) or is_decimal(other.type):
            return decimal_arithmetic(op, one, other)
        target, args = both(op, one, other, NUMBERS, "two numbers", alone=DOUBLE)
        return Call(op, args, target)

    return Function(rule, 2, 2)


def days_later(op: str, one: Node, other: Node) -> Node:
    days = (INT, SMALLINT, TINYINT)
    if one.type == DATE and other.type in days:
        return Call("date_add" if op == "+" else "date_sub", (one, converted(other, INT)), DATE)
    if op == "+" and one.type in days:
        return Call("date_add", (other, converted(one, INT)), DATE)
    raise Clash(
        f"{op} needs two numbers, or a date and a number of days, found {names(one.type, other.type)}",
        arithmetic_fix(op, one, other),
    )


def divide(one: Node, other: Node) -> Node:
    if is_decimal(one.type) or is_decimal(other.type):
        return decimal_arithmetic("/", one, other)
    both("/", one, other, NUMBERS, "two numbers", alone=DOUBLE)
    return Call("/", (converted(one, DOUBLE), converted(other, DOUBLE)), DOUBLE)


def whole_divide(one: Node, other: Node) -> Node:
    if is_decimal(one.type) or is_decimal(other.type):
        return decimal_arithmetic("div", one, other)
    both("div", one, other, INTEGERS, "two whole numbers", alone=BIGINT)
    return Call("div", (converted(one, BIGINT), converted(other, BIGINT)), BIGINT)


def bitwise(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        target, args = both(op, one, other, INTEGERS, "two whole numbers", alone=BIGINT)
        return Call(op, args, target)

    return Function(rule, 2, 2)


def complement(node: Node) -> Node:
    node = need("~", node, (BIGINT, *INTEGERS), "a whole number")
    return Call("~", (node,), node.type)


def shift(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        one = need(op, one, (INT, *INTEGERS), "a whole number")
        other = need(op, other, (INT, SMALLINT, TINYINT), "an int as the number of bits")
        target = BIGINT if one.type == BIGINT else INT
        return Call(op, (converted(one, target), converted(other, INT)), target)

    return Function(rule, 2, 2)


def negate(node: Node) -> Node:
    node = node if is_decimal(node.type) else number("-", node)
    return Call("negate", (node,), node.type)


def positive(node: Node) -> Node:
    return node if is_decimal(node.type) else number("+", node)


def comparison(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        one, other = comparable(op, one, other)
        return Call(op, (one, other), BOOLEAN)

    return Function(rule, 2, 2)


def comparable(op: str, one: Node, other: Node) -> tuple[Node, Node]:
    one, other = moment(one, other.type), moment(other, one.type)
    target = common_type(one.type, other.type)
    if target is None or is_nested(target):
        raise Clash(f"{op} cannot compare {names(one.type, other.type)}", comparison_fix(one, other))
    return converted(one, target), converted(other, target)


def moment(node: Node, target: pa.DataType) -> Node:
    """A string written beside a date or a timestamp is meant as one."""
    if not isinstance(node, Constant) or node.type != STRING or target not in TIMES:
        return node
    value = fold(Call("cast", (node,), target))
    if not value.is_valid:
        raise Clash(f"'{node.value}' is not a {type_name(target)}")
    return Constant(value.value, target)


def different(one: Node, other: Node) -> Node:
    return Call("not", (Call("=", comparable("<>", one, other), BOOLEAN),), BOOLEAN)


def logic(op: str, count: int) -> Function:
    def rule(*args: Node) -> Node:
        return Call(op, tuple(need(op.upper(), node, (BOOLEAN,), "a boolean") for node in args), BOOLEAN)

    return Function(rule, count, count)


def is_null(node: Node) -> Node:
    return Call("is null", (node,), BOOLEAN)


def conditional(condition: Node, then: Node, otherwise: Node) -> Node:
    condition = need("a condition", condition, (BOOLEAN,), "a boolean")
    then, otherwise = same_type("if", (then, otherwise))
    return Call("if", (condition, then, otherwise), then.type)


def is_not_null(node: Node) -> Node:
    return Call("not", (is_null(node),), BOOLEAN)


def coalesce(*args: Node) -> Node:
    args = same_type("coalesce", args)
    return Call("coalesce", args, args[0].type)


def nullif(one: Node, other: Node) -> Node:
    equal = Call("=", comparable("nullif", one, other), BOOLEAN)
    return Call("if", (equal, Constant(None, one.type), one), one.type)


def nvl2(one: Node, then: Node, otherwise: Node) -> Node:
    return conditional(is_null(one), otherwise, then)


def is_in(*args: Node) -> Node:
    if is_nested(args[0].type):
        raise Clash(f"IN cannot compare {type_name(args[0].type)}")
    args = same_type("IN", (args[0], *(moment(node, args[0].type) for node in args[1:])))
    return Call("in", args, BOOLEAN)


OPERATORS: dict[str, Function] = {
    "+": arithmetic("+"),
    "-": arithmetic("-"),
    "*": arithmetic("*"),
    "%": arithmetic("%"),
    "mod": arithmetic("%"),
    "pmod": arithmetic("pmod"),
    "/": Function(divide, 2, 2),
    "div": Function(whole_divide, 2, 2),
    "negate": Function(negate, 1, 1),
    "positive": Function(positive, 1, 1),
    "=": comparison("="),
    "<": comparison("<"),
    "<=": comparison("<="),
    ">": comparison(">"),
    ">=": comparison(">="),
    "<=>": comparison("<=>"),
    "<>": Function(different, 2, 2),
    "and": logic("and", 2),
    "or": logic("or", 2),
    "not": logic("not", 1),
    "&": bitwise("&"),
    "|": bitwise("|"),
    "^": bitwise("^"),
    "~": Function(complement, 1, 1),
    "shiftleft": shift("shiftleft"),
    "shiftright": shift("shiftright"),
    "shiftrightunsigned": shift("shiftrightunsigned"),
    "isnotnull": Function(is_not_null, 1, 1),
    "isnull": Function(is_null, 1, 1),
    "if": Function(conditional, 3, 3),
    "coalesce": Function(coalesce, 1, None),
    "nvl": Function(coalesce, 2, 2),
    "ifnull": Function(coalesce, 2, 2),
    "nullif": Function(nullif, 2, 2),
    "nvl2": Function(nvl2, 3, 3),
    "in": Function(is_in, 2, None),
}
