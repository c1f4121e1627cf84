"""What to write where types do not fit: the conversion that the author probably meant, in the language itself."""

import re
from collections.abc import Sequence

import pyarrow as pa

from aurora.algebra.expressions.coercion import INTEGERS, NUMBERS, TIMES
from aurora.algebra.expressions.tree import Constant, Field, Node
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    is_array,
    is_decimal,
    is_map,
    is_nested,
    type_name,
)

__all__ = [
    "aggregate_fix",
    "argument_fix",
    "arithmetic_fix",
    "array_fix",
    "comparison_fix",
    "conversion",
    "meeting",
]


def named(node: Node) -> str:
    """A node as it was written, if it is a field or a literal; dots otherwise."""
    if isinstance(node, Field):
        if re.fullmatch(r"agg\d+", node.name):
            return ".."  # the result of an aggregate, under a name that nobody wrote
        name = node.name if node.name.isidentifier() else f"`{node.name}`"
        return name if node.side is None else f"{node.side}.{name}"
    if isinstance(node, Constant) and node.value is not None:
        value = str(node.value)
        if node.type == STRING and len(value) < 20 and "'" not in value and "\\" not in value:
            return f"'{value}'"
        if node.type in NUMBERS:
            return value
    return ".."


def conversion(node: Node, allowed: Sequence[pa.DataType]) -> str:
    """The node as one of the allowed types, or nothing if there is no sensible way."""
    name, found = named(node), node.type
    numeric = found in NUMBERS or is_decimal(found)
    if any(kind in NUMBERS for kind in allowed):
        return to_number(node, allowed)
    if TIMESTAMP in allowed or DATE in allowed:
        whole = TIMESTAMP in allowed
        if found == STRING:
            return f"to_timestamp({name})" if whole else f"to_date({name})"
        if found in NUMBERS:
            return f"timestamp_seconds({name})" if whole else f"to_date(timestamp_seconds({name}))"
        if found in TIMES:
            return f"to_timestamp({name})" if whole else f"to_date({name})"
        return ""
    if BOOLEAN in allowed:
        return f"{name} <> 0" if numeric else f"CAST({name} AS boolean)" if found == STRING else ""
    if STRING in allowed:
        if is_array(found):
            return f"array_join({name}, ',')" if found.value_type == STRING else ""
        return "" if is_nested(found) else f"CAST({name} AS string)"
    return ""


def argument_fix(name: str, node: Node, allowed: Sequence[pa.DataType]) -> str:
    if name in ("length", "char_length", "character_length") and (is_array(node.type) or is_map(node.type)):
        return f"size({named(node)})"
    return conversion(node, allowed)


def array_fix(name: str, node: Node) -> str:
    if node.type != STRING:
        return ""
    return f"length({named(node)})" if name in ("size", "cardinality") else f"split({named(node)}, ',')"


def to_number(node: Node, allowed: Sequence[pa.DataType]) -> str:
    name, found = named(node), node.type
    target = next(kind for kind in (DOUBLE, BIGINT, INT, *allowed) if kind in allowed)
    if found == BOOLEAN:
        return f"if({name}, 1, 0)"
    if found in TIMES and BIGINT in allowed:
        return f"unix_micros({name})" if found == TIMESTAMP else f"unix_timestamp({name})"
    if found == STRING or found in NUMBERS or is_decimal(found):
        return f"CAST({name} AS {type_name(target)})"
    return ""


def arithmetic_fix(op: str, one: Node, other: Node) -> str:
    """For + and - on times and texts, which mean something else than arithmetic."""
    left, right = named(one), named(other)
    if op == "-" and one.type in TIMES and other.type in TIMES:
        if DATE in (one.type, other.type):
            return f"datediff({left}, {right})"
        return f"unix_micros({left}) - unix_micros({right})"
    if op in ("+", "-") and one.type in TIMES and other.type in NUMBERS:
        count = right if isinstance(other, Constant) and other.type in INTEGERS else "5"
        return f"{left} {op} INTERVAL {count} {'DAYS' if one.type == DATE else 'SECONDS'}"
    if op == "+" and one.type == other.type == STRING:
        return f"{left} || {right}"
    return ""


def comparison_fix(one: Node, other: Node) -> str:
    """A text becomes what it is compared with, a number a time, a boolean a number."""
    for node, against in ((one, other), (other, one)):
        if node.type == STRING and not is_nested(against.type):
            kind = against.type
            return conversion(node, (kind,)) if kind in TIMES else f"CAST({named(node)} AS {type_name(kind)})"
    for node, against in ((one, other), (other, one)):
        if node.type in NUMBERS and against.type in TIMES:
            return conversion(node, (against.type,))
        if node.type == BOOLEAN and against.type in NUMBERS:
            return f"if({named(node)}, 1, 0)"
    return ""


def meeting(args: Sequence[Node]) -> str:
    """One of the arguments as the type of the others: as a text if one of them is a text."""
    kinds = [node.type for node in args]
    for node in args:
        if STRING in kinds:
            if node.type != STRING:
                return conversion(node, (STRING,))
        elif node.type in NUMBERS and (TIMESTAMP in kinds or DATE in kinds):
            return f"timestamp_seconds({named(node)})"
        elif node.type == BOOLEAN:
            return f"if({named(node)}, 1, 0)"
    return ""


def aggregate_fix(name: str, argument: Node) -> str:
    if name in ("bool_and", "bool_or", "count_if"):
        inner = conversion(argument, (BOOLEAN,))
    elif name == "sum" and argument.type == BOOLEAN:
        return f"count_if({named(argument)})"
    else:
        inner = conversion(argument, (DOUBLE, *INTEGERS))
    return f"{name}({inner})" if inner else ""
