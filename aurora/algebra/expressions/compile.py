"""From the typed tree to closures over Arrow batches, made once per process."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from aurora.algebra.expressions.kernels import KERNELS
from aurora.algebra.expressions.tree import Call, Constant, Field, Node, depth_of, inside_out

__all__ = ["Batch", "compiled", "fold"]

Batch: TypeAlias = pa.RecordBatch | pa.Table
# What a closure reads: a batch, or the batches of both sides by their names.
Source = Any
Column = Callable[[Source], pa.Array]
# A field to read, or a kernel with its arguments: a constant, or None for a column that was computed before.
Step = tuple[Callable[..., pa.Array], list[pa.Scalar | None] | None]
DEEP = 100


def compiled(node: Node) -> Column | pa.Scalar:
    """A function from a batch to the node's column, or the value itself where it never changes."""
    deep = depth_of(node) > DEEP
    steps: list[Step] = []
    columns: list[Any] = []
    for part in inside_out(node):
        if isinstance(part, Constant):
            columns.append(part.scalar())
        elif isinstance(part, Field):
            columns.append(reader(part))
            steps.append((columns[-1], None))
        else:
            kernel, start = KERNELS[part.op](part), len(columns) - len(part.args)
            parts = columns[start:]
            if all(isinstance(each, pa.Scalar) for each in parts):
                columns[start:] = [kernel(*(pa.repeat(each, 1) for each in parts))[0]]
            else:
                columns[start:] = [None if deep else applied(kernel, parts)]
                steps.append((kernel, [each if isinstance(each, pa.Scalar) else None for each in parts]))
    return columns[0] if not deep or isinstance(columns[0], pa.Scalar) else one_by_one(steps)


def one_by_one(steps: list[Step]) -> Column:
    """The steps of a tree that is too deep for functions that call each other, on a stack of columns."""

    def run(source: Source) -> pa.Array:
        stack: list[pa.Array] = []
        for function, constants in steps:
            if constants is None:
                stack.append(function(source))
                continue
            args = [stack.pop() if each is None else each for each in reversed(constants)]
            stack.append(function(*reversed(args)))
        return stack[0]

    return run


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
