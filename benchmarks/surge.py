"""A live source whose rate changes, and sinks that note when rows come out and how late they are."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.source import Cursor, Piece, Portion

__all__ = ["SCHEMA", "Arrivals", "Surge", "as_fast_as_it_can", "plot_over_time"]

SCHEMA = "k int, t bigint, v double, due bigint"
KEYS = 1000


def _wall() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class SurgePiece:
    """Rows that follow from their numbers alone; `due` is the millisecond at which each is to come."""

    start: int
    stop: int
    began: int
    phases: tuple[tuple[float, float], ...]

    def read(self, schema: Schema) -> Portion:
        numbers = np.arange(self.start, self.stop)
        due = self.began + (_moments(self.phases, numbers) * 1000).astype(np.int64)
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        columns = {
            "k": ((mixed >> np.uint64(33)) % np.uint64(KEYS)).astype(np.int32),
            "t": due // 1000,
            "v": (mixed >> np.uint64(11)).astype(np.float64) / 2**53,
            "due": due,
        }
        rows = pa.record_batch({name: columns[name] for name in schema.names}, schema.arrow())
        return Portion(rows, numbers, arrived=due)


def _moments(phases: tuple[tuple[float, float], ...], numbers: np.ndarray) -> np.ndarray:
    """The second, from the beginning, at which each row comes."""
    seconds = np.cumsum([0.0, *(length for length, _ in phases)])
    rows = np.cumsum([0.0, *(length * rate for length, rate in phases)])
    return np.interp(numbers, rows, seconds)


@dataclass(frozen=True)
class Surge:
    """`phases` of so many seconds at so many rows a second each."""

    phases: tuple[tuple[float, float], ...]
    live: bool = field(default=True, init=False)

    @property
    def total(self) -> int:
        return int(sum(length * rate for length, rate in self.phases))

    def identity(self) -> str:
        return f"surge:{self.phases}"

    def begin(self) -> Cursor:
        return {"row": 0, "began": 0}

    def _due(self, began: int) -> int:
        seconds = np.cumsum([0.0, *(length for length, _ in self.phases)])
        rows = np.cumsum([0.0, *(length * rate for length, rate in self.phases)])
        return min(int(np.interp((_wall() - began) / 1000, seconds, rows)), self.total)

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        began = cursor["began"] or _wall()
        row = max(int(cursor["row"]), min(cursor["row"] + rows, self._due(began)))
        return {"row": row, "began": began}

    def finished(self, cursor: Cursor) -> bool:
        return int(cursor["row"]) >= self.total

    def waiting(self, cursor: Cursor) -> int:
        return self._due(cursor["began"]) - int(cursor["row"]) if cursor["began"] else 0

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        return [
            SurgePiece(row, min(row + share, end["row"]), end["began"], self.phases)
            for row in range(start["row"], end["row"], share)
        ]


def as_fast_as_it_can(rows: int) -> Surge:
    """All rows are there within the first second."""
    return Surge(((1.0, float(rows)),))


@dataclass
class Arrivals:
    """A sink: when rows came out, how late each was, and how many there were."""

    moments: list[tuple[float, float, float, int]] = field(default_factory=list)
    # Rows, and the tuples that they count in a field `n`.
    total: int = 0
    counted: int = 0
    worth: float = 0.0
    value: Callable[[Any], Any] | None = None

    def __call__(self, rows: pa.RecordBatch) -> None:
        now = _wall()
        late = (now - rows.column("due").to_numpy()) / 1000
        self.total += len(late)
        self.counted += int(rows.column("n").to_numpy().sum()) if "n" in rows.schema.names else len(late)
        if self.value is not None:
            self.worth += float(self.value(rows.column("v").to_numpy()).sum())
        if len(late):
            half, most = np.quantile(late, [0.5, 0.99])
            self.moments.append((now / 1000, float(half), float(most), len(late)))

    def quantile(self, share: float, start: float = 0.0) -> float:
        """That of all rows behind a moment, each batch by its own 99th percentile."""
        chosen = sorted((most, rows) for now, _, most, rows in self.moments if now >= start)
        reached = np.cumsum([rows for _, rows in chosen])
        return chosen[int(np.searchsorted(reached, share * reached[-1]))][0]

    def slowest(self, start: float = 0.0, stop: float = float("inf")) -> float:
        """The 99th percentile of what came out between two moments, in seconds."""
        chosen = [(most, rows) for now, _, most, rows in self.moments if start <= now < stop]
        return max((most for most, _ in chosen), default=float("nan"))


def plot_over_time(
    path: str, title: str, panels: dict[str, dict[str, tuple[list[float], list[float]]]]
) -> None:
    """A panel for each name, in it a line for each series, over the seconds of the run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(9, 2.6 * len(panels)), sharex=True, squeeze=False, constrained_layout=True
    )
    for axis, (label, series) in zip(axes[:, 0], panels.items(), strict=True):
        for name, (moments, values) in series.items():
            axis.plot(moments, values, label=name, linewidth=1.5)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.legend(loc="upper right", fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel("seconds")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
