"""Pairs of tuples that satisfy a predicate: which fields it wants equal, and which rows can match at all."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.expressions.tree import Call, Field, Node
from aurora.algebra.ordering.values import shift
from aurora.algebra.tuples.arrays import encode, expand, first_not_before, value_order
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask, Values
from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = [
    "are_complete",
    "equal_fields",
    "is_equality",
    "joined_schema",
    "match_equal",
    "match_near",
    "pair_predicate",
]


def pair_predicate(text: str, left: Schema, right: Schema, where: str) -> Expression:
    predicate = Expression.parse(text, {"left": left, "right": right}, where)
    if predicate.type != pa.bool_():
        raise AuroraError(f"{where}: '{text}' is {type_name(predicate.type)}, a predicate must be boolean")
    return predicate


def joined_schema(left: Schema, right: Schema) -> Schema:
    """The left fields, then the right ones; a right name that the left has too gets `_right`."""
    fields = {name: left[name] for name in left.names}
    for name in right.names:
        new = name
        while new in fields:
            new += "_right"
        fields[new] = right[name]
    return Schema.of(fields)


def equal_fields(predicate: Expression) -> tuple[tuple[str, str], ...]:
    """Pairs of fields, left and right, of one kind, that must be equal for the predicate to hold."""
    pairs = (_equal_pair(part) for part in _conjuncts(predicate))
    return tuple(dict.fromkeys(pair for pair in pairs if pair is not None))


def is_equality(predicate: Expression) -> bool:
    """Whether a predicate says nothing but that fields are equal."""
    return all(_equal_pair(part) is not None for part in _conjuncts(predicate))


def _conjuncts(predicate: Expression) -> Iterator[Node]:
    pending: list[Node] = [predicate.tree]
    while pending:
        node = pending.pop(0)
        if isinstance(node, Call) and node.op == "and":
            pending = [*node.args, *pending]
        else:
            yield node


def _equal_pair(node: Node) -> tuple[str, str] | None:
    if not isinstance(node, Call) or node.op != "=":
        return None
    sides = {field.side: field for field in map(_plain_field, node.args) if field is not None}
    if len(sides) == 2 and _one_kind(sides["left"].type, sides["right"].type):
        return sides["left"].name, sides["right"].name
    return None


def _plain_field(node: Node) -> Field | None:
    """A field, or one that was made wider: other casts make different values equal."""
    while isinstance(node, Call) and node.op == "cast" and _widens(node.args[0].type, node.type):
        (node,) = node.args
    return node if isinstance(node, Field) else None


def _widens(one: pa.DataType, other: pa.DataType) -> bool:
    integers = pa.types.is_integer(one) and pa.types.is_integer(other)
    return bool(one == other or (integers and one.bit_width <= other.bit_width))


def _one_kind(left: pa.DataType, right: pa.DataType) -> bool:
    return bool(left == right or (pa.types.is_integer(left) and pa.types.is_integer(right)))


def are_complete(rows: pa.RecordBatch, fields: Sequence[str]) -> Mask:
    """Which rows have no null in these fields: null equals nothing."""
    complete = np.ones(rows.num_rows, bool)
    for name in fields:
        if rows.column(name).null_count:
            complete &= rows.column(name).is_valid().to_numpy(zero_copy_only=False)
    return complete


def match_near(left: tuple[Ints, Values], right: tuple[Ints, Values], size: Any) -> tuple[Ints, Ints]:
    """Positions of the pairs of one group whose values are not further apart than `size`."""
    (left_group, left_value), (right_group, right_value) = left, right
    if len(left_group) == 0 or len(right_group) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = value_order(right_group, right_value)
    by_group, by_value = right_group[order], right_value[order]
    start = np.searchsorted(by_group, left_group, side="left")
    stop = np.searchsorted(by_group, left_group, side="right")
    low = first_not_before(by_value, start, stop, shift(left_value, -size))
    high = first_not_before(by_value, start, stop, shift(left_value, size), after=True)
    place, owner = expand(low, high)
    return owner, order[place]


def match_equal(
    left: pa.RecordBatch, right: pa.RecordBatch, equal: tuple[tuple[str, str], ...]
) -> tuple[Ints, Ints]:
    """Positions of the pairs with equal fields."""
    if left.num_rows == 0 or right.num_rows == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    here = np.flatnonzero(are_complete(left, [one for one, _ in equal]))
    there = np.flatnonzero(are_complete(right, [other for _, other in equal]))
    codes = np.zeros(left.num_rows + right.num_rows, np.int64)
    if equal:
        columns = []
        for left_name, right_name in equal:
            one, two = left.column(left_name), right.column(right_name)
            if one.type != two.type:
                one, two = one.cast(pa.int64()), two.cast(pa.int64())
            columns.append(pa.concat_arrays([one, two]))
        codes = encode(columns)
    code_left, code_right = codes[here], codes[left.num_rows + there]
    order = stable_order(code_right)
    low = np.searchsorted(code_right[order], code_left, side="left")
    high = np.searchsorted(code_right[order], code_left, side="right")
    place, owner = expand(low, high)
    return here[owner], there[order[place]]
