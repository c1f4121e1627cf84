"""What a run waits for outside of itself: told once in the log after a while, and listed in `aurora status`."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["QUIET", "Waiting", "Waits", "waits"]

# Who waits for longer than this hears of it, in seconds.
QUIET = 5.0
# Calls something in so many seconds; what it returns calls that off.
Alarm = Callable[[float, Callable[[], None]], Callable[[], None]]


@dataclass
class Waiting:
    """One wait: what is wrong outside, how the run goes about it, and since when, in seconds since 1970."""

    what: str
    how: str
    since: float
    told: bool = False

    def change(self, what: str) -> None:
        """Say from now on something else of the same wait."""
        self.what = what


class Waits:
    """All waits of this process. Only those that last are told and listed."""

    def __init__(self, clock: Callable[[], float] = time.time, alarm: Alarm | None = None) -> None:
        self._clock = clock
        self._alarm = alarm or _ring
        self._lock = threading.Lock()
        self._open: dict[int, tuple[Waiting, Callable[[], None]]] = {}

    def begin(self, what: str, how: str = "the run waits for it", since: float | None = None) -> Waiting:
        """Note a wait, which may have begun before; end it with `end`."""
        now = self._clock()
        wait = Waiting(what, how, now if since is None else since)
        left = wait.since + QUIET - now
        with self._lock:
            self._open[id(wait)] = (wait, self._alarm(max(left, 0.0), lambda: self._tell(wait)))
        if left <= 0:
            self._tell(wait)
        return wait

    def end(self, wait: Waiting, back: str = "") -> None:
        """Forget a wait; `back` goes to the log if the wait was told there."""
        with self._lock:
            _, call_off = self._open.pop(id(wait), (wait, lambda: None))
            told = wait.told
        call_off()
        if told and back:
            logging.getLogger("aurora").warning(back)

    @contextmanager
    def waiting(self, what: str, how: str = "the run waits for it", back: str = "") -> Iterator[Waiting]:
        """Note a wait for as long as the block runs; `back` is told if it ended well."""
        wait = self.begin(what, how)
        try:
            yield wait
        except BaseException:
            self.end(wait)
            raise
        self.end(wait, back)

    def lasting(self, seconds: float = QUIET) -> list[Waiting]:
        """Return the waits that have lasted for so long, the oldest first."""
        now = self._clock()
        with self._lock:
            found = [wait for wait, _ in self._open.values() if now - wait.since >= seconds]
        return sorted(found, key=lambda wait: wait.since)

    def _tell(self, wait: Waiting) -> None:
        with self._lock:
            if wait.told or id(wait) not in self._open:
                return
            wait.told = True
        logging.getLogger("aurora").warning(f"{wait.what}; {wait.how}")


def _ring(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.name = "tells of a wait"
    timer.start()
    return timer.cancel


waits = Waits()
