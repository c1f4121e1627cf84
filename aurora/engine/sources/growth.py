"""When the rows of a source that keeps them were first seen to be there, which is when they arrived.

What grows while a batch is under way is seen by a thread. The times of a batch are noted in its cursor, by the numbers
of its rows, so they are the same however the batch is cut, and when it is run again. They rise: among rows that come
from several places at once, such as the partitions of a topic, the times are in the order of the rows.
"""

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.engine.outages import Unreachable
from aurora.engine.sources.source import Cursor, Piece, Portion, SkippingPiece, Wanted
from aurora.errors import AuroraError

__all__ = ["SEEN", "Growth", "date_rows", "watch_growth"]

# In a cursor: from which row on the rows of the batch before it arrived when, in milliseconds since 1970.
SEEN = "seen"
# Two looks within so many milliseconds are one, and so many times are noted for a batch at most.
APART, MOST = 20, 64
# The thread looks that often, in seconds, and ends after so many in which nobody has asked.
EVERY, FORGOTTEN = 0.05, 600.0


def _now() -> int:
    return time.time_ns() // 1_000_000


class Growth:
    """How far a source went at which time. Places are what its user makes of them; no one may be behind a later one."""

    def __init__(self, clock: Callable[[], int] = _now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._looks: list[tuple[int, Any]] = []
        self._looked = self._asked = time.monotonic()
        self.watched = False

    def __getstate__(self) -> dict[str, Any]:
        """What was seen in one process says nothing in another."""
        return {"_clock": self._clock}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_clock"])  # type: ignore[misc]

    def see(self, place: Any) -> None:
        """Note that the source goes as far as a place by now."""
        now = self._clock()
        with self._lock:
            self._looked = time.monotonic()
            if not self._looks or now - self._looks[-1][0] >= APART:
                if not self._looks or self._looks[-1][1] != place:
                    self._looks.append((now, place))
            else:
                self._looks[-1] = (self._looks[-1][0], place)

    def date(self, start: Cursor, end: Cursor, rows_until: Callable[[Any], int]) -> None:
        """Note in the cursor at the end of a batch when its rows arrived.

        `rows_until` gives how many rows of the batch lie before a place.
        """
        first, number = start["row"], end["row"] - start["row"]
        found: list[list[int]] = []
        with self._lock:
            self._asked = time.monotonic()
            # What lies before the batch will not be asked for again.
            while self._looks and rows_until(self._looks[0][1]) <= 0:
                del self._looks[0]
            least, at = max([0, *(ms for _, ms in start.get(SEEN, ()))]), 0
            for ms, place in self._looks:
                until = min(rows_until(place), number)
                if until > at:
                    least = max(ms, least)
                    found.append([first + at, least])
                    at = until
        if at < number:
            found.append([first + at, max(self._clock(), least)])
        step = -(-len(found) // MOST)
        end[SEEN] = found[::step] if step > 1 else found

    def forget(self) -> None:
        """Begin anew: it is another source by now."""
        with self._lock:
            self._looks.clear()

    @property
    def is_forgotten(self) -> bool:
        return time.monotonic() - self._asked > FORGOTTEN

    @property
    def is_fresh(self) -> bool:
        """Whether somebody has looked just now."""
        return time.monotonic() - self._looked < EVERY


def watch_growth(growth: Growth, look: Callable[[], Any]) -> None:
    """Look at a source also while nobody asks, as long as there is somebody who does at times."""
    if growth.watched:
        return
    growth.watched = True
    known = weakref.ref(growth)
    del growth

    def work() -> None:
        while (seen := known()) is not None:
            if seen.is_forgotten:
                seen.watched = False
                return
            if not seen.is_fresh:
                with suppress(OSError, AuroraError, Unreachable):
                    seen.see(look())
            del seen
            time.sleep(EVERY)

    threading.Thread(target=work, name="watch of growth", daemon=True).start()


@dataclass(frozen=True)
class _DatedRows:
    piece: Piece
    dates: tuple[tuple[int, int], ...]

    def read(self, schema: Schema) -> Portion:
        return self._dated(self.piece.read(schema))

    def _dated(self, portion: Portion) -> Portion:
        rows, times = np.array(self.dates, np.int64).reshape(-1, 2).T
        return replace(portion, arrived=times[np.searchsorted(rows, portion.numbers, "right") - 1])


@dataclass(frozen=True)
class _DatedSkippingRows(_DatedRows):
    piece: SkippingPiece

    def read_some(self, schema: Schema, wanted: Wanted) -> tuple[Portion, int]:
        portion, passed = self.piece.read_some(schema, wanted)
        return self._dated(portion), passed


def date_rows(pieces: list[Piece], end: Cursor) -> list[Piece]:
    """The pieces of a batch that ends at a cursor, with the times that are noted there, if some are."""
    dates = tuple((int(row), int(ms)) for row, ms in end.get(SEEN, ()))
    if not dates:
        return pieces
    return [
        _DatedSkippingRows(piece, dates) if isinstance(piece, SkippingPiece) else _DatedRows(piece, dates)
        for piece in pieces
    ]
