"""Event time: which events are late, and when a window or an auction is over.

An event is late if its dateTime is more than the allowed lateness behind the largest dateTime of the events that
arrived before it, of whatever kind they are. Late events are left out and counted. So whether an event is late, and
which event ends a window, depends on the order of the events alone, not on how they are cut into batches.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora import Train, Turn

__all__ = ["Clock", "Ints", "Mask", "clock_of", "loaded", "numbers", "stored", "there"]

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
LATE = "late"


@dataclass(frozen=True)
class Clock:
    """`times` of the events of a train, those that are `on_time`, and after each the smallest time still to come."""

    times: Ints
    on_time: Mask
    bounds: Ints
    before: int
    after: int

    def ends(self, times: Ints) -> Ints:
        """The event after which nothing before these times can come; their number is the end of the input."""
        return np.searchsorted(self.bounds, times, side="left")

    def passes(self, times: Ints) -> Ints:
        """The event after which nothing up to these times can come."""
        return np.searchsorted(self.bounds, times, side="right")


def clock_of(train: Train, turn: Turn, lateness: int) -> Clock:
    """Looks at the field dateTime of the train, counts what is late, and remembers the largest time."""
    known = turn.state.get("largest")
    largest = EARLIEST if known is None else known["time"][0].as_py()
    times = numbers(train.rows, "dateTime")
    reached = np.maximum.accumulate(np.concatenate([[largest], times]))
    bounds = np.where(reached == EARLIEST, EARLIEST, reached - lateness)
    on_time = times >= bounds[:-1]
    turn.discard(LATE, int(len(times) - on_time.sum()))
    if reached[-1] > largest:
        turn.state.put("largest", pa.record_batch({"time": reached[-1:]}))
    after = LATEST if turn.moment.end else int(bounds[-1])
    return Clock(times, on_time, bounds[1:], int(bounds[0]), after)


def numbers(rows: pa.RecordBatch, name: str) -> Ints:
    """A field of whole numbers or times; 0 where it is null."""
    column = rows.column(name)
    column = column if pa.types.is_int64(column.type) else column.view(pa.int64())
    filled: Ints = (column.fill_null(0) if column.null_count else column).to_numpy()
    return filled


def there(rows: pa.RecordBatch, name: str) -> Mask:
    valid: Mask = rows.column(name).is_valid().to_numpy(zero_copy_only=False)
    return valid


def loaded(turn: Turn, name: str, fields: str) -> dict[str, Ints]:
    """Columns of whole numbers that were stored, empty ones at first."""
    rows = turn.state.get(name)
    if rows is None:
        return {field: np.empty(0, np.int64) for field in fields.split()}
    return {field: rows.column(field).to_numpy() for field in fields.split()}


def stored(turn: Turn, name: str, columns: Mapping[str, Any]) -> None:
    turn.state.put(name, pa.record_batch(dict(columns)))
