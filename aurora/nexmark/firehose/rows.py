"""Events as Arrow rows: a struct column for each kind, of which every row has one."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aurora.errors import AuroraError
from aurora.nexmark.firehose.facts import KIND, KINDS, OTHER, Facts
from aurora.nexmark.firehose.fields import FIELDS, Field, longest, put_field
from aurora.nexmark.firehose.kernel import cached_kernel

__all__ = ["to_rows"]

MOST_BYTES = 2**31 - 1


@cached_kernel
def _fill_text(facts: Facts, kind: int, shows: int, ends: NDArray[np.int32], out: NDArray[np.uint8]) -> int:
    at: Any = np.int64(0)
    for row in range(facts.shape[1]):
        if facts[KIND, row] == kind:
            at = put_field(out, at, shows, facts, row)
        ends[row] = at
    return at  # type: ignore[no-any-return]


def to_rows(facts: Facts, schema: pa.Schema) -> pa.RecordBatch:
    """The columns and fields that the schema has, and only those: the others cost nothing."""
    columns = [_struct(facts, column) for column in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _struct(facts: Facts, column: pa.Field) -> pa.Array:
    if column.name not in KINDS or not pa.types.is_struct(column.type):
        raise AuroraError(
            f"the firehose has no field '{column.name} {column.type}': it has the structs {', '.join(KINDS)}"
        )
    kind = KINDS.index(column.name)
    mask = facts[KIND] == kind
    children = [_child(facts, kind, mask, wanted, column.name) for wanted in column.type]
    return pa.Array.from_buffers(column.type, len(mask), [_bits(mask)], children=children)


def _child(facts: Facts, kind: int, mask: NDArray[np.bool_], wanted: pa.Field, struct: str) -> pa.Array:
    field = next((field for field in FIELDS[kind] if field.name == wanted.name), None)
    if field is None or field.type != wanted.type:
        there = ", ".join(f"{field.name}: {field.type}" for field in FIELDS[kind])
        raise AuroraError(
            f"the firehose has no '{wanted.name}: {wanted.type}' in {struct}, whose fields are {there}"
        )
    if pa.types.is_string(field.type):
        return _text(facts, kind, mask, field)
    column = facts[field.column]
    if field.column == OTHER:
        mask = mask & (column >= 0)
    return pa.Array.from_buffers(field.type, len(mask), [_bits(mask), pa.py_buffer(column)])


def _text(facts: Facts, kind: int, mask: NDArray[np.bool_], field: Field) -> pa.Array:
    capacity = int(np.count_nonzero(mask)) * longest(kind, field.shows)
    if capacity > MOST_BYTES:
        raise AuroraError(
            f"{len(mask):,} events at once have too much text: ask for fewer, in several ranges"
        )
    out = np.empty(capacity, np.uint8)
    offsets = np.zeros(len(mask) + 1, np.int32)
    end = _fill_text(facts, kind, field.shows, offsets[1:], out)
    return pa.Array.from_buffers(
        pa.string(), len(mask), [_bits(mask), pa.py_buffer(offsets), pa.py_buffer(out)[:end]]
    )


def _bits(mask: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))
