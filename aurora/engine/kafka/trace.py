"""What the transactions of a sink have left in its topic: how many rows there are in each partition by now."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.client import within
from aurora.engine.kafka.piece import Range, Reader
from aurora.engine.kafka.topic import EARLIEST, LATEST, Topic
from aurora.engine.outages import Unreachable
from aurora.engine.sinks.sink import Interrupted
from aurora.engine.waits import waits
from aurora.errors import AuroraError

__all__ = ["HEADER", "Start", "Trace", "Tracer"]

HEADER = "aurora"
# Transactions of others that are open hide what is behind them; the broker ends them after a while. In seconds.
PATIENCE = 900.0
# A transaction that the broker has committed, and one that is aborted here, has its marks after so many seconds.
SOON = 10.0
# What partitions there are is not asked again for so many seconds.
PARTITIONS_AGE = 1.0
# Between two questions about that, in seconds.
PAUSE = 0.02
# Reading one record takes less than this, in seconds.
LONGEST = 12.0


@dataclass(frozen=True)
class Start:
    """The header of the first row of a transaction in a partition: it follows so many rows of the sink."""

    id: str
    rows: int

    def header(self) -> tuple[str, bytes]:
        return HEADER, f"{self.id} {self.rows}".encode()


@dataclass(frozen=True)
class Trace:
    """The header of the last row of a transaction in a partition.

    The partition then has what belongs there of so many `rows` of the sink; `mark` is of those since its note.
    """

    id: str
    rows: int
    mark: int

    def header(self) -> tuple[str, bytes]:
        return HEADER, f"{self.id} {self.rows} {self.mark}".encode()


class Tracer:
    def __init__(self, what: str, address: KafkaAddress, stopped: threading.Event) -> None:
        self._what = what
        self._address = address
        self._stopped = stopped
        self._committed = Topic(address)
        own = tuple(each for each in address.settings if each[0] != "isolation.level")
        self._open = replace(address, settings=(*own, ("isolation.level", "read_uncommitted")))
        self._all = Topic(self._open)

    def ends(self) -> dict[str, int]:
        """Return where the partitions end by now: what is written from now on is behind that."""
        return {str(number): end for number, end in self._ends(self._committed).items()}

    def _ends(self, topic: Topic) -> dict[int, int]:
        return topic.offsets(topic.partitions(PARTITIONS_AGE), LATEST)

    def find(self, id: str, since: dict[str, int]) -> dict[int, Trace]:
        """Return the last trace of this id in each partition behind given offsets.

        None of its transactions may be open.
        """
        ends = self._ends(self._all)
        first = self._committed.offsets(list(ends), EARLIEST)
        reader = Reader(self._address)
        found: dict[int, Trace] = {}
        for number, stop in ends.items():
            start = max(since.get(str(number), 0), first[number])
            if start < stop:
                for traces in reader.take(Range(number, start, stop, 0), _headers):
                    for trace in traces:
                        if isinstance(trace, Trace) and trace.id == id:
                            found[number] = trace
        return found

    def settle(self, id: str, rows: int, abort: Callable[[list[int]], None]) -> None:
        """Wait until no transaction in the topic is open. The producer of this id has none by what the broker says.

        Yet a partition can lack the end of one: a broker that is killed between a commit and its marks in the
        partitions, and started again, may never write them. Such a partition is `abort`ed: its rows are sent again,
        because no note counts rows without marks. `rows` is what the note of the sink counts.
        """
        ends = self._ends(self._all)
        if not self._hidden(ends):
            return
        began, aborted = time.monotonic(), 0.0
        with waits.waiting(
            f"{self._what}: a transaction of another client is open in {self._address.label}",
            "the run waits until it ends, because it hides what comes behind it",
        ) as waiting:
            while hidden := self._hidden(ends):
                own = [number for number, offset in hidden.items() if self._is_own(id, number, offset, rows)]
                now = time.monotonic()
                if own and not aborted:
                    aborted = now
                    waits.change(
                        waiting,
                        f"{self._what}: {self._address.label} lacks the end of a transaction of this run",
                    )
                    abort(own)
                elif own and now - aborted > SOON:
                    raise AuroraError(
                        f"{self._what}: {self._address.label} lacks the end of a transaction of this run, and the "
                        f"broker does not abort it; {self._by_hand(own[0], hidden[own[0]])}; this run then sends the "
                        "rows again"
                    )
                elif now - began > PATIENCE:
                    number, offset = next(iter(hidden.items()))
                    raise AuroraError(
                        f"{self._what}: a transaction of another client in {self._address.label} does not end; "
                        f"{self._by_hand(number, offset)}; rows of that transaction in this partition are lost"
                    )
                self._pause()

    def see_end(self, id: str, partitions: list[int]) -> None:
        """Wait until the partitions have the end of the last transaction; raise `Unreachable` if it does not come.

        Behind an open transaction of another client that cannot be seen: then it is not waited for.
        """
        everywhere = self._ends(self._all)
        ends = {number: everywhere[number] for number in partitions}
        began = time.monotonic()
        looked = 0.1
        while hidden := self._hidden(ends):
            waited = time.monotonic() - began
            if waited > SOON:
                raise Unreachable("it has committed rows, and does not mark them as committed")
            if waited > looked:
                looked += 1.0
                for number, offset in hidden.items():
                    if not self._is_own(id, number, offset):
                        del ends[number]
            self._pause()

    def _hidden(self, ends: dict[int, int]) -> dict[int, int]:
        """Return the partitions with something open before these ends, and where that begins."""
        if not ends:
            return {}
        stable = self._committed.offsets(list(ends), LATEST)
        return {number: stable[number] for number, end in ends.items() if stable[number] < end}

    def _is_own(self, id: str, partition: int, offset: int, rows: int | None = None) -> bool:
        """Whether what is open from an offset on is of this id; raise a fault if a note counts its `rows`."""
        reader = Reader(self._open)
        part = Range(partition, offset, offset + 1, 0)
        found = within(LONGEST, lambda: [each for some in reader.take(part, _headers) for each in some])
        if not found or found[0].id != id:
            return False
        counted = found[0].rows - isinstance(found[0], Trace)
        if rows is not None and counted < rows:
            raise AuroraError(
                f"{self._what}: {self._address.label} lacks the end of a transaction of this run that counts as "
                f"written; {self._by_hand(partition, offset)}; rows of this run in this partition from that offset on "
                "are lost"
            )
        return True

    def _by_hand(self, partition: int, offset: int) -> str:
        return (
            f"abort it with: kafka-transactions.sh --bootstrap-server {self._address.hosts} abort "
            f"--topic {self._address.topic} --partition {partition} --start-offset {offset}, and give the same "
            "command again"
        )

    def _pause(self) -> None:
        if self._stopped.wait(PAUSE):
            raise Interrupted(f"{self._what}: the run was stopped while it waited for {self._address.server}")

    def partitions(self) -> list[int]:
        """Return all partitions; raise a fault unless the topic is there, and `Unreachable` if nobody answers."""
        return self._committed.partitions()


def _headers(messages: list[Any], offsets: object) -> list[Start | Trace]:
    read = (_read(each.headers()) for each in messages)
    return [header for header in read if header is not None]


def _read(headers: list[tuple[str, bytes | None]] | None) -> Start | Trace | None:
    for name, value in headers or ():
        words = (value or b"").decode("utf-8", "replace").split(" ")
        if name == HEADER and len(words) == 2:
            return Start(words[0], int(words[1]))
        if name == HEADER and len(words) == 3:
            return Trace(words[0], int(words[1]), int(words[2]))
    return None
