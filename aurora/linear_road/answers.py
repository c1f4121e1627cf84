"""The output file: answers of all types in the native dialect, stamped as they leave the system."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import TextSink
from aurora.linear_road.network.queries import OUTPUTS, REQUESTS
from aurora.linear_road.reading import cut_blocks
from aurora.linear_road.records import DIALECTS, parse_output
from aurora.linear_road.scan import write_lines

__all__ = ["Stamps", "answer_sinks", "response_times"]

Array = np.ndarray[Any, Any]


class Stamps:
    """The response times of the answers that left last, by type."""

    def __init__(self) -> None:
        self._latest: dict[str, float] = {}

    def note(self, kind: int, seconds: float) -> None:
        self._latest[OUTPUTS[kind]] = seconds

    def latest(self) -> dict[str, float]:
        return dict(self._latest)


@dataclass(frozen=True)
class _Lines:
    """Makes the lines of one type. Emit is the simulation clock, or Time and the seconds since the delivery."""

    kind: int
    epoch: Callable[[], float | None] | None
    stamps: Stamps
    clock: Callable[[], float]

    def __call__(self, rows: pa.RecordBatch, arrived: Array) -> bytes:
        now = self.clock()
        when = rows["Time"].to_numpy()
        if self.epoch is not None:
            emit = np.full(len(when), round((now - (self.epoch() or now)) * 1000))
        else:
            emit = when.astype(np.int64) * 1000 + np.maximum(round(now * 1000) - arrived, 0)
        self.stamps.note(self.kind, float((emit / 1000 - when).max()))
        layout = DIALECTS["native"].layouts[self.kind]
        numbers = np.empty((len(when), len(layout)), np.int64)
        for at, name in enumerate(layout):
            if name != "Emit":
                numbers[:, at] = rows[name].to_numpy()
        return write_lines(self.kind, numbers, layout.index("Emit"), emit)


def answer_sinks(
    path: Path,
    epoch: Callable[[], float | None] | None = None,
    stamps: Stamps | None = None,
    clock: Callable[[], float] = time.time,
    requests: Path | None = None,
) -> dict[str, TextSink]:
    """A sink for each output of the network, all of them the same file.

    With an `epoch`, the moment of second 0, Emit is the simulation clock. Answers to requests that may wait go to a
    file of their own, `requests`: they are written beside the others, not after them.
    """
    stamps = stamps or Stamps()
    apart = () if requests is None else REQUESTS
    return {
        name: TextSink(
            str(requests if name in apart else path), _Lines(kind, epoch, stamps, clock), shared=True
        )
        for kind, name in enumerate(OUTPUTS)
    }


def response_times(*paths: Path) -> dict[str, dict[str, float]]:
    """For each type of answer in output files: how many, and p50, p99 and the largest response time."""
    times: dict[str, dict[str, float]] = {}
    seconds: dict[int, Array] = {}
    for path in paths:
        if path.exists() and path.stat().st_size:
            seconds |= _response_seconds(path)
    for kind, name in enumerate(OUTPUTS):
        of_kind = seconds.get(kind)
        if of_kind is not None and len(of_kind):
            p50, p99 = np.percentile(of_kind, [50, 99])
            times[name] = {
                "answers": len(of_kind),
                "p50": round(float(p50), 3),
                "p99": round(float(p99), 3),
                "max": round(float(of_kind.max()), 3),
            }
    return times


def _response_seconds(path: Path) -> dict[int, Array]:
    """Emit - Time by type; the file is read in blocks, since lines of different types have different lengths."""
    found: dict[int, list[Array]] = {}
    dialect = DIALECTS["native"]
    for block in cut_blocks(path):
        rows = parse_output(block.bytes(), dialect)
        for kind, layout in dialect.layouts.items():
            mine = rows.good & (rows.values[:, 0] == kind)
            if mine.any():
                at, when = layout.index("Emit") + 1, layout.index("Time") + 1
                emit = rows.values[mine, at] + rows.micros[mine, at] / 1e6
                found.setdefault(kind, []).append(emit - rows.values[mine, when])
    return {kind: np.concatenate(parts) for kind, parts in found.items()}
