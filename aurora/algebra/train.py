"""A train: tuples that travel together, with the two hidden fields that ride along."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["LAST", "Ints", "Train", "at_the_end", "at_the_start", "from_bytes", "order_codes", "to_bytes"]

Ints = npt.NDArray[np.int64]

# The arrival number of what comes out because the input has ended: after everything else.
LAST = 2**62


@dataclass(frozen=True)
class Train:
    """Rows in the order of arrival.

    `arrived` is the arrival time (the paper's TS) in milliseconds. `keys` says where a row stands among all
    rows of its stream: the first line of the array is the arrival number of the input tuple that caused it, each
    order-sensitive box on the way added a line that orders what one cause brought forth. Comparing the columns of
    `keys` gives the order of emission, however the stream was cut into batches and buckets.
    """

    rows: pa.RecordBatch
    arrived: Ints
    keys: Ints

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def depth(self) -> int:
        return len(self.keys)

    @staticmethod
    def empty(schema: pa.Schema, depth: int = 1) -> "Train":
        return Train(
            pa.RecordBatch.from_pylist([], schema), np.empty(0, np.int64), np.empty((depth, 0), np.int64)
        )

    def take(self, index: npt.NDArray[np.integer]) -> "Train":
        return Train(self.rows.take(pa.array(index)), self.arrived[index], self.keys[:, index])

    def filter(self, mask: npt.NDArray[np.bool_]) -> "Train":
        if mask.all():
            return self
        return Train(self.rows.filter(pa.array(mask)), self.arrived[mask], self.keys[:, mask])

    def with_rows(self, rows: pa.RecordBatch) -> "Train":
        return Train(rows, self.arrived, self.keys)

    def deepened(self, depth: int) -> "Train":
        """The same rows with zeros for the boxes that they did not pass."""
        missing = depth - self.depth
        if missing == 0:
            return self
        zeros = np.zeros((missing, len(self)), np.int64)
        return Train(self.rows, self.arrived, np.concatenate([self.keys, zeros]))

    def at_input(self, number: int, depth: int) -> "Train":
        """The same rows as a box with several inputs sees them: of one arrival, those at its first input come first."""
        lines = self.deepened(depth).keys
        inputs = np.full((1, len(self)), number, np.int64)
        return Train(self.rows, self.arrived, np.concatenate([lines[:1], inputs, lines[1:]]))

    @staticmethod
    def concat(trains: Sequence["Train"]) -> "Train":
        if len(trains) == 1:
            return trains[0]
        depth = max(train.depth for train in trains)
        trains = [train.deepened(depth) for train in trains]
        return Train(
            pa.concat_batches([train.rows for train in trains]),
            np.concatenate([train.arrived for train in trains]),
            np.concatenate([train.keys for train in trains], axis=1),
        )

    def arranged(self) -> "Train":
        """In the order of the keys; rows with equal keys in the order of their fields, then of their arrival times."""
        if len(self) < 2:
            return self
        order = None
        keys = self.keys
        if not _ascending(keys):
            order = np.lexsort(keys[::-1])
            keys = keys[:, order]
        same = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
        if same.any():
            order = self._by_content(np.arange(len(self)) if order is None else order, same)
        return self if order is None else self.take(order)

    def _by_content(self, order: npt.NDArray[np.integer], same: npt.NDArray[np.bool_]) -> Ints:
        tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
        places = np.flatnonzero(tied)
        run = np.cumsum(np.concatenate([[True], ~same]))[places]
        table = pa.Table.from_batches([self.rows.take(pa.array(order[places]))])
        names = table.column_names
        table = table.append_column("#run", pa.array(run))
        table = table.append_column("#ts", pa.array(self.arrived[order[places]]))
        sorted_places = pc.sort_indices(
            table, sort_keys=[(name, "ascending") for name in ("#run", *names, "#ts")]
        )
        result = order.copy()
        result[places] = order[places][sorted_places.to_numpy()]
        return result

    def packed(self) -> pa.RecordBatch:
        """One Arrow batch, hidden fields behind the others: how a train is stored and sent."""
        names = [*self.rows.schema.names, "#ts", *(f"#{i}" for i in range(self.depth))]
        return pa.RecordBatch.from_arrays(
            [*self.rows.columns, pa.array(self.arrived), *(pa.array(line) for line in self.keys)], names=names
        )

    @staticmethod
    def unpacked(batch: pa.RecordBatch) -> "Train":
        names = batch.schema.names
        first = names.index("#ts")
        keys = [batch.column(i).to_numpy() for i in range(first + 1, len(names))]
        rows = pa.RecordBatch.from_arrays(batch.columns[:first], schema=pa.schema(list(batch.schema)[:first]))
        return Train(rows, batch.column(first).to_numpy(), np.stack(keys))

    def to_bytes(self) -> bytes:
        return to_bytes(self.packed())

    @staticmethod
    def from_bytes(data: bytes) -> "Train":
        return Train.unpacked(from_bytes(data))


def to_bytes(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def at_the_start(before: int, depth: int, count: int) -> Ints:
    """Keys of what a turn brings forth before its first tuple, whose arrival number follows `before`."""
    keys = np.full((depth, count), np.iinfo(np.int64).min, np.int64)
    keys[0] = before
    return keys


def at_the_end(depth: int, count: int) -> Ints:
    """Keys of what the end of the input brings forth, after all that other boxes sent at the end."""
    keys = np.full((depth, count), np.iinfo(np.int64).max, np.int64)
    keys[0] = LAST
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


def order_codes(values: npt.NDArray[np.generic]) -> Ints:
    """Whole numbers that compare like the values (NaN after all others, -0.0 like 0.0)."""
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    plain = values.astype(np.float64) + 0.0
    bits = np.where(np.isnan(plain), np.float64("nan"), plain).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
