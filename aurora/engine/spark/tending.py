"""A network whose output is a DataFrame: its reader lives in a process of Spark's, and what feeds its sources here.

They meet in the folder of the checkpoint. A reader holds a lock there while it reads, so that a second query cannot;
the tender sees the lock, starts the feeds, and tells the reader when all that there was to fetch is there.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from aurora.engine.durable import read_json, replace_note
from aurora.engine.locks import Locks, find_holder, is_held
from aurora.engine.sources.source import Feed, catch_up
from aurora.engine.spark.scratch import remove_scratch
from aurora.engine.spark.session import java_ended
from aurora.errors import AuroraError

__all__ = ["READER", "READY", "Tender", "Visit"]

READER, READY = "reader", "ready"
# Between two looks of either side, in seconds; and how long the process of a query that has ended may take to go.
LOOK = 0.05
PATIENCE = 3.0


class Visit:
    """The side of the reader: from its first question to the end of its query."""

    def __init__(self, folder: str, tender: str) -> None:
        self._folder, self._tender = Path(folder), Path(tender)
        self._locks = Locks()

    def enter(self) -> None:
        """Returns when the sources are fed; raises a fault if they cannot be, or if another query reads them."""
        if self._locks.held:
            return
        _wait_for_none(self._folder / READER)
        self._locks.take(f"the checkpoint {self._folder} of this DataFrame", self._folder / READER)
        while True:
            with suppress(FileNotFoundError):
                said = read_json(self._folder / READY)
                if said["reader"] == os.getpid():
                    break
            if not is_held(self._tender):
                raise AuroraError(
                    f"nothing feeds {self._folder} any more: make the DataFrame again with to_dataframe"
                )
            time.sleep(LOOK)
        if said["fault"]:
            raise AuroraError(said["fault"])

    def leave(self) -> None:
        self._locks.release()


class Tender(threading.Thread):
    """The side of the session: works while a query reads, and rests between two of them, until Spark is stopped."""

    def __init__(
        self, spark: SparkSession, folder: Path, scratch: str, feeds: Callable[[], list[Feed]], locks: Locks
    ) -> None:
        super().__init__(name=f"tender of {folder}", daemon=True)
        self._spark, self._folder, self._scratch = spark, folder, scratch
        self._feeds, self._locks = feeds, locks
        self._closed = threading.Event()

    def run(self) -> None:
        try:
            while not self._over():
                reader = self._reader()
                if reader is not None:
                    self._serve(reader)
                self._closed.wait(LOOK)
        finally:
            self._locks.release()

    def close(self) -> None:
        """For whoever takes its place; a query that reads must have ended."""
        if _wait_for_none(self._folder / READER) is not None:
            raise AuroraError(
                f"a query reads the DataFrame of {self._folder} still: stop it, or name another checkpoint"
            )
        self._closed.set()
        self.join()

    def _reader(self) -> int | None:
        return find_holder(self._folder / READER)

    def _over(self) -> bool:
        return self._closed.is_set() or self._spark.sparkContext._jsc is None or java_ended()

    def _serve(self, reader: int) -> None:
        connected: list[Feed] = []
        fault: str | None = None
        try:
            for feed in self._feeds():
                feed.connect()
                connected.append(feed)
            for feed in connected:
                catch_up(feed)
        except AuroraError as error:
            fault = str(error)
        except Exception as error:
            fault = f"the sources cannot be fed: {type(error).__name__}: {' '.join(str(error).split())}"
        replace_note(self._folder / READY, json.dumps({"reader": reader, "fault": fault}))
        while self._reader() == reader and not self._over():
            self._closed.wait(LOOK)
        for feed in connected:
            feed.stop()
        (self._folder / READY).unlink(missing_ok=True)
        remove_scratch(self._spark, self._scratch)


def _wait_for_none(lock: Path) -> int | None:
    """Who still has the lock when patience ends."""
    deadline = time.monotonic() + PATIENCE
    while (holder := find_holder(lock)) is not None and time.monotonic() < deadline:
        time.sleep(LOOK)
    return holder
