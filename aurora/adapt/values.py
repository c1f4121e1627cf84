"""What the tuples of an output are worth by their values, and which to leave out first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from aurora.network.bins import Bins, make_bins
from aurora.network.qos import Graph

__all__ = ["Histogram"]

# A share that is smaller is none: shares are sums of steps.
SMALL = 1e-6


@dataclass(frozen=True)
class Histogram:
    """How many tuples have had which values lately, and what each bin of them is worth."""

    bins: Bins
    worth: tuple[float, ...]
    counts: tuple[float, ...]

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
