"""A segment: some ten thousand tuples of a stream as they lie in a log, and what is known without reading them."""

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.values import to_values
from aurora.algebra.tuples.arrays import expand
from aurora.algebra.tuples.hashing import Hashes, hash_rows
from aurora.algebra.tuples.train import Ints, Mask, Values, from_bytes, to_bytes
from aurora.engine.durable import Damaged, seal_line, unseal_line

__all__ = [
    "ARRIVED",
    "Segment",
    "encode_segments",
    "find_keys",
    "on_values",
    "read_hashes",
    "read_numbers",
    "read_segment",
    "recover_segments",
]

# Rows of one segment, at most.
ROWS = 1 << 16
# What is mapped into memory begins at such a multiple of bytes.
ALIGNED = 64
ARRIVED = "#ts"
# No line of an index has more bytes.
LINE = 1 << 16
# Segments that this process has checked: their files, which never change there, and their places. So many at most.
CHECKED = 65_536
_checked: dict[tuple[int, int, int, int], None] = {}


@dataclass(frozen=True)
class Segment:
    """Where the rows are: `row` is the number of the first one in its stream, `at` a byte of the file.

    In the `head` bytes before that stands a copy of the line of the index, with places that count from its own train.
    `arrived` and `on` are the smallest and the largest arrival and value of the field that the stream is kept by,
    `numbers` the first and last arrival number of what caused the rows. Where these do not rise by one `step` they lie
    behind the rows, and behind them, if it is keyed, the hashes of the keys, in order, and the place of each.
    """

    row: int
    rows: int
    at: int
    size: int
    arrived: tuple[int, int]
    on: tuple[Any, Any] | None = None
    keyed: bool = False
    numbers: tuple[int, int] = (0, 0)
    step: int | None = 0
    # The checksum of all its bytes; those that an earlier version wrote have none.
    check: int | None = None
    # None in those that an earlier version wrote.
    head: int = 0

    @property
    def length(self) -> int:
        """All bytes of it behind the head, filled up to where the next one may begin."""
        return self.keys_at - self.at + (_padded(self.rows * 12) if self.keyed else 0)

    @property
    def numbers_at(self) -> int:
        return self.at + _padded(self.size)

    @property
    def keys_at(self) -> int:
        return self.numbers_at + (0 if self.step is not None else _padded(self.rows * self.width.itemsize))

    @property
    def width(self) -> np.dtype[Any]:
        """How the numbers are stored, less the first."""
        return np.dtype(np.uint32 if self.numbers[1] - self.numbers[0] < 2**32 else np.uint64)

    def moved(self, row: int, at: int) -> "Segment":
        return replace(self, row=self.row + row, at=self.at + at)

    def to_line(self) -> bytes:
        return seal_line(json.dumps(asdict(self)).encode())

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Segment":
        on = content["on"]
        return Segment(
            **{
                **content,
                "arrived": tuple(content["arrived"]),
                "numbers": tuple(content["numbers"]),
                "on": None if on is None else tuple(on),
            }
        )


def encode_segments(
    rows: pa.RecordBatch, arrived: Ints, on: str | None, key: tuple[str, ...], numbers: Ints | None = None
) -> Iterator[tuple[Segment, bytes]]:
    """Rows as segments that follow each other, numbered from 0 and from the byte 0 on.

    `numbers` are the arrival numbers, which never fall; without them nobody can tell the order among several streams.
    """
    row = at = 0
    numbers = np.zeros(rows.num_rows, np.int64) if numbers is None else numbers
    for start in range(0, rows.num_rows, ROWS):
        part, came = rows.slice(start, ROWS), arrived[start : start + ROWS]
        first, last = int(came.min()), int(came.max())
        packed = part if first == last else part.append_column(ARRIVED, pa.array(came))
        # A keyed stream is looked into here and there, so it lies as it is.
        data = to_bytes(packed, compressed=not key)
        own = numbers[start : start + ROWS]
        segment = Segment(
            row,
            part.num_rows,
            at,
            len(data),
            (first, last),
            _extent(part, on),
            bool(key),
            (int(own[0]), int(own[-1])),
            _step(own),
        )
        data = data.ljust(_padded(len(data)), b"\0")
        if segment.step is None:
            data += (own - own[0]).astype(segment.width).tobytes()
            data = data.ljust(segment.keys_at - at, b"\0")
        if key:
            data += _index(part, key).ljust(_padded(segment.rows * 12), b"\0")
        segment = _with_head(replace(segment, check=zlib.crc32(data)))
        yield segment, segment.to_line().ljust(segment.head, b"\0") + data
        row, at = row + segment.rows, at + segment.head + segment.length


def _with_head(segment: Segment) -> Segment:
    """Return a segment that begins behind a copy of its line."""
    length = ALIGNED
    while len((found := replace(segment, at=segment.at + length, head=length)).to_line()) > length:
        length += ALIGNED
    return found


