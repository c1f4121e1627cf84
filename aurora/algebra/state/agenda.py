"""An agenda: which groups have something to do at a time to come, without looking at all of them.

The keys that a turn notes for one time are stored together, under the time and the turn, and read when it has come.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.train import Ints

__all__ = ["Agenda"]

FIELDS = ("time", "turn")


@dataclass(frozen=True)
class Agenda:
    """Times are whole numbers, of whatever the box counts in."""

    name: str
    fields: Sequence[str]

    def take(self, turn: Turn, last: int) -> list[pa.RecordBatch]:
        """The keys that were noted for times up to the last one, which are then forgotten."""
        known = turn.state.get(self.name)
        if known is None:
            return []
        due = known.column("time").to_numpy() <= last
        if not due.any():
            return []
        turn.state.put(self.name, known.filter(pa.array(~due)))
        noted = turn.state.groups(f"{self.name} of groups", FIELDS, known.filter(pa.array(due)))
        found = noted.rows("keys")
        if found is None:
            return []
        noted.put("keys", np.empty(0, np.int64), found[1].slice(0, 0))
        return [found[1]]

    def note(self, turn: Turn, times: Ints, keys: list[pa.Array]) -> None:
        """Notes a time for each key."""
        if len(times) == 0 or not self.fields:
            return
        different, number = np.unique(times, return_inverse=True)
        new = pa.record_batch(
            {"time": different, "turn": np.full(len(different), turn.moment.before, np.int64)}
        )
        known = turn.state.get(self.name)
        turn.state.put(self.name, new if known is None else pa.concat_batches([known, new]))
        noted = turn.state.groups(f"{self.name} of groups", FIELDS, new)
        noted.put("keys", number, pa.RecordBatch.from_arrays(keys, names=list(self.fields)))
