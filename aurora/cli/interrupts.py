"""Ctrl-C and SIGTERM, the same in all commands: the first ends a run with what it has to tell, the second at once."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from aurora.cli.telling import format_line, tell

__all__ = ["Stopping", "close_output", "leaving_in_order", "stoppable"]

INTERRUPTED, PIPE_CLOSED = 130, 141
# How long a run that has not begun yet may take to end in order, in seconds: nothing interrupts Java while it starts.
START = 2.0
# How long a Java that a signal ends may take to be gone, in seconds.
PATIENCE = 5.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping(threading.Event):
    """Set when somebody wants the command to end; `status` is the one that it then ends with."""

    status = INTERRUPTED
    # Where the last line goes: while Java starts, its log has the place of stderr.
    channel = 2


@contextmanager
def stoppable() -> Iterator[Stopping]:
    """An event that the first Ctrl-C or SIGTERM sets, so that a run can end in order; the second ends the process."""
    stop = Stopping()
    stop.channel = os.dup(2)
    asked = False

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        # As shells tell it, of a process that a signal has ended.
        stop.status = 128 + number
        if asked:
            _end(stop)
        asked = True
        stop.set()
        watchdog = threading.Timer(START, _end_start, [stop])
        watchdog.daemon = True
        watchdog.start()

    before = [(number, signal.signal(number, interrupted)) for number in SIGNALS]
    try:
        yield stop
    except typer.Exit:
        raise
    except Exception:
        if not stop.is_set() or _spark_runs():
            raise
        # The signal went to the whole group, and ended Spark's processes as well: nothing else is wrong.
        tell("stopped", "stopped")
        raise typer.Exit(stop.status) from None
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        channel, stop.channel = stop.channel, 2
        os.close(channel)


@contextmanager
def leaving_in_order() -> Iterator[None]:
    """SIGTERM ends what is inside as an exception does, so that temporary files are removed."""

    def terminated(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def close_output() -> int:
    """Nobody reads what is printed any more: the rest goes nowhere. Gives the status of a closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return PIPE_CLOSED


def _spark_runs() -> bool:
    from pyspark import SparkContext

    from aurora.engine.spark.session import java_ended

    return SparkContext._gateway is not None and not java_ended(PATIENCE)


def _end_start(stop: Stopping) -> None:
    """End the process if its run has still not begun: nothing is lost that a kill would not leave in order, too."""
    from aurora.engine.outages import is_starting

    if is_starting(stop):
        _end(stop, "stopped while the run started: the same command starts it again")


def _end(stop: Stopping, text: str = "stopped at once") -> NoReturn:
    # Java ends by itself when this process does. A bar may have hidden the cursor.
    cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""
    os.write(stop.channel, f"{cursor}{format_line(text, 'stopped')}\n".encode())
    os._exit(stop.status)
