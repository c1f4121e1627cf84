"""The typed tree as text for Spark's `expr`."""

import math

from aurora.algebra.expressions.tree import INSIDE, Call, Constant, Field, Node, inside_out
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
    type_name,
)

__all__ = ["to_spark"]

INFIX = {"+", "-", "*", "/", "%", "div", "=", "<", "<=", ">", ">=", "<=>", "and", "or", "&", "|", "^"}
CHAINED = {"+", "-", "*", "and", "or"}
PREFIX = {"not": "NOT ", "negate": "- ", "~": "~"}
SUFFIXES = {INT: "", BIGINT: "L", SMALLINT: "S", TINYINT: "Y"}


def to_spark(node: Node) -> str:
    """Spark's text of the tree: every cast written out, every operation in brackets."""
    texts: list[str] = []
    for part in inside_out(node):
        if isinstance(part, Field):
            name = spark_name(part.name)
            texts.append(name if part.side is None else f"`{part.side}`.{name}")
        elif isinstance(part, Constant):
            texts.append(constant_to_spark(part))
        else:
            start = len(texts) - len(part.args)
            texts[start:] = [call_to_spark(part, texts[start:])]
    return texts[0]


def call_to_spark(node: Call, args: list[str]) -> str:
    op, first = node.op, node.args[0]
    if op == INSIDE:
        assert isinstance(node.args[1], Constant)
        return f"{args[0]}.{spark_name(str(node.args[1].value))}"
    if op in CHAINED and isinstance(first, Call) and first.op == op:
        # Brackets are what Spark's parser has least room for.
        return f"{args[0][:-1]} {op} {args[1]})"
    if op in INFIX:
        return f"({args[0]} {op} {args[1]})"
    if op in PREFIX:
        return f"({PREFIX[op]}{args[0]})"
    if op == "cast":
        return f"CAST({args[0]} AS {type_name(node.type)})"
    if op == "try_cast":
        return f"TRY_CAST({args[0]} AS {type_name(node.type)})"
    if op.startswith("trim "):
        return f"{op.replace(' ', '(')} {args[1]} FROM {args[0]})"
    if op == "map_size":
        return f"size({args[0]})"
    if op in ("element", "map_element"):
        return f"{args[0]}[{args[1]}]"
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
