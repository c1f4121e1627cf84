"""Whose turn it is: the part of a network that cannot wait, or the one that loses little by it."""

from collections.abc import Sequence
from dataclasses import dataclass

from aurora.network.qos import Graph

__all__ = ["Standing", "find_gathering", "must_hold"]

# The later part is held when the rows of an urgent output take this share of its good zone, and goes on at that one.
TIGHT, EASY = 0.4, 0.25
# While the urgent part uses up no more than this of its good zone, nothing gathers for the later one. Where it is
# tight, trains gather for this share of the shortest good zone of the later part, or for so many seconds.
FREE, GATHER, GATHER_MOST = 0.1, 0.25, 5.0


@dataclass(frozen=True)
class Standing:
    """An output's latency graph, and how many seconds its rows take by now."""

    graph: Graph
    seconds: float

    @property
    def pressed(self) -> float:
        """How much of the good zone is used up."""
        return self.seconds / max(self.graph.good_until, 1e-9)

    def loss(self, waiting: float) -> float:
        """What is lost by waiting so many seconds longer."""
        return self.graph.utility(self.seconds) - self.graph.utility(self.seconds + waiting)


def must_hold(held: bool, urgent: Sequence[Standing], later: Sequence[Standing]) -> bool:
    """Whether the later part is to wait, so that the urgent one has all there is.

    While nothing urgent is pressed, both go on. Otherwise those go first that lose more by waiting on: for as long as
    the shortest good zone, one more of which is all that the urgent ones have.

    >>> quick, slow = Graph(((0.0, 1.0), (2.0, 1.0), (4.0, 0.0))), Graph(((0.0, 1.0), (60.0, 1.0), (90.0, 0.0)))
    >>> must_hold(False, [Standing(quick, 0.5)], [Standing(slow, 5.0)])
    False
    >>> must_hold(False, [Standing(quick, 1.5)], [Standing(slow, 5.0)])
    True
    >>> must_hold(True, [Standing(quick, 9.0)], [Standing(slow, 70.0)])
    False
    """
    pressed = max((one.pressed for one in urgent), default=0.0)
    if pressed <= (EASY if held else TIGHT):
        return False
    step = min(one.graph.good_until for one in urgent)
    return sum(one.loss(step) for one in urgent) >= sum(one.loss(step) for one in later)


def find_gathering(pressed: float, zone: float) -> float:
    """For how many seconds trains gather at the arcs before the later part takes them, whose good zone ends at `zone`.

    Each of its batches costs a trip, which the urgent part pays for: the more of its own good zone that uses up as a
    rule, the fewer trips there are.

    >>> [round(find_gathering(pressed, 30.0), 3) for pressed in (0.05, 0.25, 0.4, 2.0)], find_gathering(1.0, 8.0)
    ([0.0, 2.5, 5.0, 5.0], 2.0)
    """
    share = (pressed - FREE) / (TIGHT - FREE)
    return min(GATHER * zone, GATHER_MOST) * min(max(share, 0.0), 1.0)
