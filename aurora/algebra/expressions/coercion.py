"""Which types go together and what comes out: Spark's promotions, without its guesses about strings."""

from collections.abc import Sequence

import pyarrow as pa

from aurora.algebra.expressions.tree import Call, Constant, Node, fields_of
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    is_decimal,
    is_nested,
)

__all__ = [
    "FRACTIONS",
    "INTEGERS",
    "NUMBERS",
    "TIMES",
    "as_decimal",
    "can_cast",
    "common_type",
    "converted",
    "widest",
]

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
FRACTIONS = (FLOAT, DOUBLE)
NUMBERS = (*INTEGERS, *FRACTIONS)
RANK = {arrow: rank for rank, arrow in enumerate(NUMBERS)}
TIMES = (DATE, TIMESTAMP)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds both, None if there is none: the wider number, the timestamp of a date."""
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if one in RANK and other in RANK:
        return max(one, other, key=RANK.__getitem__)
    if one in TIMES and other in TIMES:
        return TIMESTAMP
    if is_decimal(one) or is_decimal(other):
        return common_decimal(one, other)
    return None


def common_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A decimal with room for the digits of both; beside a float or double, a double."""
    if one in FRACTIONS or other in FRACTIONS:
        return DOUBLE
    kinds = [kind for kind in (as_decimal(one), as_decimal(other)) if kind is not None]
    if len(kinds) < 2:
        return None
    scale = max(kind.scale for kind in kinds)
    digits = max(kind.precision - kind.scale for kind in kinds) + scale
    # Where there are too many, those behind the point go first.
    return pa.decimal128(min(digits, MOST_DIGITS), max(0, scale - max(0, digits - MOST_DIGITS)))


def as_decimal(kind: pa.DataType) -> pa.DataType | None:
    """The decimal that holds all values of a whole number; a decimal stays what it is."""
    if kind in INTEGERS:
        return pa.decimal128((3, 5, 10, 20)[INTEGERS.index(kind)], 0)
    return kind if is_decimal(kind) else None


def widest(types: Sequence[pa.DataType]) -> pa.DataType | None:
    result: pa.DataType | None = VOID
    for arrow in types:
        result = None if result is None else common_type(result, arrow)
    return result


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether CAST allows it. Spark has more, which always gives null or hides a mistake."""
    if is_nested(source) or is_nested(target):
        return bool(source in (target, VOID))
    if VOID in (source, target) or STRING in (source, target) or source == target:
        return bool(target != VOID)
    if is_decimal(source) or is_decimal(target):
        return all(kind in (*NUMBERS, BOOLEAN) or is_decimal(kind) for kind in (source, target))
    plain = (*NUMBERS, BOOLEAN)
    if source in plain and target in plain:
        return True
    if source in TIMES and target in TIMES:
        return True
    seconds = (INT, BIGINT, DOUBLE)
    return bool((source == TIMESTAMP and target in seconds) or (target == TIMESTAMP and source in seconds))


def converted(node: Node, target: pa.DataType) -> Node:
    """The node as that type; constants are converted on the spot."""
    if node.type == target:
        return node
    if isinstance(node, Constant):
        if node.value is None:
            return Constant(None, target)
        if target in INTEGERS and node.type in INTEGERS and RANK[target] > RANK[node.type]:
            return Constant(node.value, target)
        if target == DOUBLE and node.type in NUMBERS:
            assert isinstance(node.value, int | float)
            return Constant(float(node.value), target)
    if isinstance(node, Call) and node.op == "cast" and skipped(node, target):
        return converted(node.args[0], target)
    return Call("cast", (node,), target)


def skipped(cast: Call, target: pa.DataType) -> bool:
    """Whether Spark's optimiser skips this step on the way to a wider number, as bigint to float to double.

    What holds no field is computed before it comes to that.
    """
    ranks = [RANK.get(arrow, -1) for arrow in (cast.args[0].type, cast.type, target)]
    return -1 not in ranks and ranks == sorted(set(ranks)) and any(fields_of(cast))
