"""A waiting list: the keys under which tuples wait for a group, so that they are found when the group passes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.admission import Admitted
from aurora.algebra.ordering.passing import are_passed
from aurora.algebra.tuples.train import Ints, Values

__all__ = ["WaitingList"]

PART = "waiting"
VALUE = "value"


@dataclass(frozen=True)
class WaitingList:
    """For the groups that a turn touches: `called` are the keys under which tuples wait that it passes, `kept` the
    other entries, each with its group.

    An entry whose tuple has met a partner meanwhile does no harm: whoever is called finds nothing to do.
    """

    awaited: Admitted
    called: pa.RecordBatch | None
    kept: tuple[Ints, pa.RecordBatch] | None

    @staticmethod
    def read(awaited: Admitted, size: Any) -> "WaitingList":
        stored = awaited.groups.rows(PART)
        if stored is None:
            return WaitingList(awaited, None, None)
        group, entries = stored
        due = are_passed(entries.column(VALUE).to_numpy(), group, awaited.after, size)
        if not due.any():
            return WaitingList(awaited, None, stored)
        return WaitingList(
            awaited, entries.filter(pa.array(due)), (group[~due], entries.filter(pa.array(~due)))
        )

    def store(self, group: Ints, keys: list[pa.Array], value: Values) -> None:
        """Forgets what was called, and adds tuples that begin to wait."""
        if self.called is None and len(group) == 0:
            return
        names = [*(str(number) for number in range(len(keys))), VALUE]
        entries = pa.RecordBatch.from_arrays([*keys, pa.array(value)], names=names)
        if self.kept is not None:
            group = np.concatenate([self.kept[0], group])
            entries = pa.concat_batches([self.kept[1], entries])
        self.awaited.groups.put(PART, group, entries)
