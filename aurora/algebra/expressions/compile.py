"""From the typed tree to closures over Arrow batches, made once per process."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from aurora.algebra.expressions.kernels import KERNELS
from aurora.algebra.expressions.tree import Call, Constant, Field, Node

__all__ = ["Batch", "compiled", "fold"]

Batch: TypeAlias = pa.RecordBatch | pa.Table
# What a closure reads: a batch, or the batches of both sides by their names.
Source = Any
Column = Callable[[Source], pa.Array]


def compiled(node: Node) -> Column | pa.Scalar:
    """A function from a batch to the node's column, or the value itself where it never changes."""
    if isinstance(node, Constant):
        return node.scalar()
    if isinstance(node, Field):
        return reader(node)
    kernel = KERNELS[node.op](node)
    parts = [compiled(argument) for argument in node.args]
    if all(isinstance(part, pa.Scalar) for part in parts):
        return kernel(*(pa.repeat(part, 1) for part in parts))[0]
    return applied(kernel, parts)


def applied(kernel: Callable[..., pa.Array], parts: list[Any]) -> Column:
    """The kernel on its arguments; the common shapes are spelt out because every call counts."""
    if len(parts) == 1:
        only = parts[0]
        return lambda source: kernel(only(source))
    if len(parts) == 2:
        one, other = parts
        if isinstance(other, pa.Scalar):
            return lambda source: kernel(one(source), other)
        if isinstance(one, pa.Scalar):
            return lambda source: kernel(one, other(source))
        return lambda source: kernel(one(source), other(source))
    return lambda source: kernel(*(part if isinstance(part, pa.Scalar) else part(source) for part in parts))


def reader(field: Field) -> Column:
    name, side, arrow = field.name, field.side, field.type

    def read(batch: Batch) -> pa.Array:
        column = batch.column(name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        return column if column.type == arrow else column.cast(arrow)

    def read_side(sides: Mapping[str, Batch]) -> pa.Array:
        return read(sides[side or ""])

    return read if side is None else read_side


def fold(node: Call) -> pa.Scalar:
    """The value of a call on constants."""
    value = compiled(node)
    assert isinstance(value, pa.Scalar)
    return value
