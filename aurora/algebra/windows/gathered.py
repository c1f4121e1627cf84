"""Left tuples that wait for their right ones, with what the functions have made of these so far."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import Ints, Mask, Train, Values
from aurora.algebra.windows.reducer import Reducer

__all__ = ["Gathered"]


@dataclass(frozen=True)
class Gathered:
    """Left tuples with their bounds, whether they are `new`, how many right tuples they have, what these sum up to."""

    train: Train
    group: Ints
    low: Values
    high: Values
    new: Mask
    count: Ints
    arrived: Ints
    columns: list[pa.Array]

    def __len__(self) -> int:
        return len(self.group)

    def filter(self, mask: Mask) -> "Gathered":
        chosen = pa.array(mask)
        return Gathered(
            self.train.filter(mask),
            self.group[mask],
            self.low[mask],
            self.high[mask],
            self.new[mask],
            self.count[mask],
            self.arrived[mask],
            [column.filter(chosen) for column in self.columns],
        )

    @staticmethod
    def concat(one: "Gathered", other: "Gathered") -> "Gathered":
        arrays = {
            name: np.concatenate([getattr(one, name), getattr(other, name)])
            for name in ("group", "low", "high", "new", "count", "arrived")
        }
        columns = [pa.concat_arrays(list(both)) for both in zip(one.columns, other.columns, strict=True)]
        return replace(one, train=Train.concat([one.train, other.train]), columns=columns, **arrays)

    def take_in(self, left: Ints, arrived: Ints, arguments: list[pa.Array], reducer: Reducer) -> "Gathered":
        """With tuples for these left ones, which ascend; those come behind what a left one has already."""
        starts, _ = find_runs(left)
        touched = left[starts]
        known = touched[self.count[touched] > 0]
        owner = np.concatenate([known, left])
        order = stable_order(owner)
        runs, _ = find_runs(owner[order])
        index = np.arange(len(self))
        index[touched] = len(self) + np.arange(len(touched))
        lifted = reducer.lift(arguments, len(left))
        both = [
            pa.concat_arrays([a.take(pa.array(known)), b]) for a, b in zip(self.columns, lifted, strict=True)
        ]
        merged = reducer.combine([column.take(pa.array(order)) for column in both], runs)
        columns = [
            pa.concat_arrays([a, b]).take(pa.array(index)) for a, b in zip(self.columns, merged, strict=True)
        ]
        earliest = self.arrived.copy()
        earliest[touched] = np.minimum(earliest[touched], np.minimum.reduceat(arrived, starts))
        count = self.count + np.bincount(left, minlength=len(self))
        return replace(self, count=count, arrived=earliest, columns=columns)

    def store(self, groups: Groups) -> None:
        hidden = [pa.array(column) for column in (self.low, self.high, self.count, self.arrived)]
        packed = self.train.pack()
        # What is behind the last hidden field of a train would be taken for one: so these come first.
        names = [*(f"#w{i}" for i in range(len(hidden) + len(self.columns))), *packed.schema.names]
        rows = pa.RecordBatch.from_arrays([*hidden, *self.columns, *packed.columns], names=names)
        groups.put("left", self.group, rows)

    @staticmethod
    def load(stored: tuple[Ints, pa.RecordBatch], width: int) -> "Gathered":
        group, rows = stored
        low, high, count, arrived = (rows.column(i).to_numpy() for i in range(4))
        columns = [rows.column(4 + i) for i in range(width)]
        rest = rows.select(rows.schema.names[4 + width :])
        old = np.zeros(len(group), bool)
        return Gathered(Train.unpack(rest), group, low, high, old, count, arrived, columns)
