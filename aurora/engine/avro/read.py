"""Records of Avro into columns: all records of a batch at once, one field after the other."""

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.engine.avro.schema import Kind
from aurora.errors import AuroraError

__all__ = ["read_records"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "local-timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms", tz="UTC"),
}
WHOLE, NUMBER = {"int", "long"}, {"int", "long", "float", "double"}
# A number has ten bytes at most, a decimal sixteen.
LONGEST, WIDEST = 10, 16
CUT_SHORT, LEFT_OVER = "the record ends too soon", "the record has more bytes than its schema says"


def read_records(
    values: list[bytes], record: Kind, wanted: Collection[str]
) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """The wanted fields that the schema has, and what is wrong with which record; there the values mean nothing.

    >>> record = Kind("record", (Kind("string"), Kind("union", (Kind("null"), Kind("int")))), ("a", "b"))
    >>> columns, bad = read_records([b"\\x02x\\x02\\x05", b"\\x00\\x00", b"\\x02"], record, ["a", "b"])
    >>> columns["a"].to_pylist()[:2], columns["b"].to_pylist()[:2], bad
    (['x', ''], [-3, None], {2: 'the record ends too soon'})
    """
    reader = _Reader(values)
    rows = np.arange(len(values))
    found = {}
    for name, kind in zip(record.names, record.inner, strict=True):
        if name in wanted:
            found[name] = reader.column(name, kind, rows)
        else:
            reader.skip(kind, rows)
    return found, reader.faults()


