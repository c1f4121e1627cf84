"""What the tuples of an output are worth by their values, and which to leave out first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from aurora.network.bins import Bins, make_bins
from aurora.network.qos import Graph

__all__ = ["Histogram"]

# A share that is smaller is none: shares are sums of steps.
SMALL = 1e-6
# So much of a new count goes into a histogram.
FRESH = 0.2


@dataclass(frozen=True)
class Histogram:
    """How many tuples have had which values lately, and what each bin of them is worth.

    `known` is the share of all tuples that have a value: the others are in no bin.
    """

    bins: Bins
    worth: tuple[float, ...]
    counts: tuple[float, ...]
    known: float = 1.0

    @staticmethod
    def of(graph: Graph, counts: Sequence[float] | None = None) -> "Histogram":
        bins = make_bins(graph)
        edges = bins.edges
        middles = [edges[0], *((a + b) / 2 for a, b in pairwise(edges)), edges[-1]]
        return Histogram(
            bins,
            tuple(graph.utility(middle) for middle in middles),
            tuple(counts or [0.0] * (len(edges) + 1)),
        )

    def learn(self, counts: Sequence[int], rows: int) -> "Histogram":
        """With the values of so many more rows."""
        fresh = FRESH if any(self.counts) else 1.0
        total = sum(counts)
        if not (rows := max(rows, total)):
            return self
        known = (1 - fresh) * self.known + fresh * total / rows
        if not total:
            return replace(self, known=known)
        mixed = [
            (1 - fresh) * old + fresh * new / total for old, new in zip(self.counts, counts, strict=True)
        ]
        return replace(self, counts=tuple(mixed), known=known)

    def to_json(self) -> dict[str, Any]:
        """What was counted, as plain data."""
        return {"edges": list(self.bins.edges), "counts": list(self.counts), "known": self.known}

    def recall(self, noted: Any) -> "Histogram":
        """With what was counted before, if that was in the same bins."""
        if not isinstance(noted, dict) or noted.get("edges") != list(self.bins.edges):
            return self
        return replace(self, counts=tuple(map(float, noted["counts"])), known=float(noted["known"]))

    @property
    def order(self) -> list[int]:
        """The bins that hold tuples, what is worth least first."""
        held = [number for number, count in enumerate(self.counts) if count > 0]
        return sorted(held, key=lambda number: (self.worth[number], number))

    def lost(self, share: float) -> float:
        """The share of all worth that goes with the least worthy `share` of the tuples.

        >>> graph = Graph(((0.0, 0.0), (10.0, 0.0), (10.5, 1.0), (20.0, 1.0)))
        >>> halves = Histogram.of(graph, [0.0, 50.0] + [0.0] * 22 + [50.0, 0.0])
        >>> [round(halves.lost(share), 3) for share in (0.25, 0.5, 0.75, 1.0)]
        [0.0, 0.0, 0.5, 1.0]
        """
        total = sum(self.counts)
        whole = sum(count * worth for count, worth in zip(self.counts, self.worth, strict=True))
        if not total or not whole:
            return share
        left, lost = share * total, 0.0
        for number in self.order:
            taken = min(left, self.counts[number])
            lost += taken * self.worth[number]
            left -= taken
        return min(lost / whole, 1.0)

    def choose(self, share: float) -> tuple[list[int], tuple[int, float] | None]:
        """The bins that go whole if that share of the tuples goes, and the one of which a share goes."""
        whole: list[int] = []
        left = share * sum(self.counts)
        for number in self.order:
            if left <= SMALL:
                break
            if left < (1 - SMALL) * self.counts[number]:
                return whole, (number, left / self.counts[number])
            whole.append(number)
            left -= self.counts[number]
        return whole, None

    def condition(self, field: str, numbers: Sequence[int]) -> str:
        """SQL for values in these bins; neighbours as one interval."""
        spans: list[tuple[float | None, float | None]] = []
        for number in sorted(numbers):
            low, high = self.bins.bounds(number)
            if spans and low is not None and spans[-1][1] == low:
                spans[-1] = spans[-1][0], high
            else:
                spans.append((low, high))
        return " OR ".join(f"({_interval(field, low, high)})" for low, high in spans)


def _interval(field: str, low: float | None, high: float | None) -> str:
    parts = [] if low is None else [f"`{field}` >= {low!r}D"]
    parts += [] if high is None else [f"`{field}` < {high!r}D"]
    return " AND ".join(parts) or f"`{field}` IS NOT NULL"
