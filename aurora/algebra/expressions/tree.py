"""The typed tree of an expression: what Spark is told and what the Arrow evaluator compiles."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    is_struct,
    type_name,
)

__all__ = ["INSIDE", "Call", "Constant", "Field", "Node", "Use", "fields_of", "to_spark", "uses_of"]


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

INFIX = {"+", "-", "*", "/", "%", "div", "=", "<", "<=", ">", ">=", "<=>", "and", "or", "&", "|", "^"}
PREFIX = {"not": "NOT ", "negate": "- ", "~": "~"}
SUFFIXES = {INT: "", BIGINT: "L", SMALLINT: "S", TINYINT: "Y"}


def fields_of(node: Node) -> Iterator[Field]:
    if isinstance(node, Field):
        yield node
    elif isinstance(node, Call):
        for argument in node.args:
            yield from fields_of(argument)


@dataclass(frozen=True, slots=True)
class Use:
    """What an expression looks at: a field, or one inside it; `whole` is false where only its being there counts."""

    side: str | None
    path: tuple[str, ...]
    whole: bool


def uses_of(node: Node) -> Iterator[Use]:
    found = path_of(node)
    if found is not None:
        yield Use(*found, True)
    elif isinstance(node, Call):
        tested = path_of(node.args[0]) if node.op == "is null" else None
        if tested is not None:
            yield Use(*tested, not is_struct(node.args[0].type))
        else:
            for argument in node.args:
                yield from uses_of(argument)


def path_of(node: Node) -> tuple[str | None, tuple[str, ...]] | None:
    """The side and the names of a field or of one inside it, None for anything else."""
    names: list[str] = []
    while isinstance(node, Call) and node.op == INSIDE:
        assert isinstance(node.args[1], Constant)
        names.append(str(node.args[1].value))
        node = node.args[0]
    return (node.side, (node.name, *reversed(names))) if isinstance(node, Field) else None


def to_spark(node: Node) -> str:
    """Spark's text of the tree: every cast written out, every operation in brackets."""
    if isinstance(node, Field):
        name = spark_name(node.name)
        return name if node.side is None else f"`{node.side}`.{name}"
    if isinstance(node, Constant):
        return constant_to_spark(node)
    if node.op == INSIDE:
        assert isinstance(node.args[1], Constant)
        return f"{to_spark(node.args[0])}.{spark_name(str(node.args[1].value))}"
    args = [to_spark(argument) for argument in node.args]
    op = node.op
    if op in INFIX:
        return f"({args[0]} {op} {args[1]})"
    if op in PREFIX:
        return f"({PREFIX[op]}{args[0]})"
    if op == "cast":
        return f"CAST({args[0]} AS {type_name(node.type)})"
    if op == "is null":
        return f"({args[0]} IS NULL)"
    if op == "in":
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    if op in ("like", "rlike"):
        return f"({args[0]} {op} {args[1]})"
    if op.startswith("add "):
        assert isinstance(node.args[1], Constant)
        return f"({args[0]} + {interval_to_spark(op.removeprefix('add '), node.args[1].value)})"
    return f"{op}({', '.join(args)})"


def spark_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def constant_to_spark(node: Constant) -> str:
    value = node.value
    if value is None:
        return "NULL" if node.type == VOID else f"CAST(NULL AS {type_name(node.type)})"
    if node.type == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if node.type == STRING:
        assert isinstance(value, str)
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if node.type == DATE:
        return f"date_from_unix_date({value})"
    if node.type == TIMESTAMP:
        return f"timestamp_micros({value}L)"
    if node.type in (DOUBLE, FLOAT):
        assert isinstance(value, float)
        if not math.isfinite(value):
            text = f"CAST('{value}' AS DOUBLE)"
        else:
            # A decimal literal is a double in this language, a decimal in Spark's.
            text = f"{value!r}D"
        return f"CAST({text} AS FLOAT)" if node.type == FLOAT else bracketed(text)
    return bracketed(f"{value}{SUFFIXES[node.type]}")


def bracketed(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def interval_to_spark(kind: str, amount: object) -> str:
    assert isinstance(amount, int)
    if kind != "microseconds":
        return f"INTERVAL '{amount}' {kind.removesuffix('s').upper()}"
    seconds, fraction = divmod(abs(amount), 1_000_000)
    return f"INTERVAL '{'-' if amount < 0 else ''}{seconds}.{fraction:06d}' SECOND"
