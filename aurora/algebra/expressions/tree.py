"""The typed tree of an expression: what Spark is told and what the Arrow evaluator compiles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.tuples.types import (
    DATE,
    TIMESTAMP,
    is_struct,
)

__all__ = [
    "ARRIVED",
    "INSIDE",
    "Call",
    "Constant",
    "Field",
    "Node",
    "Use",
    "depth_of",
    "fields_of",
    "from_postfix",
    "inside_out",
    "postfix",
    "size_of",
    "uses_of",
    "with_fields",
]

# The hidden field that `arrival_time()` reads.
ARRIVED = "#arrived"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    side: str | None
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Dates are days and timestamps microseconds since 1970, as in Arrow."""

    value: bool | int | float | str | None
    type: pa.DataType

    def scalar(self) -> pa.Scalar:
        if self.type == DATE:
            return pa.scalar(self.value, pa.int32()).cast(DATE)
        if self.type == TIMESTAMP:
            return pa.scalar(self.value, pa.int64()).cast(TIMESTAMP)
        return pa.scalar(self.value, self.type)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function on arguments that already have the types it wants."""

    op: str
    args: tuple["Node", ...]
    type: pa.DataType


Node = Field | Constant | Call

# The operation that takes a field out of a struct; its second argument is the name.
INSIDE = "field"


# No function here calls itself: a sum of thousands of terms is a tree as deep.
def inside_out(node: Node) -> list[Node]:
    """All nodes, each behind its arguments."""
    found: list[Node] = []
    pending = [node]
    while pending:
        node = pending.pop()
        found.append(node)
        if isinstance(node, Call):
            pending.extend(node.args)
    found.reverse()
    return found


def depth_of(node: Node) -> int:
    depths: list[int] = []
    for part in inside_out(node):
        count = len(part.args) if isinstance(part, Call) else 0
        inner = [depths.pop() for _ in range(count)]
        depths.append(1 + max(inner, default=0))
    return depths[0]


def size_of(node: Node) -> int:
    """How many nodes there are, where one that stands in several places counts in each."""
    sizes: dict[int, int] = {}
    pending = [node]
    while pending:
        node = pending[-1]
        args = node.args if isinstance(node, Call) else ()
        inner = [argument for argument in args if id(argument) not in sizes]
        if inner:
            pending.extend(inner)
        else:
            sizes[id(node)] = 1 + sum(sizes[id(argument)] for argument in args)
            pending.pop()
    return sizes[id(node)]


def postfix(node: Node) -> tuple["Node | tuple[str, int, pa.DataType]", ...]:
    """The tree laid out flat: a call is its name, the number of its arguments, which stand before it, and its type."""
    return tuple(
        (part.op, len(part.args), part.type) if isinstance(part, Call) else part for part in inside_out(node)
    )


def from_postfix(parts: tuple["Node | tuple[str, int, pa.DataType]", ...]) -> Node:
    nodes: list[Node] = []
    for part in parts:
        if isinstance(part, tuple):
            op, count, arrow = part
            start = len(nodes) - count
            nodes[start:] = [Call(op, tuple(nodes[start:]), arrow)]
        else:
            nodes.append(part)
    return nodes[0]


def with_fields(node: Node, fields: Mapping[str, Node]) -> Node:
    """The tree with other nodes in place of its fields, those of no side."""
    parts: list[Any] = []
    for part in postfix(node):
        known = fields.get(part.name) if isinstance(part, Field) and part.side is None else None
        parts += [part] if known is None else postfix(known)
    return from_postfix(tuple(parts))


def fields_of(node: Node) -> Iterator[Field]:
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, Field):
            yield node
        elif isinstance(node, Call):
            pending.extend(node.args)


@dataclass(frozen=True, slots=True)
class Use:
    """What an expression looks at: a field, or one inside it; `whole` is false where only its being there counts."""

    side: str | None
    path: tuple[str, ...]
    whole: bool


def uses_of(node: Node) -> Iterator[Use]:
    pending = [node]
    while pending:
        node = pending.pop()
        found = path_of(node)
        if found is not None:
            yield Use(*found, True)
        elif isinstance(node, Call):
            tested = path_of(node.args[0]) if node.op == "is null" else None
            if tested is not None:
                yield Use(*tested, not is_struct(node.args[0].type))
            else:
                pending.extend(node.args)


def path_of(node: Node) -> tuple[str | None, tuple[str, ...]] | None:
    """The side and the names of a field or of one inside it, None for anything else."""
    names: list[str] = []
    while isinstance(node, Call) and node.op == INSIDE:
        assert isinstance(node.args[1], Constant)
        names.append(str(node.args[1].value))
        node = node.args[0]
    return (node.side, (node.name, *reversed(names))) if isinstance(node, Field) else None
