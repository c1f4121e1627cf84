"""A run that is paused behind a batch, however late the test gets to say so."""

import threading
from collections.abc import Callable

from aurora import Running
from aurora.engine.spark_run import SparkRun
from aurora.engine.statistics import BatchReport

__all__ = ["Brake"]

PATIENCE = 300.0


class Brake:
    """The watch of a run that is to stand still behind a batch.

    A pause that is asked for after a start, or after the report of a batch, comes behind as many batches as were made
    meanwhile: on a busy machine, all. Here that batch does not end before the pause is ordered.
    """

    def __init__(self, batch: int = 0, watch: Callable[[BatchReport], None] = lambda report: None) -> None:
        self._batch = batch
        self._watch = watch
        self._reached, self._ordered = threading.Event(), threading.Event()

    def __call__(self, report: BatchReport) -> None:
        self._watch(report)
        if report.batch == self._batch:
            self._reached.set()
            assert self._ordered.wait(PATIENCE)

    def pull(self, running: Running | SparkRun) -> None:
        """Return when the run stands still behind the batch."""
        run = running._main if isinstance(running, Running) else running
        try:
            while not self._reached.wait(0.02):
                assert run.state == "running"
            # The batch waits for this, so this does not wait for the batch.
            run.pause(wait=False)
        finally:
            self._ordered.set()
        run.pause()
