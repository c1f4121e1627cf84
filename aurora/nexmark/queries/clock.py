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

from aurora import Network, Stream, Train, Turn, caused

__all__ = ["Clock", "Ints", "Mask", "clock_of", "dated", "loaded", "numbers", "stored", "there"]

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
LATE = "late"
# How many events a merged one stands for.
SAME = "same"


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


def dated(network: Network, events: Stream, *fields: str) -> Stream:
    """The events that have a time; those in which none of these fields is there matter for it alone, and are merged.

    Fewer rows then go to the box that keeps the clock. Where nearly all events matter, no fields are given.
    """
    with_time = events.filter("dateTime IS NOT NULL", name="dated")
    if not fields:
        return with_time
    return network.user(
        Merged(fields),
        inputs={"events": with_time},
        outputs={"events": f"{with_time.schema}, {SAME} bigint"},
        stateless=True,
        name="merged",
    )


@dataclass(frozen=True)
class Merged:
    """Of neighbours of one time in which none of the fields is there, the first stands for all.

    What a clock says does not change by that: such neighbours are late together, and only the first can end a window.
    """

    fields: tuple[str, ...]

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        events = inputs["events"]
        times = numbers(events.rows, "dateTime")
        idle = ~np.logical_or.reduce([there(events.rows, field) for field in self.fields])
        alike = idle[1:] & idle[:-1] & (times[1:] == times[:-1])
        first = np.flatnonzero(np.concatenate([[True], ~alike])[: len(times)])
        rows = events.rows.take(pa.array(first))
        rows = rows.append_column(SAME, pa.array(np.diff(np.append(first, len(times)))))
        return {"events": caused(events, rows, first)}


def clock_of(train: Train, turn: Turn, lateness: int) -> Clock:
    """Looks at the field dateTime of the train, counts what is late, and remembers the largest time."""
    known = turn.state.get("largest")
    largest = EARLIEST if known is None else known["time"][0].as_py()
    times = numbers(train.rows, "dateTime")
    reached = np.maximum.accumulate(np.concatenate([[largest], times]))
    bounds = np.where(reached == EARLIEST, EARLIEST, reached - lateness)
    on_time = times >= bounds[:-1]
    late = ~on_time
    turn.discard(
        LATE, int(numbers(train.rows, SAME)[late].sum() if SAME in train.rows.schema.names else late.sum())
    )
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
