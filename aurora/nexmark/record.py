"""The record of a run: each row as it is written, when it came out, and what it changed."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora import json_lines
from aurora.nexmark.metrics import Curve, Results, numeric_distance, row_distance, set_distance
from aurora.nexmark.queries import Measure

__all__ = ["Lines", "Record"]

Ints = npt.NDArray[np.int64]


def _wall() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class _Delivery:
    """Rows that came out together: the milliseconds at which their causes arrived, and what they are about."""

    emitted: int
    arrived: Ints
    key: Ints
    value: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lines:
    """The lines of a result; without nulls an event is what it was."""

    nulls: bool = True

    def __call__(self, rows: pa.RecordBatch, arrived: Ints) -> bytes:
        return json_lines(rows, digits=3, nulls=self.nulls)


class Record:
    """Encodes the rows of a result, for a TextSink, and notes their times."""

    def __init__(self, measure: Measure, nulls: bool = True, clock: Callable[[], int] = _wall) -> None:
        self._measure = measure
        self._lines = Lines(nulls)
        self._clock = clock
        self._deliveries: list[_Delivery] = []

    def __call__(self, rows: pa.RecordBatch, arrived: Ints) -> bytes:
        lines = self._lines(rows, arrived)
        key, value = (self._column(rows, name) for name in (self._measure.key, self._measure.value))
        self._deliveries.append(_Delivery(self._clock(), arrived, key.astype(np.int64), value))
        return lines

    def came(self, rows: int, began: int) -> None:
        """Notes rows that others have written, of events that came when their batch began."""
        nothing = np.empty(0, np.int64)
        self._deliveries.append(
            _Delivery(self._clock(), np.full(rows, began), nothing, nothing.astype(float))
        )

    def _column(self, rows: pa.RecordBatch, name: str | None) -> npt.NDArray[np.float64]:
        if name is None:
            return np.zeros(rows.num_rows if self._measure.kind != "rows" else 0)
        column = rows.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.view(pa.int64())
        numbers: npt.NDArray[np.float64] = column.to_numpy().astype(np.float64)
        return numbers

    @property
    def latency(self) -> Ints:
        """Milliseconds from arrival to emission, of each row."""
        return self.emitted - self.arrived

    @property
    def arrived(self) -> Ints:
        return _joined([delivery.arrived for delivery in self._deliveries])

    @property
    def emitted(self) -> Ints:
        return _joined([np.full(len(d.arrived), d.emitted, np.int64) for d in self._deliveries])

    def curve(self, ideal: "Record | None" = None, later: int = 0) -> Curve:
        """How far what came out was from what an ideal system would have had, which answers arrivals at once.

        Where events were lost, that is told by the record of a run that had all; its clock began `later` milliseconds
        before this one's.
        """
        ideal = ideal or self
        arrived, emitted = ideal.arrived + later, self.emitted
        end = int(max(arrived.max(initial=0), emitted.max(initial=0)))
        if self._measure.kind == "rows":
            return row_distance(arrived, emitted, end)
        distance = numeric_distance if self._measure.kind == "numeric" else set_distance
        return distance(ideal._results(arrived), self._results(emitted), end)

    def _results(self, time: Ints) -> Results:
        key = _joined([delivery.key for delivery in self._deliveries])
        value = np.concatenate([np.empty(0), *(delivery.value for delivery in self._deliveries)])
        return Results(time, key, value)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])
