"""Where windows lie: arithmetic on the values of an order field, exact over the whole range of bigint."""

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from aurora.algebra.ordering.admission import Bounds
from aurora.algebra.ordering.values import narrow, shift, wide
from aurora.algebra.tuples.arrays import expand
from aurora.algebra.tuples.train import Ints, Mask, Values

__all__ = ["Windows"]


@dataclass(frozen=True)
class Windows:
    """[a, a + size) for a = origin, origin + advance, ..; aligned ones have the origin 0 and no first."""

    size: Any
    advance: Any
    align: bool = False
    # The smallest value of the order field: aligned windows that would start below it are not there.
    lowest: int = -(2**63)

    @property
    def pane(self) -> int:
        """The widest pieces of which all windows consist."""
        return gcd(int(self.size), int(self.advance))

    def ends(self, start: Values) -> Values:
        """Return where the windows with these starts end; a sum that is no bigint wraps around."""
        ends: Values = start + np.asarray(self.size).astype(start.dtype)
        return ends

    def panes(self, value: Values, origin: Values) -> Values:
        """The start of the pane of each value."""
        pane = self.pane
        if pane == 1:
            return value
        v, o = wide(value, origin, room=float(self.size))
        start = v - (v if self.align else v - o) % pane
        # A pane that starts before the smallest bigint is cut short: it holds the same values.
        return narrow(np.maximum(start, -(2**63)) if start.dtype == object else start, value.dtype)

    def between(
        self, value: Values, origin: Values, group: Ints, closed: Bounds, reached: Bounds | None
    ) -> tuple[Ints, Values]:
        """The windows that hold each value and end after the bound `closed`, and not after the bound `reached`.

        Gives pairs: the position of the value, the start of the window. No `reached` means no such limit.
        """
        size, advance = self.size, self.advance
        exact = value.dtype.kind != "f"
        low, low_known = closed[0][group], closed[1][group]
        high, high_known = (low, None) if reached is None else (reached[0][group], reached[1][group])
        v, o, low, high = wide(value, origin, low, high, room=float(size) + float(advance))
        if self.align:
            o = o * 0
        latest = (v - o) // advance if exact else np.floor((v - o) / advance)
        end = o + latest * advance + size
        # Steps back from the latest window that starts at or before the value: the last that still holds it ..
        last = _steps(end - v, advance, exact) - 1
        if not self.align:
            last = np.minimum(last, latest)
        last = np.where(low_known, np.minimum(last, _steps(end - low, advance, exact) - 1), last)
        # .. and the first that ends early enough.
        first = last * 0
        if high_known is not None:
            first = np.maximum(_steps(end - high, advance, exact), 0)
        if not exact:
            first, last = first - 1, last + 1
        stop = last.astype(np.int64) + 1
        if high_known is not None:
            stop = np.where(high_known, stop, np.iinfo(np.int64).min)
        step, row = expand(first.astype(np.int64), stop)
        start = o[row] + (latest[row] - step) * advance
        if not exact:
            # Divisions of doubles are off by one at times: look again.
            fits = (start <= v[row]) & (v[row] < start + size) & (~low_known[row] | (start + size > low[row]))
            if not self.align:
                fits &= latest[row] - step >= 0
            if high_known is not None:
                fits &= start + size <= high[row]
            row, start = row[fits], start[fits]
        elif self.align:
            there = np.asarray(start >= self.lowest, bool)
            if not there.all():
                row, start = row[there], start[there]
        return row, narrow(start, value.dtype)

    def alive(self, value: Values, origin: Values, group: Ints, bound: Bounds) -> Mask:
        """Which values are in a window that ends after the bound."""
        high, known = bound[0][group], bound[1][group]
        v, o, high = wide(value, origin, high, room=float(self.size) + float(self.advance))
        steps = (v if self.align else v - o) % self.advance
        # A double may be off by one advance: it only lives a little longer.
        extra = 0 if value.dtype.kind != "f" else self.advance
        holds = (steps < self.size) | (value.dtype.kind == "f")
        return np.asarray(holds & (~known | (v - steps + self.size + extra > high)), bool)

    def find_next_ends(self, value: Values, origin: Values, bound: Any) -> Values:
        """Where the first window ends that holds the value and is open at the bound; for doubles perhaps earlier."""
        v, o = wide(np.maximum(value, bound), origin, room=float(self.size) + float(self.advance))
        if self.align:
            o = o * 0
        passed = v - self.size
        start = (passed - o) // self.advance * self.advance + self.advance + o
        if not self.align:
            start = np.maximum(start, o)
        if value.dtype.kind == "f":
            start = start - self.advance
        end = start + self.size
        return narrow(np.minimum(end, np.iinfo(np.int64).max) if end.dtype == object else end, value.dtype)

    def find_earliest_starts(self, bound: Values) -> Values:
        """The start of the first window that may still close when the bounds are reached."""
        if bound.dtype.kind == "f":
            return shift(bound, -self.size - (self.advance if self.align else 0))
        lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        (b,) = wide(np.maximum(bound, lowest), room=float(self.size) + float(self.advance))
        start = b - self.size + 1
        if self.align:
            start = -(-start // self.advance) * self.advance
        known = np.asarray(bound > lowest, bool)
        held = np.minimum(np.maximum(start, lowest), highest)
        return narrow(np.where(known, held, lowest), bound.dtype)

    def in_gap(self, value: Values, origin: Values) -> Mask:
        """Which values lie in no window (where the advance is larger than the size, or below the lowest start)."""
        below = self.align and len(value) > 0 and value.min() < self.lowest + self.advance
        if self.advance <= self.size and not below:
            return np.zeros(len(value), bool)
        if value.dtype.kind == "f":
            no_bound = value, np.zeros(len(value), bool)
            held, _ = self.between(value, origin, np.arange(len(value)), no_bound, None)
            return np.asarray(np.bincount(held, minlength=len(value)) == 0)
        v, o = wide(value, origin, room=float(self.advance))
        steps = (v if self.align else v - o) % self.advance
        return np.asarray((steps >= self.size) | (v - steps < self.lowest), bool)


def _steps(distance: Any, advance: Any, exact: bool) -> Any:
    """The distance in advances, rounded up."""
    return -(-distance // advance) if exact else np.ceil(distance / advance)
