"""Ctrl-C, the same in all commands: the first ends a run with what it has to tell, the second ends at once."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

__all__ = ["close_output", "stoppable"]

INTERRUPTED, PIPE_CLOSED = 130, 141


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets, so that a run can end in order; the second ends the process."""
    stop = threading.Event()
    asked = False

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            _end()
        asked = True
        stop.set()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def close_output() -> int:
    """Nobody reads what is printed any more: the rest goes nowhere. Gives the status of a closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return PIPE_CLOSED


def _end() -> NoReturn:
    # Java ends by itself when this process does. A bar may have hidden the cursor.
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    os.write(2, f"{cursor}\nstopped at once\n".encode() if cursor else b"stopped at once\n")
    os._exit(INTERRUPTED)
