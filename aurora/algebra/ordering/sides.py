"""The tuples of one side of a join: those kept so far and those of this turn, by the fields that must be equal."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.state.groups import Groups
from aurora.algebra.tuples.train import Ints, Mask, Train

__all__ = ["Side", "Tuples"]

# A hidden field of what is kept, behind those of the train: whether the tuple has met a partner.
MET = "#met"


@dataclass(frozen=True)
class Tuples:
    """Tuples of one side, and for each the number of its pairing group."""

    train: Train
    group: Ints

    def __len__(self) -> int:
        return len(self.group)

    def filter(self, mask: Mask) -> "Tuples":
        return self if mask.all() else Tuples(self.train.filter(mask), self.group[mask])

    @staticmethod
    def concat(one: "Tuples", other: "Tuples") -> "Tuples":
        return Tuples(Train.concat([one.train, other.train]), np.concatenate([one.group, other.group]))

    @staticmethod
    def load(groups: Groups, part: str, like: Train) -> "Tuples":
        """What is kept of the groups under this name; `like` is a train of the same fields."""
        stored = groups.rows(part)
        if stored is None:
            return Tuples(like.filter(np.zeros(len(like), bool)), np.empty(0, np.int64))
        return Tuples(Train.unpack(stored[1]), stored[0])

    def store(self, groups: Groups, part: str) -> None:
        groups.put(part, self.group, self.train.pack())


@dataclass(frozen=True)
class Side:
    """The tuples kept so far, those of this turn, and all of them, the old ones first.

    `met` tells which of all have met a partner; it is kept only for sides that are `watched`.
    """

    old: Tuples
    new: Tuples
    all: Tuples
    met: Mask
    watched: bool

    @staticmethod
    def of(train: Train, group: Ints, kept: tuple[Ints, pa.RecordBatch] | None, watched: bool) -> "Side":
        new = Tuples(train, group)
        fresh = np.zeros(len(train), bool)
        if kept is None:
            return Side(Tuples(train.filter(fresh), group[:0]), new, new, fresh, watched)
        old_group, rows = kept
        met = np.zeros(rows.num_rows, bool)
        if watched:
            met = rows.column(rows.num_columns - 1).to_numpy(zero_copy_only=False)
            rows = rows.select(list(range(rows.num_columns - 1)))
        old = Tuples(Train.unpack(rows), old_group)
        both = Tuples(Train.concat([old.train, train]), np.concatenate([old_group, group]))
        return Side(old, new, both, np.concatenate([met, fresh]), watched)

    def store(self, groups: Groups, part: str, stays: Mask) -> None:
        group, train, met = self.all.group, self.all.train, self.met
        if not stays.all():
            group, train, met = group[stays], train.filter(stays), met[stays]
        rows = train.pack()
        groups.put(part, group, rows.append_column(MET, pa.array(met)) if self.watched else rows)
