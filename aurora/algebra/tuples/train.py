"""A train: tuples that travel together, with the two hidden fields that ride along."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.floats import total_order
from aurora.algebra.tuples.packing import pack
from aurora.algebra.tuples.sorting import lexical_order, stable_order

__all__ = [
    "LAST",
    "Ints",
    "Mask",
    "Train",
    "Values",
    "are_at_the_start",
    "arrival_numbers",
    "at_the_end",
    "at_the_start",
    "from_bytes",
    "make_clock_keys",
    "to_bytes",
]

Ints = npt.NDArray[np.int64]
# The values of an order field: int64 or float64.
Values = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

# The arrival number of what comes out because the input has ended: after everything else.
LAST = 2**62
_SAME = b"same"


@dataclass(frozen=True)
class Train:
    """Rows in the order of arrival.

    `arrived` is the arrival time (the paper's TS) in milliseconds. `keys` is the position of a row among all rows of
    its stream: the first line of the array is the arrival number of the input tuple that caused it, and each
    order-sensitive box on the way adds a line that orders the rows of one cause. Comparing the columns of `keys` gives
    the order of emission, however the stream was cut into batches and buckets.
    """

    rows: pa.RecordBatch
    arrived: Ints
    keys: Ints

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def depth(self) -> int:
        """The number of lines in `keys`."""
        return len(self.keys)

    @staticmethod
    def empty(schema: pa.Schema, depth: int = 1) -> "Train":
        """A train without rows."""
        return Train(
            pa.RecordBatch.from_pylist([], schema), np.empty(0, np.int64), np.empty((depth, 0), np.int64)
        )

    def take(self, index: npt.NDArray[np.integer]) -> "Train":
        """The rows at these positions, in this order."""
        # On two axes `take` is several times as fast as an index.
        return Train(self.rows.take(pa.array(index)), self.arrived.take(index), self.keys.take(index, axis=1))

    def filter(self, mask: Mask) -> "Train":
        """The rows for which the mask is true."""
        if mask.all():
            return self
        return Train(
            self.rows.filter(pa.array(mask)), self.arrived[mask], self.keys.take(np.flatnonzero(mask), axis=1)
        )

    def slice(self, start: int, count: int) -> "Train":
        """`count` rows from position `start` on, without copying them."""
        past = start + count
        return Train(self.rows.slice(start, count), self.arrived[start:past], self.keys[:, start:past])

    def with_rows(self, rows: pa.RecordBatch) -> "Train":
        """Other rows, as many as before, with the same arrival times and keys."""
        return Train(rows, self.arrived, self.keys)

    def select(self, names: Collection[str]) -> "Train":
        """The same rows with only these fields; if it has none of them, with its first field."""
        kept = [name for name in self.rows.schema.names if name in names] or self.rows.schema.names[:1]
        return self.with_rows(self.rows.select(kept))

    def deepen(self, depth: int) -> "Train":
        """The same rows with zeros for the boxes that they did not pass."""
        missing = depth - self.depth
        if missing == 0:
            return self
        zeros = np.zeros((missing, len(self)), np.int64)
        return Train(self.rows, self.arrived, np.concatenate([self.keys, zeros]))

    def at_input(self, number: int, depth: int) -> "Train":
        """The same rows as a box with several inputs sees them: of one arrival, those at its first input come first."""
        lines = self.deepen(depth).keys
        inputs = np.full((1, len(self)), number, np.int64)
        return Train(self.rows, self.arrived, np.concatenate([lines[:1], inputs, lines[1:]]))

    @staticmethod
    def concat(trains: Sequence["Train"]) -> "Train":
        """The rows of several trains, one train after the other."""
        if len(trains) == 1:
            return trains[0]
        depth = max(train.depth for train in trains)
        trains = [train.deepen(depth) for train in trains if len(train)] or [trains[0].deepen(depth)]
        if len(trains) == 1:
            return trains[0]
        return Train(
            pa.concat_batches([train.rows for train in trains]),
            np.concatenate([train.arrived for train in trains]),
            np.concatenate([train.keys for train in trains], axis=1),
        )

    def arrange(self) -> "Train":
        """In the order of the keys; rows with equal keys in the order of their fields, then of their arrival times."""
        if len(self) < 2:
            return self
        ascending = _ascending(self.keys)
        order = np.arange(len(self)) if ascending else _by_keys(self.keys)
        keys = self.keys if ascending else self.keys.take(order, axis=1)
        same = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
        moved = self._by_content(order, same, ascending) if same.any() else False
        if ascending and not moved:
            return self
        # What was moved by content has equal keys.
        return Train(self.rows.take(pa.array(order)), self.arrived.take(order), keys)

    def _by_content(self, order: Ints, same: Mask, ascending: bool) -> bool:
        """Rearranges `order` where neighbours are the `same` by key; whether anything moved."""
        places, run = _tied(same)
        those = order[places]
        tied = self.rows if ascending and len(those) == len(self) else self.rows.take(pa.array(those))
        fields = (flat for column in tied.columns for flat in _flat(column))
        columns = [pa.array(run), *fields, pa.array(self.arrived[those])]
        packed, _ = pack(columns)
        if packed is not None:
            if (packed[1:] > packed[:-1]).all():
                return False
            sorted_places = stable_order(packed)
            ranked = packed[sorted_places]
            if (ranked[1:] != ranked[:-1]).all():
                order[places] = those[sorted_places]
                return True
        names = [str(i) for i in range(len(columns))]
        sorted_places = pc.sort_indices(
            pa.RecordBatch.from_arrays(columns, names=names),
            sort_keys=[(name, "ascending") for name in names],
        )
        order[places] = those[sorted_places.to_numpy()]
        return True

    def pack(self) -> pa.RecordBatch:
        """One Arrow batch, hidden fields behind the others: how a train is stored and sent."""
        names = [*self.rows.schema.names, "#ts", *(f"#{i}" for i in range(self.depth))]
        return pa.RecordBatch.from_arrays(
            [*self.rows.columns, pa.array(self.arrived), *(pa.array(line) for line in self.keys)], names=names
        )

    @staticmethod
    def unpack(batch: pa.RecordBatch) -> "Train":
        """The train that `pack` made into a batch."""
        names = batch.schema.names
        # The last of that name: a field may be called the same.
        first = len(names) - 1 - names[::-1].index("#ts")
        keys = [batch.column(i).to_numpy() for i in range(first + 1, len(names))]
        rows = pa.RecordBatch.from_arrays(batch.columns[:first], schema=pa.schema(list(batch.schema)[:first]))
        return Train(rows, batch.column(first).to_numpy(), np.stack(keys))

    def to_bytes(self) -> bytes:
        """As it is sent: hidden fields that are the same in all rows, which many are, travel as one number."""
        batch = self.pack()
        first = self.rows.num_columns
        same: dict[str, int] = {}
        kept = list(range(first))
        for number in range(first, batch.num_columns):
            values = self.arrived if number == first else self.keys[number - first - 1]
            if len(values) and values[0] == values[-1] and (values == values[0]).all():
                same[str(number)] = int(values[0])
            else:
                kept.append(number)
        note = {_SAME: json.dumps([same, batch.schema.names[first:]]).encode()}
        sent = [batch.column(number) for number in kept]
        names = [f"{number}" if number >= first else batch.schema.names[number] for number in kept]
        return to_bytes(pa.RecordBatch.from_arrays(sent, names=names).replace_schema_metadata(note))

    @staticmethod
    def from_bytes(data: bytes | pa.Buffer) -> "Train":
        """The train that `to_bytes` wrote."""
        batch = from_bytes(data)
        same, hidden = json.loads(batch.schema.metadata[_SAME])
        count = batch.num_columns + len(same)
        columns, sent = [], iter(batch.columns)
        for number in range(count):
            if str(number) in same:
                columns.append(pa.array(np.full(batch.num_rows, same[str(number)], np.int64)))
            else:
                columns.append(next(sent))
        names = [*batch.schema.names[: count - len(hidden)], *hidden]
        return Train.unpack(pa.RecordBatch.from_arrays(columns, names=names))


def _flat(column: pa.Array) -> Iterator[pa.Array]:
    """The columns by which a column is sorted: for a struct, whether it is there, and those inside it."""
    if pa.types.is_map(column.type):
        kind = column.type
        column = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    if pa.types.is_list(column.type):
        yield from (column.value_lengths(), _texts(column))
        return
    if not pa.types.is_struct(column.type):
        yield total_order(column) if pa.types.is_floating(column.type) else column
        return
    yield pc.is_null(column)
    for inner in column.flatten():
        yield from _flat(inner)


def _texts(lists: pa.Array) -> pa.Array:
    """A text for each list, by which lists of one length can be told apart."""
    if pa.types.is_nested(lists.type.value_type):
        return pa.array([repr(each) for each in lists.to_pylist()], pa.string())
    ends = np.concatenate([[0], np.cumsum(pc.fill_null(lists.value_lengths(), 0))]).astype(np.int32)
    texts = pc.fill_null(lists.flatten().cast(pa.string()), "\0")
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), texts), "\x1f")


def to_bytes(batch: pa.RecordBatch, compressed: bool = False) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if compressed else None)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes | pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def arrival_numbers(before: int, rows: Ints, number: int, inputs: int) -> Ints:
    """Row by row through all inputs, behind an even number: odd ones, so that there is a place before each arrival."""
    return before + 1 + 2 * (rows * inputs + number)


def at_the_start(before: int, depth: int, count: int) -> Ints:
    """Keys of what a turn brings forth before its first tuple, whose arrival number follows `before`."""
    keys = np.full((depth, count), np.iinfo(np.int64).min, np.int64)
    keys[0] = before
    return keys


def are_at_the_start(keys: Ints, before: int) -> Mask:
    """Return which keys are those of `at_the_start`: no others have so small a second line."""
    return np.asarray((keys[0] == before) & (keys[1] == np.iinfo(np.int64).min))


def at_the_end(depth: int, count: int) -> Ints:
    """Keys of what the end of the input brings forth, after all that other boxes sent at the end."""
    keys = np.full((depth, count), np.iinfo(np.int64).max, np.int64)
    keys[0] = LAST
    return keys


def make_clock_keys(positions: Ints, depth: int, behind: bool = False) -> Ints:
    """Keys of what a clock brings forth at these positions; the end of the input is the last one.

    With `behind` it stands behind the rows that are at the position already: what another clock has brought forth
    there, and this one had passed before.
    """
    keys = np.zeros((depth, len(positions)), np.int64)
    if behind:
        keys[1:2] = np.iinfo(np.int64).max
    keys[1:, positions == LAST] = np.iinfo(np.int64).max
    keys[0] = positions
    return keys


def _ascending(keys: Ints) -> bool:
    """Whether the columns already stand in lexicographic order."""
    undecided = np.ones(keys.shape[1] - 1, bool)
    for line in keys:
        if (undecided & (line[1:] < line[:-1])).any():
            return False
        undecided &= line[1:] == line[:-1]
        if not undecided.any():
            break
    return True


def _by_keys(keys: Ints) -> Ints:
    """The permutation that sorts the columns; the first line decides nearly everything, so it goes first."""
    order = _by_number(keys[0])
    first = keys[0][order]
    same = first[1:] == first[:-1]
    if len(keys) > 1 and same.any():
        places, run = _tied(same)
        those = order[places]
        order[places] = those[lexical_order(run, *keys[1:, those])]
    return order


def _by_number(numbers: Ints) -> Ints:
    """A stable sort; numbers that lie close together and differ need none, each has its slot."""
    low, count = int(numbers.min()), len(numbers)
    extent = int(numbers.max()) - low + 1
    if extent <= 4 * count:
        slots = np.full(extent, -1, np.int64)
        slots[numbers - low] = np.arange(count)
        order = slots[slots >= 0]
        if len(order) == count:
            return order
    return stable_order(numbers)


def _tied(same: Mask) -> tuple[Ints, Ints]:
    """The places that are the same as a neighbour, and for each the number of its run."""
    places = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    return places, np.cumsum(np.concatenate([[True], ~same]))[places]
