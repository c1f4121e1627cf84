"""Rows as COPY takes them: a line for each, with tabs between its values."""

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.engine.sinks.encode import cell_texts

__all__ = ["Encoded", "encode_copy"]

# So many rows are made text of at once: Arrow counts the bytes of a column in 32 bits.
SLICE = 50_000
# A backslash first: the others are written with one.
ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
NULL = "\\N"


@dataclass(frozen=True)
class Encoded:
    """The bytes of all lines, and the byte after each."""

    data: bytes
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    def part(self, start: int, stop: int) -> memoryview:
        return memoryview(self.data)[self._start(start) : self._start(stop)]

    def _start(self, line: int) -> int:
        return int(self.ends[line - 1]) if line else 0

    def text(self, line: int) -> str:
        return bytes(self.part(line, line + 1)).decode("utf-8", "replace").rstrip("\n")

    def mark(self, start: int, stop: int, before: int = 0) -> int:
        """A checksum of lines, which goes on from that of the lines before them."""
        return zlib.crc32(self.part(start, stop), before)


def encode_copy(rows: pa.RecordBatch) -> Encoded:
    """
    >>> rows = pa.RecordBatch.from_pylist([{"a": 1, "b": "x\\ty"}, {"a": None, "b": ""}])
    >>> encode_copy(rows).data, encode_copy(rows).ends.tolist()
    (b'1\\tx\\\\ty\\n\\\\N\\t\\n', [7, 11])
    """
    parts: list[bytes] = []
    ends = [np.empty(0, np.int64)]
    size = 0
    for start in range(0, rows.num_rows, SLICE):
        cells = [_cells(column) for column in rows.slice(start, SLICE).columns]
        lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*cells, "\t"), "", "\n")
        _, offsets, data = lines.buffers()
        bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1].astype(
            np.int64
        )
        parts.append(data[int(bounds[0]) : int(bounds[-1])].to_pybytes())
        ends.append(bounds[1:] - bounds[0] + size)
        size += len(parts[-1])
    return Encoded(b"".join(parts), np.concatenate(ends))


def _cells(column: pa.Array) -> pa.Array:
    texts = cell_texts(column)
    if pa.types.is_string(column.type) or pa.types.is_nested(column.type):
        for plain, written in ESCAPES:
            texts = pc.replace_substring(texts, plain, written)
    return pc.fill_null(texts, NULL)
