"""What grows too old at points while nothing comes: removed by the clock, in a thread of its own."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from aurora.history.point_sink import SHARE
from aurora.network.points import Point

__all__ = ["Ageing", "does_age"]

# Between two looks, in seconds: as long as a file of the log is in time, but no less and no more than this.
LEAST, MOST = 1.0, 60.0


def does_age(point: Point) -> bool:
    """Whether its tuples grow old while nothing comes: where they are kept by a field, no value passes meanwhile."""
    return point.keep.span is not None and point.on is None


class Ageing:
    """Calls `remove` from time to time, until it is stopped; not at all where nothing grows old."""

    def __init__(self, points: Iterable[Point], remove: Callable[[], None]) -> None:
        spans = [(point.keep.span or 0) / 1000 for point in points if does_age(point)]
        self._every = min(max(min(spans, default=0.0) / SHARE, LEAST), MOST)
        self._remove = remove
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if spans:
            self._thread = threading.Thread(target=self._work, name="ageing", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while not self._over.wait(self._every):
            # What cannot be removed now, on a disk that is away say, is removed later.
            with suppress(OSError):
                self._remove()

    def stop(self) -> None:
        """Returns when nothing is under way any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
