"""What a run is measured by: tuple latency, and Output Matching as the draft defines it (section 5.1).

Output Matching is the area between two curves over time, normalised by time: the result of an ideal system, which
answers each event the moment it arrives, and the result that was measured. Where a query's result is a number for each
key, the distance of two results is the mean difference of the numbers; where it is the set of the latest window, it is
the share of the items that are not in both; else it is the share of the rows so far that are missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Curve", "Results", "Steps", "latencies", "numeric_distance", "row_distance", "set_distance"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """Rows of a result as it changes: when each came (in milliseconds), what it is about, and what it says."""

    time: Ints
    key: Ints
    value: Floats

    @staticmethod
    def of(time: Sequence[int], key: Sequence[int], value: Sequence[float]) -> "Results":
        return Results(np.asarray(time, np.int64), np.asarray(key, np.int64), np.asarray(value, np.float64))

    def at(self, time: Ints) -> "Results":
        """The same rows at other times."""
        return Results(time, self.key, self.value)


@dataclass(frozen=True)
class Steps:
    """A function of time that is `height[i]` from `time[i]` on."""

    time: Ints
    height: Floats

    def mean(self, end: int) -> float:
        """The area under it until `end`, normalised by time."""
        if len(self.time) == 0 or end <= self.time[0]:
            return 0.0
        widths = np.diff(np.append(np.minimum(self.time, end), end))
        return float((widths * self.height).sum() / (end - self.time[0]))

    def at(self, time: Ints) -> Floats:
        place = np.searchsorted(self.time, time, side="right") - 1
        return (
            np.where(place < 0, 0.0, self.height[np.maximum(place, 0)])
            if len(self.time)
            else np.zeros(len(time))
        )


@dataclass(frozen=True)
class Curve:
    """How far the measured result is from the ideal one, and what both are for the key that changes most."""

    kind: str
    distance: Steps
    end: int
    ideal: Steps | None = None
    measured: Steps | None = None
    # The mean of the ideal values over time: what a numeric distance is compared with.
    scale: float | None = None

    @property
    def matching(self) -> float:
        return self.distance.mean(self.end)

    def described(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self.kind, "value": self.matching}
        if self.scale:
            found |= {"mean_result": self.scale, "relative": self.matching / self.scale}
        return found


def latencies(milliseconds: Ints) -> dict[str, float]:
    """Percentiles of the time from an event's arrival to the row that it brought forth, in seconds."""
    if len(milliseconds) == 0:
        return {}
    p50, p95, p99 = np.percentile(milliseconds, (50, 95, 99), method="higher") / 1000
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99), "max": float(milliseconds.max()) / 1000}


def numeric_distance(ideal: Results, measured: Results, end: int) -> Curve:
    """The mean over all keys of the difference of their numbers, from when both have one.

    How long the first number takes is a matter of latency; one that never comes counts as 0 all the time.
    """
    keys = np.unique(np.concatenate([ideal.key, measured.key]))
    count = max(len(keys), 1)
    change_time, change = _differences(ideal, measured)
    order = np.argsort(change_time, kind="stable")
    distance = _steps(change_time[order], np.cumsum(change[order]) / count)
    busiest = _busiest(ideal)
    own = [
        _steps(result.time[result.key == busiest], result.value[result.key == busiest])
        for result in (ideal, measured)
    ]
    return Curve("numeric", distance, end, own[0], own[1], _mean_result(ideal, end))


def _differences(ideal: Results, measured: Results) -> tuple[Ints, Floats]:
    """When and by how much the difference of any key changes."""
    time = np.concatenate([ideal.time, measured.time])
    key = np.concatenate([ideal.key, measured.key])
    measures = np.repeat([False, True], [len(ideal.time), len(measured.time)])
    value = np.concatenate([ideal.value, measured.value])
    order = np.lexsort((time, key))
    time, key, measures, value = time[order], key[order], measures[order], value[order]
    first = np.concatenate([[True], key[1:] != key[:-1]])[: len(key)]
    gap = np.abs(_latest(value, ~measures, first) - _latest(value, measures, first))
    begun = _latest(np.ones(len(value)), measures, first) > 0
    gap = np.where(begun | ~np.isin(key, measured.key), gap, 0.0)
    before = np.where(first, 0.0, np.concatenate([[0.0], gap[:-1]])[: len(gap)])
    return time, gap - before


def _latest(value: Floats, chosen: npt.NDArray[np.bool_], first: npt.NDArray[np.bool_]) -> Floats:
    """At each place the last chosen value of the same key so far, 0 before there is one."""
    places = np.arange(len(value))
    start = np.maximum.accumulate(np.where(first, places, 0))
    last = np.maximum.accumulate(np.where(chosen, places, -1))
    return np.where(last >= start, value[np.maximum(last, 0)], 0.0)


def _busiest(results: Results) -> int:
    if len(results.key) == 0:
        return 0
    keys, counts = np.unique(results.key, return_counts=True)
    return int(keys[counts.argmax()])


def _mean_result(results: Results, end: int) -> float:
    """The mean over time and keys of the ideal numbers, from when each is there."""
    order = np.lexsort((results.time, results.key))
    time, key, value = results.time[order], results.key[order], np.abs(results.value[order])
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
    until = np.append(time[1:], end)
    until[np.append(starts[1:], len(key)) - 1] = end
    known = end - time[starts]
    if not (known > 0).any():
        return 0.0
    areas = np.add.reduceat(value * np.maximum(until - time, 0), starts)
    return float((areas[known > 0] / known[known > 0]).mean())


def set_distance(ideal: Results, measured: Results, end: int) -> Curve:
    """The key is a window, the values its items: what is not both in the latest set of the one and of the other.

    As with numbers, it counts from when both have one, or all the time where none ever comes.
    """
    sides = [_windows(results) for results in (ideal, measured)]
    times = sorted({time for side in sides for time, _ in side})
    never = not sides[1]
    heights, current = [], [frozenset[float](), frozenset[float]()]
    for time in times:
        for number, side in enumerate(sides):
            while side and side[0][0] <= time:
                current[number] = side.pop(0)[1]
        together = current[0] | current[1]
        counts = together and (current[1] or never)
        heights.append(1 - len(current[0] & current[1]) / len(together) if counts else 0.0)
    return Curve("set", Steps(np.asarray(times, np.int64), np.asarray(heights, np.float64)), end)


def _windows(results: Results) -> list[tuple[int, frozenset[float]]]:
    """The items of each window, with the time at which they came."""
    windows: dict[int, tuple[int, set[float]]] = {}
    for time, key, value in zip(
        results.time.tolist(), results.key.tolist(), results.value.tolist(), strict=True
    ):
        came, items = windows.setdefault(key, (time, set()))
        items.add(value)
        windows[key] = (max(came, time), items)
    return [(came, frozenset(items)) for _, (came, items) in sorted(windows.items())]


def row_distance(ideal: Ints, measured: Ints, end: int) -> Curve:
    """The share of the rows so far that are missing, from the times at which rows should come and came."""
    times = np.unique(np.concatenate([ideal, measured]))
    due = np.searchsorted(np.sort(ideal), times, side="right")
    come = np.searchsorted(np.sort(measured), times, side="right")
    share = np.maximum(due - come, 0) / np.maximum(due, 1)
    return Curve(
        "rows", Steps(times, share), end, Steps(times, due.astype(float)), Steps(times, come.astype(float))
    )


def _steps(time: Ints, height: Floats) -> Steps:
    """One step for each time: of several at once the last counts."""
    last = np.concatenate([time[1:] != time[:-1], [True]])[: len(time)]
    return Steps(time[last], height[last])
