"""What the transactions of a sink have left in its topic: the last row of each says how many rows there are by then."""

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.piece import Range, Reader
from aurora.engine.kafka.topic import EARLIEST, LATEST, Topic
from aurora.errors import AuroraError

__all__ = ["HEADER", "Trace", "Tracer"]

HEADER = "aurora"
# Transactions of others that are open hide what is behind them; the broker ends them after a while. In seconds.
PATIENCE = 900.0
# After so many the wait is told.
QUIET = 5.0


@dataclass(frozen=True)
class Trace:
    """The rows of a sink so far, and a mark of those since its note."""

    id: str
    rows: int
    mark: int

    def header(self) -> tuple[str, bytes]:
        return HEADER, f"{self.id} {self.rows} {self.mark}".encode()

    @staticmethod
    def read(headers: list[tuple[str, bytes | None]] | None) -> "Trace | None":
        for name, value in headers or ():
            words = (value or b"").decode("utf-8", "replace").split(" ")
            if name == HEADER and len(words) == 3:
                return Trace(words[0], int(words[1]), int(words[2]))
        return None


class Tracer:
    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._committed = Topic(address)
        own = tuple(each for each in address.settings if each[0] != "isolation.level")
        self._all = Topic(replace(address, settings=(*own, ("isolation.level", "read_uncommitted"))))

    def ends(self) -> dict[str, int]:
        """Where the partitions end by now: what is written from now on is behind that."""
        return {str(number): end for number, end in self._ends(self._committed).items()}

    def _ends(self, topic: Topic) -> dict[int, int]:
        return topic.offsets(topic.partitions(), LATEST)

    def find(self, id: str, since: dict[str, int]) -> Trace | None:
        """The last trace of this id behind given offsets. No transaction of that id may be open."""
        self._wait_for_open_transactions(wanted := self._ends(self._all))
        first = self._committed.offsets(list(wanted), EARLIEST)
        reader = Reader(self._address)
        found: list[Trace] = []
        for number, stop in wanted.items():
            start = max(since.get(str(number), 0), first[number])
            if start < stop:
                for traces in reader.take(Range(number, start, stop, 0), _traces):
                    found += [trace for trace in traces if trace.id == id]
        return max(found, key=lambda trace: trace.rows, default=None)

    def _wait_for_open_transactions(self, wanted: dict[int, int]) -> None:
        began, told = time.monotonic(), False
        while any(self._ends(self._committed)[number] < end for number, end in wanted.items()):
            waited = time.monotonic() - began
            if waited > PATIENCE:
                raise AuroraError(
                    f"{self._address.label}: a transaction in this topic does not end; find it with "
                    "kafka-transactions.sh find-hanging, abort it, and give the same command again"
                )
            if waited > QUIET and not told:
                told = True
                logging.getLogger("aurora").warning(
                    f"{self._address.label}: a transaction in this topic is open; waiting until the broker ends it"
                )
            time.sleep(0.05)

    def check(self) -> None:
        """Raises a fault unless the topic is there, and `Unreachable` if nobody answers."""
        self._committed.partitions()


def _traces(messages: list[Any], offsets: object) -> list[Trace]:
    read = (Trace.read(each.headers()) for each in messages)
    return [trace for trace in read if trace is not None]
