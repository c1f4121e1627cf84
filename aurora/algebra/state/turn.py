"""What a box gets when it is called: its state, the moment, and a place to count what it leaves out."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aurora.algebra.state.state import State

if TYPE_CHECKING:
    from aurora.algebra.ordering.progress import Progress

__all__ = ["Moment", "Turn"]


@dataclass(frozen=True)
class Moment:
    """The box's local time (milliseconds), the arrival number before the train's first, and whether the input ends."""

    now: int = 0
    before: int = -1
    end: bool = False


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

    def discard(self, reason: str, number: int) -> None:
        if number and self.counts:
            self.discarded[reason] += number
