"""Rows as the values and keys of records: lines as in files, a record for each."""

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.avro.write import write_records
from aurora.engine.sinks.encode import to_csv
from aurora.engine.sinks.notation import PLAIN, Notation
from aurora.engine.sources.text.csv_records import Csv, split_lines

__all__ = ["Lines", "Share", "encode_avro", "encode_rows"]


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

    def take(self, order: npt.NDArray[np.int64]) -> "Lines":
        """Return these lines in another order."""
        if bool((order[1:] > order[:-1]).all()):
            return self
        bounds = pa.py_buffer(np.concatenate([np.zeros(1, np.int64), self.ends.astype(np.int64)]))
        lines = pa.Array.from_buffers(pa.large_binary(), len(self), [None, bounds, pa.py_buffer(self.data)])
        _, ends, data = lines.take(pa.array(order)).buffers()
        keys = None if self.keys is None else [self.keys[line] for line in order.tolist()]
        return Lines(data.to_pybytes(), np.frombuffer(ends, np.int64)[1 : len(self) + 1], keys, self.gap)


@dataclass(frozen=True)
class Share:
    """What goes to one partition: lines from `start` on, and the position of each in its batch, ascending."""

    lines: Lines
    start: int
    positions: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)

    def before(self, position: int) -> "Share":
        return replace(self, positions=self.positions[: self._until(position)])

    def behind(self, position: int) -> "Share":
        """Return the lines from that position on."""
        passed = self._until(position)
        return replace(self, start=self.start + passed, positions=self.positions[passed:])

    def messages(self, start: int, stop: int) -> list[dict[str, Any]]:
        return self.lines.messages(self.start + start, self.start + stop)

    def mark(self, before: int) -> int:
        """Return a checksum that goes on from that of the lines before."""
        return self.lines.mark(self.start, self.start + len(self), before)

    def _until(self, position: int) -> int:
        return int(np.searchsorted(self.positions, position))


def encode_avro(rows: pa.RecordBatch, schema: Schema, before: bytes, key: str | None) -> Lines:
    data, ends = write_records(rows, schema, before)
    return Lines(data, ends, None if key is None else _keys(rows.column(key)), gap=0)


def encode_rows(rows: pa.RecordBatch, kind: str, key: str | None, notation: Notation = PLAIN) -> Lines:
    """
    >>> rows = pa.RecordBatch.from_pylist([{"a": 1, "b": "x"}, {"a": None, "b": 'y"\\n'}])
    >>> encode_rows(rows, "csv", "a").messages(0, 2)
    [{'value': b'1,x', 'key': b'1'}, {'value': b',"y""\\n"', 'key': None}]
    >>> encode_rows(rows, "json", None).messages(0, 1)
    [{'value': b'{"a": 1, "b": "x"}'}]
    """
    if kind == "csv":
        data = notation.to_csv(rows)
        ends = Csv(notation.delimiter).split(data, True).ends
    else:
        data = notation.to_json(rows)
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
