"""The operators and functions of the language: what each accepts, what it gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from aurora.algebra.expressions.coercion import INTEGERS, NUMBERS, common_type, converted, widest
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.types import BIGINT, BOOLEAN, DOUBLE, VOID, type_name
from aurora.errors import AuroraError

__all__ = ["FUNCTIONS", "Clash", "Function", "conditional", "same_type"]


class Clash(AuroraError):
    """Arguments that do not fit; the resolver adds the place."""


Rule = Callable[..., Node]


@dataclass(frozen=True, slots=True)
class Function:
    """A rule and how many arguments it takes (`most` None: any number)."""

    rule: Rule
    least: int
    most: int | None

    def __call__(self, name: str, args: Sequence[Node]) -> Node:
        if len(args) < self.least or (self.most is not None and len(args) > self.most):
            raise Clash(f"{name} takes {self.arity()}, found {len(args)}")
        return self.rule(*args)

    def arity(self) -> str:
        if self.most is None:
            return f"at least {self.least} arguments"
        if self.least == self.most:
            return f"{self.least} argument{'s' if self.least != 1 else ''}"
        return f"{self.least} to {self.most} arguments"


def names(*types: pa.DataType) -> str:
    return " and ".join(type_name(arrow) for arrow in types)


def need(name: str, node: Node, allowed: Sequence[pa.DataType], wanted: str) -> Node:
    """The node, if it has an allowed type; a NULL takes the first of them."""
    if node.type == VOID:
        return converted(node, allowed[0])
    if node.type not in allowed:
        raise Clash(f"{name} needs {wanted}, found {type_name(node.type)}")
    return node


def number(name: str, node: Node) -> Node:
    return need(name, node, (DOUBLE, *NUMBERS), "a number")


def two_numbers(
    name: str, one: Node, other: Node, allowed: Sequence[pa.DataType], wanted: str
) -> pa.DataType:
    target = common_type(one.type, other.type)
    for node in (one, other):
        if node.type != VOID and node.type not in allowed:
            raise Clash(f"{name} needs {wanted}, found {names(one.type, other.type)}")
    return DOUBLE if target == VOID else target


def arithmetic(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        target = two_numbers(op, one, other, NUMBERS, "two numbers")
        return Call(op, (converted(one, target), converted(other, target)), target)

    return Function(rule, 2, 2)


def divide(one: Node, other: Node) -> Node:
    two_numbers("/", one, other, NUMBERS, "two numbers")
    return Call("/", (converted(one, DOUBLE), converted(other, DOUBLE)), DOUBLE)


def whole_divide(one: Node, other: Node) -> Node:
    two_numbers("div", one, other, INTEGERS, "two whole numbers")
    return Call("div", (converted(one, BIGINT), converted(other, BIGINT)), BIGINT)


def negate(node: Node) -> Node:
    node = number("-", node)
    return Call("negate", (node,), node.type)


def same_type(name: str, args: Sequence[Node]) -> tuple[Node, ...]:
    """The arguments, all as the type that holds them all."""
    target = widest([node.type for node in args])
    if target is None:
        raise Clash(f"{name} needs values of one type, found {names(*dict.fromkeys(n.type for n in args))}")
    return tuple(converted(node, target) for node in args)


def comparison(op: str) -> Function:
    def rule(one: Node, other: Node) -> Node:
        one, other = comparable(op, one, other)
        return Call(op, (one, other), BOOLEAN)

    return Function(rule, 2, 2)


def comparable(op: str, one: Node, other: Node) -> tuple[Node, Node]:
    target = common_type(one.type, other.type)
    if target is None:
        raise Clash(f"{op} cannot compare {names(one.type, other.type)}")
    return converted(one, target), converted(other, target)


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


def coalesce(*args: Node) -> Node:
    args = same_type("coalesce", args)
    return Call("coalesce", args, args[0].type)


def nullif(one: Node, other: Node) -> Node:
    equal = Call("=", comparable("nullif", one, other), BOOLEAN)
    return Call("if", (equal, Constant(None, one.type), one), one.type)


def nvl2(one: Node, then: Node, otherwise: Node) -> Node:
    return conditional(is_null(one), otherwise, then)


def is_in(*args: Node) -> Node:
    args = same_type("in", args)
    return Call("in", args, BOOLEAN)


FUNCTIONS: dict[str, Function] = {
    "+": arithmetic("+"),
    "-": arithmetic("-"),
    "*": arithmetic("*"),
    "%": arithmetic("%"),
    "mod": arithmetic("%"),
    "pmod": arithmetic("pmod"),
    "/": Function(divide, 2, 2),
    "div": Function(whole_divide, 2, 2),
    "negate": Function(negate, 1, 1),
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
    "isnull": Function(is_null, 1, 1),
    "if": Function(conditional, 3, 3),
    "coalesce": Function(coalesce, 1, None),
    "nvl": Function(coalesce, 2, 2),
    "ifnull": Function(coalesce, 2, 2),
    "nullif": Function(nullif, 2, 2),
    "nvl2": Function(nvl2, 3, 3),
    "in": Function(is_in, 2, None),
}
