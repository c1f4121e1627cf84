"""Bins in which the values of an output are counted, where a graph says what they are worth."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from aurora.network.qos import Graph

__all__ = ["Bins", "make_bins"]

# Between two points of a graph values are counted in so many bins.
FINE = 8


@dataclass(frozen=True)
class Bins:
    """Values below the first edge, between each two, and from the last one on."""

    edges: tuple[float, ...]

    def count(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        known = values[~np.isnan(values)]
        places = np.searchsorted(np.array(self.edges), known, "right")
        return np.bincount(places, minlength=len(self.edges) + 1)

    def bounds(self, number: int) -> tuple[float | None, float | None]:
        """The values of a bin: from the first up to, but without, the second; None where it is open."""
        low = self.edges[number - 1] if number else None
        return low, self.edges[number] if number < len(self.edges) else None


def make_bins(graph: Graph) -> Bins:
    """Bins in which a graph is about constant.

    >>> make_bins(Graph(((0.0, 1.0), (40.0, 0.2)))).edges
    (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0)
    """
    places = [x for x, _ in graph.points]
    inner = [np.linspace(low, high, FINE + 1)[:-1] for low, high in pairwise(places)]
    return Bins(tuple(float(edge) for edge in [*np.concatenate(inner), places[-1]]))
