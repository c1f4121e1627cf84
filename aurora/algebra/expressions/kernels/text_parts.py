"""Texts put together and taken apart."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, always
from aurora.algebra.expressions.kernels.digests import each
from aurora.algebra.expressions.kernels.text import constant
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.lists import list_lengths
from aurora.algebra.tuples.types import INT, STRING

__all__ = ["KERNELS"]


def concat_ws(node: Call) -> Kernel:
    """Nulls are passed over. (Arrow's own way to do that loses rows in which all are null.)"""
    between = constant(node, 0)

    def kernel(_: Value, *values: Value) -> pa.Array:
        pieces = [
            pc.fill_null(pc.binary_join_element_wise(between, value, ""), "")
            if not isinstance(value, pa.Scalar)
            else pa.scalar(between + value.as_py() if value.is_valid else "")
            for value in values
        ]
        joined = pc.binary_join_element_wise(*pieces, "") if len(pieces) > 1 else pieces[0]
        return pc.utf8_slice_codeunits(joined, len(between))

    return kernel


def padded(left: bool) -> Maker:
    def make(node: Call) -> Kernel:
        length, fill = max(constant(node, 1), 0), constant(node, 2)
        fills = pa.array([(fill * count)[:count] for count in range(length + 1)], STRING)

        def kernel(value: Value, *_: Value) -> pa.Array:
            cut = pc.utf8_slice_codeunits(value, 0, length)
            rest = fills.take(pc.subtract(length, pc.utf8_length(cut)))
            return pc.binary_join_element_wise(*((rest, cut) if left else (cut, rest)), "")

        return kernel

    return make


def instr(node: Call) -> Kernel:
    part = constant(node, 1)
    return each(lambda word: word.find(part) + 1, INT)


def repeated(node: Call) -> Kernel:
    count = max(constant(node, 1), 0)
    return lambda value, _: pc.binary_repeat(value, count)


def split_part(node: Call) -> Kernel:
    between, number = constant(node, 1), constant(node, 2)

    def kernel(value: Value, *_: Value) -> pa.Array:
        if not between:
            return value if number in (1, -1) else pc.if_else(pc.is_null(value), pa.scalar(None, STRING), "")
        parts = pc.split_pattern(value, between)
        lengths = list_lengths(parts)
        place = np.full(len(lengths), number - 1) if number > 0 else lengths + number
        outside = (place < 0) | (place >= lengths)
        starts = np.cumsum(lengths) - lengths
        found = parts.flatten().take(pa.array(np.where(outside, 0, starts + place), mask=outside))
        return pc.if_else(pc.is_null(value), pa.scalar(None, STRING), pc.fill_null(found, ""))

    return kernel


KERNELS: dict[str, Maker] = {
    "concat_ws": concat_ws,
    "lpad": padded(left=True),
    "rpad": padded(left=False),
    "instr": instr,
    "reverse": always(pc.utf8_reverse),
    "repeat": repeated,
    "split_part": split_part,
}
