"""Windows that begin when the clocks of a place show it: a day that has 23 or 25 hours is one day."""

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from aurora.algebra.ordering.admission import Bounds
from aurora.algebra.tuples.train import Ints, Mask, Values
from aurora.algebra.tuples.zones import Zone
from aurora.algebra.windows.places import Windows

__all__ = ["HOUR", "LocalWindows"]

HOUR = 3_600_000_000
# The longest time by which the clocks of a place were ever set back.
LONGEST = 24 * HOUR
UTC = Zone("UTC", 0)


@dataclass(frozen=True)
class LocalWindows(Windows):
    """Aligned windows whose size and advance the clocks of a zone measure; values and starts are moments in UTC.

    A period of the clocks begins when they first show its start, or have passed over it: so what they show twice is
    one period, and one that they leave out is empty. On an axis on which each period has the same room, windows lie as
    they do without a zone, and moments in their order; that is where they are looked for.

    >>> from aurora.algebra.tuples.zones import find_zone
    >>> days = LocalWindows(24 * HOUR, 24 * HOUR, True, zone=find_zone("Europe/Berlin"))
    >>> starts = np.array(["2026-03-28T23:00", "2026-10-24T22:00"], "datetime64[us]").astype(np.int64)
    >>> ((days.ends(starts) - starts) // HOUR).tolist()
    [23, 25]
    """

    zone: Zone = UTC

    @property
    def _unit(self) -> int:
        return gcd(int(self.size), int(self.advance))

    @property
    def _room(self) -> int:
        return self._unit + LONGEST

    @property
    def _farthest(self) -> int:
        """How far from 1970 moments have a place on the axis, more than 8,000 years; others are in no window."""
        return (3 << 61) // (self._room // self._unit + 1)

    @property
    def _straight(self) -> Windows:
        """The windows on the axis."""
        size, advance = (int(span) // self._unit * self._room for span in (self.size, self.advance))
        return Windows(size, advance, True)

    def ends(self, start: Values) -> Values:
        step, size = (int(span) // self._unit for span in (self.advance, self.size))
        return self._begins(self._periods(start) // step * step + size)

    def panes(self, value: Values, origin: Values) -> Values:
        return np.where(self._is_far(value), value, self._begins(self._periods(value)))

    def between(
        self, value: Values, origin: Values, group: Ints, closed: Bounds, reached: Bounds | None
    ) -> tuple[Ints, Values]:
        near = np.flatnonzero(~self._is_far(value))
        bounds = [None if bound is None else (self._place(bound[0]), bound[1]) for bound in (closed, reached)]
        assert bounds[0] is not None
        row, place = self._straight.between(
            self._place(value[near]), origin[near], group[near], bounds[0], bounds[1]
        )
        start = self._begins(place // self._room)
        # Of windows that begin together, because the clocks passed over what is between, the last is meant.
        last = start < self._begins((place + self._straight.advance) // self._room)
        return near[row[last]], start[last]

    def alive(self, value: Values, origin: Values, group: Ints, bound: Bounds) -> Mask:
        placed = self._place(bound[0]), bound[1]
        return ~self._is_far(value) & self._straight.alive(self._place(value), origin, group, placed)

    def find_next_ends(self, value: Values, origin: Values, bound: Any) -> Values:
        reached = self._place(np.asarray([bound], np.int64))[0]
        return self._begins(self._straight.find_next_ends(self._place(value), origin, reached) // self._room)

    def find_earliest_starts(self, bound: Values) -> Values:
        starts = self._begins(self._straight.find_earliest_starts(self._place(bound)) // self._room)
        lowest = np.int64(np.iinfo(np.int64).min)
        return np.asarray(np.where(bound == lowest, lowest, starts), np.int64)

    def in_gap(self, value: Values, origin: Values) -> Mask:
        return self._is_far(value) | self._straight.in_gap(self._place(value), origin)

    def _is_far(self, value: Values) -> Mask:
        return np.asarray((value < -self._farthest) | (value > self._farthest), bool)

    def _place(self, value: Values) -> Ints:
        """The places of moments on the axis; those too far away are held at its ends."""
        value = np.clip(value.astype(np.int64), -self._farthest, self._farthest)
        period = self._periods(value)
        return np.asarray(period * self._room + (value - self._begins(period)), np.int64)

    def _periods(self, value: Values) -> Ints:
        """The number of the last period that has begun at each moment."""
        shown = self.zone.to_local(value)
        if self.zone.fixed is None:
            starts, offsets = self.zone.find_offsets(value)
            # Where clocks are set back they have shown more before.
            highest = np.maximum.accumulate(starts[1:] + offsets[:-1] - 1)
            change = np.searchsorted(starts, value, side="right") - 2
            shown = np.where(change >= 0, np.maximum(shown, highest[np.maximum(change, 0)]), shown)
        return np.asarray(shown // self._unit)

    def _begins(self, period: Ints) -> Ints:
        """When the clocks first show the start of each period, or more."""
        wanted = period * self._unit
        if self.zone.fixed is not None:
            return self.zone.to_utc(wanted)
        starts, offsets = self.zone.find_offsets(wanted)
        highest = np.maximum.accumulate(starts[1:] + offsets[:-1] - 1)
        at = np.searchsorted(highest, wanted, side="left")
        return np.asarray(np.maximum(starts[at], wanted - offsets[at]))
