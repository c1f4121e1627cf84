"""Servers that may be away for a while: a run waits for them, tells so, and goes on when they are back."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from aurora.engine.sinks.sink import Interrupted
from aurora.engine.waits import HOW, Waiting, waits
from aurora.errors import AuroraError

__all__ = [
    "PATIENCE",
    "PAUSE",
    "Persistence",
    "ServerWatch",
    "Unreachable",
    "is_starting",
    "is_stopped",
    "stop_waiting_at",
    "try_patiently",
]

Found = TypeVar("Found")
# A server that does not answer when a run starts is waited for so long, in seconds; and between two tries.
PATIENCE, PAUSE = 30.0, 0.25
# So often it is seen whether the run is to stop; and a watch asks once in so many seconds.
GLANCE, EVERY = 0.1, 1.0


class Unreachable(Exception):
    """The server does not answer, or not yet; it may later."""


_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)
# Those of all starts that are under way in this process.
_starting: list[threading.Event | None] = []


@contextmanager
def stop_waiting_at(stop: threading.Event | None) -> Iterator[None]:
    """Inside, a start that waits for a server gives up once the event is set."""
    before = _stop.set(stop)
    _starting.append(stop)
    try:
        yield
    finally:
        _starting.remove(stop)
        _stop.reset(before)


def is_starting(stop: threading.Event) -> bool:
    """Return whether a start, in any thread, gives up once this event is set."""
    return stop in _starting


def is_stopped() -> bool:
    """Whether a start is to give up."""
    stop = _stop.get()
    return stop is not None and stop.is_set()


def try_patiently(what: str, server: str, step: Callable[[], Found]) -> Found:
    """When a run starts: waits a while for a server that is about to start. `what` is the source or sink in words."""
    began = time.monotonic()
    away = f"{what}: {server} does not answer"
    with waits.waiting(
        away, f"{HOW}, up to {PATIENCE:.0f} s", f"{what}: {server} answers; the run starts"
    ) as waiting:
        while True:
            try:
                return _do(step, what, server)
            except Unreachable as fault:
                # The last try was long enough ago once the patience is at its end.
                if time.monotonic() - began > PATIENCE:
                    raise AuroraError(f"{away}: {fault}; start it, or check the address") from None
                waits.change(waiting, f"{away} ({fault})")
            _check_stop(what, server)
            stop = _stop.get()
            if stop is None:
                time.sleep(PAUSE)
            else:
                stop.wait(PAUSE)


def _do(step: Callable[[], Found], what: str, server: str) -> Found:
    """Does a step in a thread of its own, for a client that asks a server cannot be interrupted; a stop can."""
    done: queue.SimpleQueue[tuple[list[Found], BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put(([step()], None))
        except BaseException as fault:
            done.put(([], fault))

    threading.Thread(target=work, name=f"start with {server}", daemon=True).start()
    while True:
        try:
            found, fault = done.get(timeout=GLANCE)
        except queue.Empty:
            _check_stop(what, server)
            continue
        if fault is not None:
            raise fault
        return found[0]


def _check_stop(what: str, server: str) -> None:
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise Interrupted(f"{what}: the run was stopped while it waited for {server}")


class Persistence:
    """Does steps of a sink until they succeed, for as long as it takes, or until the run is to stop.

    So many faults in a row are `passed` over in silence: the first may be a connection that was cut long ago.
    """

    def __init__(self, what: str, server: str, passed: int = 1) -> None:
        self._what = what
        self._server = server
        self._passed = passed
        self._stopped = threading.Event()

    @property
    def stopped(self) -> threading.Event:
        """Set once whoever waits is to give up."""
        return self._stopped

    def interrupt(self) -> None:
        """From another thread: whoever waits gives up."""
        self._stopped.set()

    def repeat(self, step: Callable[[], Found]) -> Found:
        """A step that fails raises `Unreachable` if another try may help; it then begins anew."""
        since, faults = waits.now(), 0
        # A lock there, or much to write: the client cannot tell these from a server that is away.
        waiting = waits.begin(
            f"{self._what}: {self._server} has not taken the rows of a batch yet", since=since, once=True
        )
        try:
            while True:
                try:
                    found = step()
                    break
                except Unreachable as fault:
                    faults += 1
                    if faults > self._passed:
                        away = f"{self._what}: {self._server} does not take rows ({fault})"
                        if faults == self._passed + 1:
                            waits.end(waiting)
                            waiting = waits.begin(away, since=since)
                        waits.change(waiting, away)
                if faults > self._passed and self._stopped.wait(PAUSE):
                    raise Interrupted(f"{self._what}: the run was stopped while it waited for {self._server}")
        except BaseException:
            waits.end(waiting)
            raise
        again = f"{self._what}: {self._server} takes rows again; the run continues"
        waits.end(waiting, again if faults > self._passed else "")
        return found


class ServerWatch(threading.Thread):
    """A thread that tells when a server does not answer, and when it does again; whoever reads waits meanwhile.

    `ask` raises `Unreachable` if there is no answer. It is called in that thread alone, and `close` at the end.
    """

    once = False

    def __init__(
        self, name: str, server: str, ask: Callable[[], object], close: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(name=f"watch of {server}", daemon=True)
        self._input = name
        self._server = server
        self._ask = ask
        self._close = close
        self._stopped = threading.Event()

    def connect(self) -> None:
        self.start()

    def run(self) -> None:
        waiting: Waiting | None = None
        away = f"input {self._input}: {self._server} does not answer"
        again = f"input {self._input}: {self._server} answers again; the run continues"
        try:
            while not self._stopped.wait(EVERY):
                asked = waits.now()
                try:
                    self._ask()
                except Unreachable as fault:
                    waiting = waiting or waits.begin(f"{away} ({fault})", since=asked)
                    waits.change(waiting, f"{away} ({fault})")
                    continue
                except AuroraError:
                    return  # The run itself comes upon it, and tells.
                if waiting is not None:
                    waits.end(waiting, again)
                    waiting = None
        finally:
            if waiting is not None:
                waits.end(waiting)
            self._close()

    def stop(self) -> None:
        self._stopped.set()
