"""Rows as records of Avro: all rows of a batch at once, one field after the other."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema

__all__ = ["write_records"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
LONGEST = 10


def write_records(rows: pa.RecordBatch, schema: Schema, before: bytes = b"") -> tuple[bytes, Ints]:
    """The bytes of all records, each with the same bytes before it, and where each ends.

    >>> rows = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": None, "b": ""}])
    >>> data, ends = write_records(rows, Schema.parse("a bigint, b string NOT NULL"))
    >>> data, ends.tolist()
    (b'\\x02\\x02\\x02x\\x00\\x00', [4, 6])
    """
    parts: list[tuple[Ints, Any]] = []
    number = rows.num_rows
    if before:
        given = np.tile(np.frombuffer(before, np.uint8), (number, 1))
        parts.append((np.full(number, len(before)), given))
    for name in schema.names:
        column = rows.column(name)
        there = np.asarray(column.is_valid())
        if (name,) not in schema.required:
            parts.append(_plain(np.where(there, 1, 0)))
        parts += [_only(part, there) for part in _values(column)]
    sizes = np.stack([size for size, _ in parts], axis=1) if parts else np.zeros((number, 0), np.int64)
    ends = np.cumsum(sizes.ravel()).reshape(sizes.shape)
    data = np.empty(int(sizes.sum()), np.uint8)
    for at, (size, content) in enumerate(parts):
        start = ends[:, at] - size
        if content.ndim == 1:
            # Texts of all lengths, one behind the other.
            firsts = np.repeat(start - (np.cumsum(size) - size), size)
            data[firsts + np.arange(len(content))] = content
        else:
            for byte in range(content.shape[1]):
                mine = size > byte
                data[start[mine] + byte] = content[mine, byte]
    return data.tobytes(), ends[:, -1] if parts else np.zeros(number, np.int64)


def _values(column: pa.Array) -> list[tuple[Ints, Any]]:
    """The parts of each value: how many bytes, and which."""
    kind = column.type
    if pa.types.is_string(kind):
        filled = column.fill_null("").cast(pa.large_binary())
        sizes = np.asarray(pc.binary_length(filled)).astype(np.int64)
        offsets = np.frombuffer(filled.buffers()[1], np.int64)[
            filled.offset : filled.offset + len(filled) + 1
        ]
        content = filled.buffers()[2]
        data = (
            np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]] if content else np.empty(0, np.uint8)
        )
        return [_plain(sizes), (sizes, data)]
    if pa.types.is_floating(kind):
        fixed = np.asarray(column.fill_null(0.0)).astype("<f4" if kind == pa.float32() else "<f8")
        return [_fixed(fixed)]
    if pa.types.is_boolean(kind):
        return [_fixed(np.asarray(column.fill_null(False)).astype(np.uint8))]
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return [_plain(np.asarray(column.cast(pa.int64()).fill_null(0)))]


def _fixed(values: npt.NDArray[Any]) -> tuple[Ints, Bytes]:
    size = values.dtype.itemsize
    return np.full(len(values), size), np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)


def _plain(values: npt.NDArray[np.int64]) -> tuple[Ints, Bytes]:
    """Whole numbers: the sign in the lowest bit, then seven bits a byte."""
    values = values.astype(np.int64)
    left = (values << 1 ^ values >> 63).view(np.uint64)
    found = np.zeros((len(values), LONGEST), np.uint8)
    sizes = np.ones(len(values), np.int64)
    for byte in range(LONGEST):
        more = left >= 0x80
        found[:, byte] = (left & np.uint64(0x7F)).astype(np.uint8) | np.where(more, 0x80, 0).astype(np.uint8)
        left = left >> np.uint64(7)
        sizes += more
        if not more.any():
            break
    return sizes, found


def _only(part: tuple[Ints, Any], there: npt.NDArray[np.bool_]) -> tuple[Ints, Any]:
    """Nothing where there is no value. A null text has no bytes already."""
    sizes, content = part
    return np.where(there, sizes, 0), content
