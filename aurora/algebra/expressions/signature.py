"""What a function accepts and gives: how many arguments, of which types, and the fault if not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.expressions.coercion import NUMBERS, converted, widest
from aurora.algebra.expressions.conversions import argument_fix, meeting
from aurora.algebra.expressions.tree import Constant, Node
from aurora.algebra.tuples.types import DOUBLE, INT, STRING, VOID, type_name
from aurora.errors import AuroraError

__all__ = ["Clash", "Function", "literal", "names", "need", "number", "same_type", "text"]


class Clash(AuroraError):
    """Arguments that do not fit; the resolver adds the place. `fix` is what to write instead, if that is known."""

    def __init__(self, fault: str, fix: str = "") -> None:
        super().__init__(fault)
        self.fix = fix

    def at(self, place: str) -> str:
        return f"{self} in '{place}'" + (f": write {self.fix}" if self.fix else "")


@dataclass(frozen=True, slots=True)
class Function:
    """A rule from arguments to a node, and how many it takes (`most` None: any number)."""

    rule: Callable[..., Node]
    least: int
    most: int | None

    def __call__(self, name: str, args: Sequence[Node]) -> Node:
        if len(args) < self.least or (self.most is not None and len(args) > self.most):
            raise Clash(f"{name} takes {self.arity()}, found {len(args)}")
        return self.rule(*args)

    def arity(self) -> str:
        if self.most is None:
            return f"at least {plural(self.least)}"
        return plural(self.least) if self.least == self.most else f"{self.least} to {plural(self.most)}"


def plural(count: int) -> str:
    return f"{count} argument" + ("" if count == 1 else "s")


def names(*types: pa.DataType) -> str:
    return " and ".join(type_name(arrow) for arrow in types)


def need(name: str, node: Node, allowed: Sequence[pa.DataType], wanted: str) -> Node:
    """The node, if it has an allowed type; a NULL takes the first of them."""
    if node.type == VOID:
        return converted(node, allowed[0])
    if node.type not in allowed:
        raise Clash(f"{name} needs {wanted}, found {type_name(node.type)}", argument_fix(name, node, allowed))
    return node


def number(name: str, node: Node) -> Node:
    return need(name, node, (DOUBLE, *NUMBERS), "a number")


def text(name: str, node: Node) -> Node:
    return need(name, node, (STRING,), "a string")


def literal(name: str, node: Node, allowed: pa.DataType) -> Any:
    """The value of an argument that has to be known before the run."""
    if not isinstance(node, Constant) or node.value is None or node.type != allowed:
        kind = {STRING: "a string", INT: "a whole number"}[allowed]
        raise Clash(f"{name} needs {kind} written out here, not a computed value")
    return node.value


def same_type(name: str, args: Sequence[Node]) -> tuple[Node, ...]:
    """The arguments, all as the type that holds them all."""
    target = widest([node.type for node in args])
    if target is None:
        found = names(*dict.fromkeys(node.type for node in args))
        raise Clash(f"{name} needs values of one type, found {found}", meeting(args))
    return tuple(converted(node, target) for node in args)