def recover_segments(path: str, row: int) -> list[Segment]:
    """Return the segments of a file by what stands before each; `row` is the number of its first row.

    They end where no segment begins.
    """
    found: list[Segment] = []
    with open(path, "rb") as file:
        while line := file.readline(LINE):
            try:
                segment = Segment.from_json(json.loads(unseal_line(line.rstrip(b"\n"))))
            except (ValueError, TypeError, KeyError):
                break
            begin = found[-1].at + found[-1].length if found else 0
            segment = replace(segment, row=row, at=begin + segment.head)
            found.append(segment)
            row += segment.rows
            file.seek(segment.at + segment.length)
    return found


def on_values(rows: pa.RecordBatch, on: str) -> tuple[Values, Mask]:
    """The values by which a stream is kept, and where there is one: not where it is null or not a number."""
    column = rows.column(on)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    zero = pa.array([0], pa.int32()).cast(pa.int64() if pa.types.is_timestamp(column.type) else pa.int32())
    values = to_values(column.fill_null(zero.cast(column.type)[0]) if column.null_count else column)
    return values, there & ~np.isnan(values) if values.dtype.kind == "f" else there


def _extent(rows: pa.RecordBatch, on: str | None) -> tuple[Any, Any] | None:
    if on is None:
        return None
    values, there = on_values(rows, on)
    if not there.all():
        values = values[there]
    return (values.min().item(), values.max().item()) if len(values) else None


def _index(rows: pa.RecordBatch, key: tuple[str, ...]) -> bytes:
    hashes = hash_rows([rows.column(name) for name in key], rows.num_rows)
    places = np.argsort(hashes)
    return hashes[places].tobytes() + places.astype(np.uint32).tobytes()


def _step(numbers: Ints) -> int | None:
    steps = np.diff(numbers)
    if not len(steps):
        return 0
    return int(steps[0]) if (steps == steps[0]).all() else None


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def read_segment(path: str, segment: Segment) -> tuple[pa.RecordBatch, Ints]:
    """Its rows, mapped rather than read where they are not compressed, and when each arrived."""
    _check(path, segment)
    with pa.memory_map(path) as file:
        file.seek(segment.at)
        batch = from_bytes(file.read_buffer(segment.size))
    if segment.arrived[0] == segment.arrived[1]:
        return batch, np.full(segment.rows, segment.arrived[0], np.int64)
    arrived = batch.column(batch.num_columns - 1).to_numpy()
    return batch.select(batch.schema.names[:-1]), arrived


def read_numbers(path: str, segment: Segment) -> Ints:
    """The arrival numbers of what caused its rows."""
    if segment.step is not None:
        return segment.numbers[0] + segment.step * np.arange(segment.rows, dtype=np.int64)
    _check(path, segment)
    with open(path, "rb") as file:
        file.seek(segment.numbers_at)
        found = np.fromfile(file, segment.width, segment.rows)
    return segment.numbers[0] + found.astype(np.int64)


def read_hashes(path: str, segment: Segment) -> Hashes:
    """The hashes of the keys of its rows, in order."""
    _check(path, segment)
    with open(path, "rb") as file:
        file.seek(segment.keys_at)
        return np.fromfile(file, np.uint64, segment.rows)


def find_keys(path: str, segment: Segment, wanted: Hashes) -> Ints:
    """The places of the rows whose keys have one of the wanted hashes, which are in order; in the order of the rows."""
    _check(path, segment)
    at = segment.keys_at
    hashes = np.memmap(path, np.uint64, "r", at, (segment.rows,))
    found, _ = expand(np.searchsorted(hashes, wanted, "left"), np.searchsorted(hashes, wanted, "right"))
    if not len(found):
        return np.empty(0, np.int64)
    places = np.memmap(path, np.uint32, "r", at + segment.rows * 8, (segment.rows,))
    return np.sort(places[found].astype(np.int64))


def _check(path: str, segment: Segment) -> None:
    """Raise a fault if a segment is not what was written; a process looks at each once."""
    if segment.check is None:
        return
    with open(path, "rb") as file:
        found = os.fstat(file.fileno())
        key = found.st_dev, found.st_ino, segment.at, segment.check
        if key in _checked:
            return
        file.seek(segment.at)
        if zlib.crc32(file.read(segment.length)) != segment.check:
            last, end = segment.row + segment.rows - 1, segment.at + segment.length - 1
            raise Damaged(
                f"{path} is damaged: bytes {segment.at:,} to {end:,} are not what was written; the rows before "
                f"{segment.row:,} and after {last:,} can be read; restore it from a backup, or start over with --fresh"
            )
    while len(_checked) >= CHECKED:
        _checked.pop(next(iter(_checked)), None)
    _checked[key] = None
