"""What whoever holds a run wants of its next batches: written down for the source, which says when it has seen it."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aurora.engine.controls import ControlNotes, Controls
from aurora.errors import AuroraError

__all__ = ["Steering"]

# Between two looks for an answer, in seconds.
LOOK = 0.01


class Steering:
    """Whoever holds it in a `with` block is the only one to change controls meanwhile.

    `going` says whether the run still makes batches.
    """

    def __init__(self, folder: str, going: Callable[[], bool]) -> None:
        self._notes = ControlNotes(folder)
        self._going = going
        self._lock = threading.RLock()
        self._number = 0
        self._controls = Controls()

    @property
    def controls(self) -> Controls:
        """Those that were set last."""
        return self._controls

    def begin(self) -> None:
        """Forgets what an earlier run was told."""
        self._notes.begin()

    def __enter__(self) -> "Steering":
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def change(self, **changes: Any) -> None:
        """From the next batch on; a fault where there will be none."""
        with self:
            if not self._going():
                raise AuroraError("the run has ended: it cannot be paused, stepped or changed any more")
            self._number += 1
            changed = replace(self._controls, **changes)
            self._notes.order(self._number, changed)
            self._controls = changed

    def change_while_going(self, **changes: Any) -> None:
        """The same, unless it is so already or the run has ended."""
        with self:
            if not self._is_so(changes) and self._going():
                self.change(**changes)

    def change_if_free(self, **changes: Any) -> bool:
        """The same from within a batch, and whether it is so now: who changes something else at this moment goes first,
        for it may wait for the batch that calls this."""
        if self._is_so(changes):
            return True
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self.change_while_going(**changes)
            return True
        finally:
            self._lock.release()

    def _is_so(self, changes: dict[str, Any]) -> bool:
        return all(getattr(self._controls, name) == value for name, value in changes.items())

    def wait_for_answer(self, ended: threading.Event) -> int | None:
        """How many batches had been made when the source saw the last change; None if the run ends before it does."""
        while self._going():
            number, made = self._notes.last_answer()
            if number >= self._number:
                return made
            ended.wait(LOOK)
        return None
