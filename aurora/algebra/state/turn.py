"""What a box gets when it is called: its state, the moment, and a place to count what it leaves out."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aurora.algebra.state.state import State

if TYPE_CHECKING:
    from aurora.algebra.ordering.progress import Progress

__all__ = ["Moment", "PartDone", "Turn"]


@dataclass(frozen=True)
class Moment:
    """The local time of a box (milliseconds), the arrival number before the first tuple, and whether the input ends.

    `wall` is when the batch began, in milliseconds since 1970, as arrival times are.
    """

    now: int = 0
    before: int = -1
    end: bool = False
    wall: int = 0


@dataclass
class PartDone:
    """What one of several boxes that are called as one did: tuples in, and out at each of its ports."""

    taken: int = 0
    given: Counter[str] = field(default_factory=Counter)
    nanoseconds: int = 0


@dataclass
class Turn:
    """One call of a box. `primary` is true in one bucket only: there, what every bucket sees is counted."""

    state: State = field(default_factory=State)
    moment: Moment = field(default_factory=Moment)
    discarded: Counter[str] = field(default_factory=Counter)
    counts: bool = True
    primary: bool = True
    relations: State = field(default_factory=State)
    # The progress of the clocks that the box goes by.
    clocks: "tuple[Progress, ...]" = ()
    # By name, where boxes are called as one; the last is the one at work.
    parts: dict[str, PartDone] = field(default_factory=dict)

    def discard(self, reason: str, number: int) -> None:
        """Counts tuples that the box leaves out, under a reason that statistics show."""
        if number and self.counts:
            self.discarded[reason] += number
