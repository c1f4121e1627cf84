"""Arrays: made, taken apart and searched, all elements of a column at once."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS
from aurora.algebra.expressions.kernels.columns import (
    Kernel,
    Maker,
    Value,
    always,
    column,
    nulls,
    plain,
    repeated,
)
from aurora.algebra.expressions.kernels.logic import equal
from aurora.algebra.expressions.kernels.text import by_pattern, constant
from aurora.algebra.expressions.patterns import parse_pattern
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.lists import list_lengths, with_elements
from aurora.algebra.tuples.train import Ints, Mask
from aurora.algebra.tuples.types import BOOLEAN, INT, STRING

__all__ = ["KERNELS"]


def as_columns(*values: Value) -> list[pa.Array]:
    """All values as arrays of one length."""
    rows = next(len(value) for value in values if not isinstance(value, pa.Scalar))
    return [repeated(value, rows) if isinstance(value, pa.Scalar) else value for value in values]


def made(node: Call) -> Kernel:
    kind = node.type.value_type

    def kernel(*values: Value) -> pa.Array:
        columns = as_columns(*values)
        rows, width = len(columns[0]), len(columns)
        order = (np.arange(rows)[:, None] + rows * np.arange(width)).ravel()
        elements = pa.concat_arrays(columns).take(pa.array(order)).cast(kind)
        return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * width), elements)

    return kernel


def element(lists: Value, places: Value) -> pa.Array:
    lists, places = as_columns(lists, places)
    return _taken(lists, plain(places), nulls(lists, places))


def element_at(node: Call) -> Kernel:
    number = constant(node, 1)

    def kernel(lists: Value, _: Value) -> pa.Array:
        place = np.full(len(lists), number - 1) if number > 0 else list_lengths(lists) + number
        return _taken(lists, place, nulls(lists))

    return kernel


def _taken(lists: pa.Array, place: Ints, missing: Mask | None) -> pa.Array:
    """The element at a place of each list, counted from 0; null where there is none."""
    lengths = list_lengths(lists)
    outside = (place < 0) | (place >= lengths)
    outside = outside if missing is None else outside | missing
    starts = np.cumsum(lengths) - lengths
    return lists.flatten().take(pa.array(np.where(outside, 0, starts + place), mask=outside))


def size(lists: Value) -> pa.Array:
    """Of a null -1, as in Spark."""
    return pc.fill_null(lists.value_lengths(), -1).cast(INT)


def contains(node: Call) -> Kernel:
    same = equal(node.args[1].type in FRACTIONS)

    def kernel(lists: Value, value: Value) -> pa.Array:
        lists, value = as_columns(lists, value)
        lengths = list_lengths(lists)
        owner = np.repeat(np.arange(len(lists)), lengths)
        found = same(lists.flatten(), value.take(pa.array(owner)))
        unknown = pc.is_null(found).to_numpy(zero_copy_only=False)
        true = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        some = np.bincount(owner[true], minlength=len(lists)) > 0
        doubtful = np.bincount(owner[unknown], minlength=len(lists)) > 0
        missing = nulls(lists, value)
        missing = ~some & doubtful if missing is None else missing | (~some & doubtful)
        return column(some, missing, BOOLEAN)

    return kernel


def joined(node: Call) -> Kernel:
    between = constant(node, 1)
    stand_in = constant(node, 2) if len(node.args) == 3 else None

    def kernel(lists: Value, *_: Value) -> pa.Array:
        elements = lists.flatten()
        if stand_in is not None:
            lists = with_elements(lists, pc.fill_null(elements, stand_in))
        elif elements.null_count:
            kept = pc.is_valid(elements).to_numpy(zero_copy_only=False)
            owner = np.repeat(np.arange(len(lists)), list_lengths(lists))[kept]
            ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(lists)))]).astype(np.int32)
            missing = pc.is_null(lists) if lists.null_count else None
            lists = pa.ListArray.from_arrays(pa.array(ends), elements.drop_null(), mask=missing)
        return pc.binary_join(lists, between)

    return kernel


def split(node: Call) -> Kernel:
    text, limit = constant(node, 1), constant(node, 2)
    pattern = parse_pattern(text)
    most = limit - 1 if limit > 0 else None
    if limit == 1:
        return lambda value, *_: with_whole(value)
    if re.fullmatch(r"[^\\^$.|?*+(){}\[\]]+", text):
        return lambda value, *_: pc.split_pattern(value, text, max_splits=most)
    return by_pattern(
        pattern, lambda value, written, _: pc.split_pattern_regex(value, written, max_splits=most)
    )


def with_whole(value: pa.Array) -> pa.Array:
    ends = pa.array(np.arange(len(value) + 1, dtype=np.int32))
    missing = pc.is_null(value) if value.null_count else None
    return pa.ListArray.from_arrays(ends, pc.fill_null(value, "").cast(STRING), mask=missing)


KERNELS: dict[str, Maker] = {
    "array": made,
    "element": always(element),
    "element_at": element_at,
    "size": always(size),
    "array_size": always(lambda lists: lists.value_lengths()),
    "array_contains": contains,
    "array_join": joined,
    "split": split,
}
