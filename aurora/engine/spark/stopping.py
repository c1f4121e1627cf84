"""How a query stops without a word: between two batches if it can, and with a fault that Spark takes for its own."""

import threading
import time
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

__all__ = ["Stopping"]

# Between two looks at a query, in seconds.
LOOK = 0.02
# How long a batch that is left waits for Spark to know that its query is being stopped, in seconds.
PATIENCE = 10.0
IDLE = "Waiting for data to arrive"
PROCESSING = "Processing new data"
# Spark looks for this in the text of a fault that comes from Python, by a pattern that recurses with every character:
# the trace of a job that was cancelled is so long that Java's stack overflows.
INTERRUPTION = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling o0.stop: java.lang.InterruptedException"
)
FAULTS = (PySparkException, Py4JError, OSError)


class _Left(Exception):
    """What a batch ends with that is left to the next run; its text is for Spark."""


class Stopping:
    """The end of one query, as its batches and whoever stops it see it.

    A batch that is left must end with `leave`: any other fault while its query is stopped is an error to Spark, which
    writes it into the log.
    """

    def __init__(self) -> None:
        self._reached = threading.Event()

    def leave(self, query: StreamingQuery | None) -> Exception:
        """Return what a batch is to raise, `from None`, as soon as Spark knows that its query is being stopped."""
        self._reached.set()
        until = time.monotonic() + PATIENCE
        while query is not None and _is_active(query) and time.monotonic() < until:
            time.sleep(LOOK)
        return _Left(INTERRUPTION)

    def stop(self, query: StreamingQuery, patience: float = 0.0, planning: float = 0.0) -> None:
        """Stop a query whose next batch will be left; for so many seconds, let the one under way end before.

        A batch that is interrupted disturbs much: tasks and their workers are killed, files are left half-written, and
        Spark tells each of that. `planning` is the patience with a query that has its offsets, if that is longer.
        """
        begin, longest = time.monotonic(), max(patience, planning)
        while time.monotonic() < begin + longest and not self._reached.is_set():
            message = _find_work(query)
            if message is None:
                break
            longest = max(patience, planning) if message == PROCESSING else patience
            self._reached.wait(LOOK)
        query.stop()


def _is_active(query: StreamingQuery) -> bool:
    with suppress(*FAULTS):
        return bool(query.isActive)
    return False


def _find_work(query: StreamingQuery) -> str | None:
    """Return what a query says that it is doing, None if it is idle or gone."""
    with suppress(*FAULTS):
        message = str(query.status["message"])
        return message if query.isActive and message != IDLE else None
    return None
