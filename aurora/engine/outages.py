"""Servers that may be away for a while: a run waits for them, tells so, and goes on when they are back."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from aurora.engine.sinks.sink import Interrupted
from aurora.errors import AuroraError

__all__ = [
    "PATIENCE",
    "PAUSE",
    "Persistence",
    "ServerWatch",
    "Unreachable",
    "stop_waiting_at",
    "try_patiently",
]

Found = TypeVar("Found")
# A server that does not answer when a run starts is waited for so long, in seconds; and between two tries.
PATIENCE, PAUSE = 30.0, 0.25
# Who waits for longer than this hears of it; and so often it is seen whether the run is to stop.
SILENCE, GLANCE = 2.0, 0.1
# A watch asks once in so many seconds; so many questions without an answer are an outage.
EVERY, MISSED = 1.0, 2


class Unreachable(Exception):
    """The server does not answer, or not yet; it may later."""


_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


@contextmanager
def stop_waiting_at(stop: threading.Event | None) -> Iterator[None]:
    """Inside, a start that waits for a server gives up once the event is set."""
    before = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(before)


def try_patiently(what: str, server: str, step: Callable[[], Found]) -> Found:
    """When a run starts: waits a while for a server that is about to start. `what` is the source or sink in words."""
    waiting = _Waiting(what, server)
    while True:
        try:
            found = waiting.do(step)
        except Unreachable as fault:
            waiting.rest(str(fault))
        else:
            waiting.end()
            return found


class _Waiting:
    """For a server when a run starts: tells of it, and ends when the run is to stop, also in the middle of a step."""

    def __init__(self, what: str, server: str) -> None:
        self._what = what
        self._server = server
        self._since = time.monotonic()
        self._told = False

    def do(self, step: Callable[[], Found]) -> Found:
        """A client that asks a server cannot be interrupted, so it asks in a thread of its own."""
        done: queue.SimpleQueue[tuple[list[Found], BaseException | None]] = queue.SimpleQueue()

        def work() -> None:
            try:
                done.put(([step()], None))
            except BaseException as fault:
                done.put(([], fault))

        threading.Thread(target=work, name=f"start with {self._server}", daemon=True).start()
        while True:
            try:
                found, fault = done.get(timeout=GLANCE)
            except queue.Empty:
                self._look("")
                continue
            if fault is not None:
                raise fault
            return found[0]

    def rest(self, fault: str) -> None:
        """Until the next try; the last one was long enough ago once the patience is at its end."""
        if time.monotonic() - self._since > PATIENCE:
            raise AuroraError(
                f"{self._what}: {self._server} does not answer: {fault}; start it, or check the address"
            ) from None
        self._look(fault)
        stop = _stop.get()
        if stop is None:
            time.sleep(PAUSE)
        else:
            stop.wait(PAUSE)

    def end(self) -> None:
        if self._told:
            self._tell("answers; the run starts")

    def _look(self, fault: str) -> None:
        stop = _stop.get()
        if stop is not None and stop.is_set():
            raise Interrupted(f"{self._what}: the run was stopped while it waited for {self._server}")
        if not self._told and time.monotonic() - self._since > SILENCE:
            self._told = True
            reason = f" ({fault})" if fault else ""
            self._tell(f"does not answer{reason}; the run waits for it, up to {PATIENCE:.0f} s")

    def _tell(self, text: str) -> None:
        logging.getLogger("aurora").warning(f"{self._what}: {self._server} {text}")


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
        faults = 0
        while True:
            try:
                found = step()
                break
            except Unreachable as fault:
                faults += 1
                if faults == self._passed + 1:
                    self._tell(f"does not take rows ({fault}); the run waits for it")
            if faults > self._passed and self._stopped.wait(PAUSE):
                raise Interrupted(f"{self._what}: the run was stopped while it waited for {self._server}")
        if faults > self._passed:
            self._tell("takes rows again; the run continues")
        return found

    def _tell(self, text: str) -> None:
        logging.getLogger("aurora").warning(f"{self._what}: {self._server} {text}")


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
        missed = 0
        try:
            while not self._stopped.wait(EVERY):
                try:
                    self._ask()
                except Unreachable as fault:
                    missed += 1
                    if missed == MISSED:
                        self._tell(f"does not answer ({fault}); the run waits for it")
                    continue
                except AuroraError:
                    return  # The run itself comes upon it, and tells.
                if missed >= MISSED:
                    self._tell("answers again; the run continues")
                missed = 0
        finally:
            self._close()

    def _tell(self, text: str) -> None:
        logging.getLogger("aurora").warning(f"input {self._input}: {self._server} {text}")

    def stop(self) -> None:
        self._stopped.set()