class _Reader:
    """`place` is how far each record is read. A record that is bad stands still at its end."""

    def __init__(self, values: list[bytes]) -> None:
        # Behind the last record, what is read past its end.
        self._data = np.frombuffer(b"".join(values) + bytes(WIDEST), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
        self._end: Ints = ends
        self._place: Ints = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(values)]
        self._reasons: dict[int, str] = {}
        self._bad = np.zeros(len(values), np.bool_)

    def faults(self) -> dict[int, str]:
        over = np.flatnonzero((self._place < self._end) & ~self._bad)
        self._reasons.update(dict.fromkeys(over.tolist(), LEFT_OVER))
        return dict(sorted(self._reasons.items()))

    def _fail(self, rows: Ints, reason: str = CUT_SHORT) -> None:
        fresh = rows[~self._bad[rows]]
        self._reasons.update(dict.fromkeys(fresh.tolist(), reason))
        self._bad[rows] = True
        self._place[rows] = self._end[rows]

    def _move(self, rows: Ints, by: Ints | int) -> None:
        """Passes over bytes; a record that has fewer is bad."""
        to = self._place[rows] + by
        beyond = (to > self._end[rows]) | (to < self._place[rows])
        self._place[rows] = np.where(beyond, self._end[rows], to)
        if beyond.any():
            self._fail(rows[beyond])

    def numbers(self, rows: Ints) -> Ints:
        """A number of each record: seven bits a byte, the last has no mark, then the sign."""
        found = np.zeros(len(rows), np.uint64)
        open = np.arange(len(rows))
        for byte in range(LONGEST):
            at = self._place[rows[open]]
            short = at >= self._end[rows[open]]
            if short.any():
                self._fail(rows[open[short]])
                open, at = open[~short], at[~short]
            read = self._data[at]
            found[open] |= (read & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
            self._place[rows[open]] = at + 1
            open = open[read >= 0x80]
            if not len(open):
                break
        else:
            self._fail(rows[open], "a number has more than ten bytes")
        return (found >> np.uint64(1)).astype(np.int64) ^ -(found & np.uint64(1)).astype(np.int64)

    def skip(self, kind: Kind, rows: Ints) -> None:
        match kind.name:
            case "null":
                pass
            case "boolean":
                self._move(rows, 1)
            case "float":
                self._move(rows, 4)
            case "double":
                self._move(rows, 8)
            case "fixed":
                self._move(rows, kind.size)
            case "int" | "long" | "enum":
                self.numbers(rows)
            case "bytes" | "string":
                self._texts(rows)
            case "record":
                for inner in kind.inner:
                    self.skip(inner, rows)
            case "union":
                for inner, mine in self._branches(kind, rows):
                    self.skip(inner, rows[mine])
            case _:
                self._skip_blocks(kind, rows)

    def _skip_blocks(self, kind: Kind, rows: Ints) -> None:
        """Items come in blocks, each with their number, and with their bytes if that is below 0; the last is empty."""
        while len(rows):
            number = self.numbers(rows)
            sized = number < 0
            if sized.any():
                self._move(rows[sized], self.numbers(rows[sized]))
            left = np.where(sized, 0, number)
            width = kind.inner[0].width if kind.name == "array" else None
            if width is not None:
                # Also of items without bytes, of which a record may have any number.
                room = self._end[rows] - self._place[rows]
                beyond = left > (room // width if width else left)
                self._fail(rows[beyond])
                self._move(rows, np.where(beyond, 0, left) * width)
                left = np.zeros(len(rows), np.int64)
            else:
                # Each item has a byte or more.
                beyond = left > self._end[rows] - self._place[rows]
                self._fail(rows[beyond])
                left[beyond] = 0
            while (left > 0).any():
                mine = rows[left > 0]
                if kind.name == "map":
                    self._texts(mine)
                self.skip(kind.inner[0], mine)
                left = np.where(self._bad[rows], 0, left - 1)
            rows = rows[(number != 0) & ~self._bad[rows]]

    def _branches(self, kind: Kind, rows: Ints) -> list[tuple[Kind, Ints]]:
        """Each branch of a union with the places of its records among the rows."""
        chosen = self.numbers(rows)
        wrong = (chosen < 0) | (chosen >= len(kind.inner))
        if wrong.any():
            self._fail(rows[wrong], "a union has no such branch")
        return [(inner, np.flatnonzero((chosen == at) & ~wrong)) for at, inner in enumerate(kind.inner)]

    def _texts(self, rows: Ints) -> tuple[Ints, Ints]:
        """Where the bytes of each begin, and how many there are."""
        sizes = self.numbers(rows)
        starts = self._place[rows].copy()
        self._move(rows, sizes)
        good = ~self._bad[rows]
        return np.where(good, starts, 0), np.where(good, sizes, 0)

    def column(self, name: str, kind: Kind, rows: Ints) -> pa.Array:
        """Values of all rows; null where a record is bad."""
        if kind.name != "union":
            return self._plain(name, kind, rows)
        kinds = [inner for inner in kind.inner if inner.name != "null"]
        names = {inner.name for inner in kinds}
        if len(kinds) != 1 and not (names <= NUMBER and not any(inner.logical for inner in kinds)):
            raise AuroraError(
                f"field {name} is of type {kind} in Avro, which is not read; leave it out of the schema"
            )
        parts, places = [], []
        for inner, mine in self._branches(kind, rows):
            if inner.name != "null" and len(mine):
                parts.append(self._plain(name, inner, rows[mine]))
                places.append(mine)
        if not parts:
            return pa.nulls(len(rows))
        if len(parts) > 1:
            common = pa.int64() if names <= WHOLE else pa.float64()
            parts = [part.cast(common, safe=False) for part in parts]
        at = np.full(len(rows), -1, np.int64)
        at[np.concatenate(places)] = np.arange(sum(map(len, places)))
        return pa.concat_arrays(parts).take(pa.array(at, mask=at < 0))

    def _plain(self, name: str, kind: Kind, rows: Ints) -> pa.Array:
        if kind.name in WHOLE:
            read = self.numbers(rows)
            logical = LOGICAL.get((kind.name, kind.logical))
            found = pa.array(read, mask=self._bad[rows])
            if logical == pa.date32():
                return found.cast(pa.int32(), safe=False).cast(logical)
            return found if logical is None else found.cast(logical)
        if kind.name in ("boolean", "float", "double"):
            size, read_as = {"boolean": (1, "u1"), "float": (4, "<f4"), "double": (8, "<f8")}[kind.name]
            fixed: Any = np.ascontiguousarray(self._take(rows, size)).view(read_as).ravel()
            return pa.array(fixed != 0 if kind.name == "boolean" else fixed, mask=self._bad[rows])
        if kind.name == "enum":
            read = self.numbers(rows)
            wrong = (read < 0) | (read >= len(kind.names))
            if wrong.any():
                self._fail(rows[wrong], f"field {name} has no such symbol")
            return pa.array(kind.names, pa.string()).take(pa.array(read, mask=wrong | self._bad[rows]))
        if kind.name in ("bytes", "fixed") and kind.logical == "decimal":
            return self._decimals(name, kind, rows)
        if kind.name == "string":
            return self._strings(name, rows)
        raise AuroraError(
            f"field {name} is of type {kind} in Avro, which is not read; leave it out of the schema"
        )

    def _take(self, rows: Ints, size: int) -> Bytes:
        starts = self._place[rows].copy()
        self._move(rows, size)
        starts[self._bad[rows]] = 0
        found: Bytes = self._data[starts[:, None] + np.arange(size)]
        return found

    def _strings(self, name: str, rows: Ints) -> pa.Array:
        starts, sizes = self._texts(rows)
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if len(ends) else 0
        inside = np.arange(total) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)
        offsets = np.concatenate([[0], ends]).astype(np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._data[inside])]
        raw = pa.Array.from_buffers(pa.large_binary(), len(rows), buffers)
        try:
            return raw.cast(pa.large_string()).cast(pa.string())
        except pa.ArrowInvalid:
            found: list[str | None] = []
            for row, value in zip(rows.tolist(), raw.to_pylist(), strict=True):
                try:
                    found.append(value.decode())
                except UnicodeDecodeError:
                    found.append(None)
                    self._fail(np.array([row]), f"field {name}: not UTF-8 text")
            return pa.array(found, pa.string())

    def _decimals(self, name: str, kind: Kind, rows: Ints) -> pa.Array:
        """Whole numbers of any length, the highest byte first."""
        if kind.name == "fixed":
            starts, sizes = self._place[rows].copy(), np.full(len(rows), kind.size)
            self._move(rows, kind.size)
        else:
            starts, sizes = self._texts(rows)
        wide = sizes > WIDEST
        if wide.any():
            self._fail(rows[wide], f"field {name}: more digits than a decimal has")
        none = self._bad[rows] | (sizes < 1)
        starts, sizes = np.where(none, 0, starts), np.where(none, 1, sizes)
        # From the lowest byte on, as Arrow has them; above the highest, its sign.
        behind = np.arange(WIDEST)
        at = starts[:, None] + sizes[:, None] - 1 - behind
        sign = np.where(self._data[starts] >= 0x80, 0xFF, 0).astype(np.uint8)
        digits = np.where(behind < sizes[:, None], self._data[np.maximum(at, 0)], sign[:, None])
        kind_of = pa.decimal128(38, kind.scale)
        raw = pa.Array.from_buffers(
            kind_of, len(rows), [None, pa.py_buffer(np.ascontiguousarray(digits, np.uint8))]
        )
        return pa.compute.if_else(pa.array(~none), raw, pa.scalar(None, kind_of))
