"""Rows as the values and keys of records: lines as in files, a record for each."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.avro.write import write_records
from aurora.engine.sinks.encode import to_csv, to_json
from aurora.engine.sources.text.csv_records import Csv, split_lines

__all__ = ["Lines", "encode_avro", "encode_rows"]


@dataclass(frozen=True)
class Lines:
    """The bytes of all lines, the byte after each, and the keys."""

    data: bytes
    ends: npt.NDArray[np.int64]
    keys: list[bytes | None] | None
    # Bytes between two of them.
    gap: int = 1

    def __len__(self) -> int:
        return len(self.ends)

    def _start(self, line: int) -> int:
        return int(self.ends[line - 1]) if line else 0

    def messages(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Lines as the client takes them, without their breaks."""
        ends = self.ends[start:stop].tolist()
        bounds = zip([self._start(start), *ends[:-1]], ends, strict=True)
        values = [self.data[low : high - self.gap] for low, high in bounds]
        if self.keys is None:
            return [{"value": value} for value in values]
        pairs = zip(values, self.keys[start:stop], strict=True)
        return [{"value": value, "key": key} for value, key in pairs]

    def mark(self, start: int, stop: int, before: int = 0) -> int:
        """A checksum of lines, which goes on from that of the lines before them."""
        return zlib.crc32(memoryview(self.data)[self._start(start) : self._start(stop)], before)


def encode_avro(rows: pa.RecordBatch, schema: Schema, before: bytes, key: str | None) -> Lines:
    data, ends = write_records(rows, schema, before)
    return Lines(data, ends, None if key is None else _keys(rows.column(key)), gap=0)


def encode_rows(rows: pa.RecordBatch, form: str, key: str | None) -> Lines:
    """
    >>> rows = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": None, "b": 'y"\\n'}])
    >>> encode_rows(rows, "csv", "a").messages(0, 2)
    [{'value': b'1,x', 'key': b'1'}, {'value': b',"y""\\n"', 'key': None}]
    >>> encode_rows(rows, "json", None).messages(0, 1)
    [{'value': b'{"a": 1, "b": "x"}'}]
    """
    if form == "csv":
        data = to_csv(rows)
        ends = Csv().split(data, True).ends
    else:
        data = to_json(rows)
        ends = split_lines(data, True).ends
    assert len(ends) == rows.num_rows
    return Lines(data, ends, None if key is None else _keys(rows.column(key)))


def _keys(column: pa.Array) -> list[bytes | None]:
    """Texts as they are, other values as they are in CSV; null is no key."""
    if pa.types.is_string(column.type):
        found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
        return found
    cells = to_csv(pa.RecordBatch.from_arrays([column], names=["key"])).split(b"\n")[:-1]
    return [cell if there else None for cell, there in zip(cells, column.is_valid().to_pylist(), strict=True)]
