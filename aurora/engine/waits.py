"""What a run waits for outside of itself: told once in the log after a while, and listed in `aurora status`.

Whoever waits says so in its own process, with `waits`. Spark's Python workers leave notes in a folder of the run, where
`NotesWatch` finds them; those of other machines stay unseen. A run that starts leaves notes in its home, for it answers
nobody yet.
"""

import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from aurora.engine.private import is_private, make_private

__all__ = ["HOW", "QUIET", "NotesWatch", "Waiting", "Waits", "read_waits", "waits"]

# Who waits for longer than this hears of it, in seconds.
QUIET = 5.0
# Calls something in so many seconds; what it returns calls that off.
Alarm = Callable[[float, Callable[[], None]], Callable[[], None]]
HOW = "the run waits for it"
NOTE = "wait-"
# Notes are looked for once in so many seconds.
EVERY = 1.0


@dataclass
class Waiting:
    """One wait: what is wrong outside, how the run goes about it, and since when, in seconds since 1970."""

    what: str
    how: str
    since: float
    # Whether the log is told of this only the first time; and what waits: a wait within this one says more.
    once: bool = False
    owner: object = None
    told: bool = False
    note: Path | None = None


class Waits:
    """All waits of this process. Only those that last are told and listed."""

    def __init__(
        self, clock: Callable[[], float] = time.time, alarm: Alarm | None = None, quiet: float = QUIET
    ) -> None:
        self._clock = clock
        self._alarm = alarm or _ring
        self.quiet = quiet
        self._lock = threading.RLock()
        self._open: dict[int, tuple[Waiting, Callable[[], None]]] = {}
        self._known: set[str] = set()
        self._folder: str | None = None
        self._logs = True

    def now(self) -> float:
        """Return the time that waits are measured by."""
        return self._clock()

    def note_in(self, folder: str | None) -> None:
        """Leave notes in a folder from now on, instead of telling the log, which nobody reads in a worker."""
        self._folder, self._logs = folder, folder is None

    @contextmanager
    def noted_in(self, folder: str) -> Iterator[None]:
        """Leave notes in a folder as long as the block runs, and tell the log, too."""
        self._folder = folder
        try:
            yield
        finally:
            self._folder = None
            with suppress(OSError):
                os.rmdir(folder)

    def begin(
        self, what: str, how: str = HOW, since: float | None = None, once: bool = False, owner: object = None
    ) -> Waiting:
        """Note a wait, which may have begun before; end it with `end`. By default its owner is this thread."""
        now = self._clock()
        waiting = Waiting(what, how, now if since is None else since, once, owner or threading.get_ident())
        left = waiting.since + self.quiet - now
        with self._lock:
            self._open[id(waiting)] = (waiting, lambda: None)
            if left > 0:
                self._open[id(waiting)] = (waiting, self._alarm(left, lambda: self._tell(waiting)))
        if left <= 0:
            self._tell(waiting)
        return waiting

    def change(self, waiting: Waiting, what: str) -> None:
        """Say something else of a wait from now on; the log is not told again."""
        with self._lock:
            waiting.what = what
            if waiting.note is not None:
                self._write(waiting)

    def end(self, waiting: Waiting, back: str = "") -> None:
        """Forget a wait; `back` goes to the log if the wait was told there."""
        with self._lock:
            _, call_off = self._open.pop(id(waiting), (waiting, lambda: None))
            told = waiting.told
            if waiting.note is not None:
                with suppress(OSError):
                    waiting.note.unlink()
        call_off()
        if told and back:
            logging.getLogger("aurora").warning(back)

    @contextmanager
    def waiting(self, what: str, how: str = HOW, back: str = "", once: bool = False) -> Iterator[Waiting]:
        """Note a wait for as long as the block runs; `back` is told if it ended well."""
        waiting = self.begin(what, how, once=once)
        try:
            yield waiting
        except BaseException:
            self.end(waiting)
            raise
        self.end(waiting, back)

    def lasting(self, seconds: float | None = None) -> list[Waiting]:
        """Return the waits that have lasted for so long, or long enough to be told, the oldest first."""
        now, least = self._clock(), self.quiet if seconds is None else seconds
        with self._lock:
            found = [waiting for waiting, _ in self._open.values() if now - waiting.since >= least]
            found = [waiting for waiting in found if not self._is_covered(waiting)]
        return sorted(found, key=lambda waiting: waiting.since)

    def _is_covered(self, waiting: Waiting) -> bool:
        others = (other for other, _ in self._open.values() if other is not waiting)
        return waiting.once and any(other.owner == waiting.owner for other in others)

    def _tell(self, waiting: Waiting) -> None:
        with self._lock:
            if waiting.told or id(waiting) not in self._open or self._is_covered(waiting):
                return
            if self._folder is not None:
                waiting.note = Path(self._folder, f"{NOTE}{os.getpid()}-{uuid.uuid4().hex}")
                self._write(waiting)
            if not self._logs:
                return
            if waiting.once and waiting.what in self._known:
                return
            self._known.add(waiting.what)
            waiting.told = True
            text = f"{waiting.what}; {waiting.how}"
        logging.getLogger("aurora").warning(text)

    def _write(self, waiting: Waiting) -> None:
        assert waiting.note is not None
        words = {"what": waiting.what, "how": waiting.how, "since": waiting.since, "once": waiting.once}
        with suppress(OSError):
            if make_private(waiting.note.parent):
                waiting.note.write_text(json.dumps(words), encoding="utf-8")


class NotesWatch(threading.Thread):
    """A thread that takes over what workers of a run note in its folder, and forgets it with them."""

    def __init__(self, folder: str, into: Waits) -> None:
        super().__init__(name="watch of waits", daemon=True)
        self._folder = folder
        self._into = into
        self._stopped = threading.Event()
        self._found: dict[Path, Waiting] = {}

    def run(self) -> None:
        while not self._stopped.wait(EVERY):
            self.look()

    def look(self) -> None:
        """Take over the notes of now."""
        there = read_waits(self._folder)
        for note, told in there.items():
            if note not in self._found:
                self._found[note] = self._into.begin(told.what, told.how, told.since, told.once, owner=note)
            self._into.change(self._found[note], told.what)
        for note in self._found.keys() - there.keys():
            self._into.end(self._found.pop(note))

    def stop(self) -> None:
        self._stopped.set()
        if self.is_alive():
            # A look that is under way would note waits that nobody ends.
            self.join()
        for waiting in self._found.values():
            self._into.end(waiting)
        self._found.clear()


def read_waits(folder: str) -> dict[Path, Waiting]:
    """Return the waits that processes which live have noted in a folder, by their notes."""
    found: dict[Path, Waiting] = {}
    for note in Path(folder).glob(f"{NOTE}*") if is_private(folder) else ():
        try:
            words = json.loads(note.read_text(encoding="utf-8"))
            what, how = str(words["what"]), str(words["how"])
            since, once = float(words["since"]), bool(words["once"])
        except (OSError, ValueError, KeyError, TypeError):
            # It is being written, or is gone by now.
            continue
        if _lives(int(note.name.split("-")[1])):
            found[note] = Waiting(what, how, since, once)
    return found


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _ring(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.name = "tells of a wait"
    timer.start()
    return timer.cancel


waits = Waits()
