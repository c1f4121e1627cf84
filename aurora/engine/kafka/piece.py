"""The part of a topic that one task reads: ranges of offsets, fetched many records at a time."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.client import consumer, explain, kafka
from aurora.engine.kafka.topic import topic_of
from aurora.engine.kafka.values import Records, parse_values
from aurora.engine.outages import Unreachable
from aurora.engine.sources.source import Portion, Reject
from aurora.engine.waits import Waiting, waits
from aurora.errors import AuroraError

__all__ = ["KafkaPiece", "Range", "Reader"]

T = TypeVar("T")
# So many records are taken from the client at once, and parsed while they are in the processor's cache; it is asked
# for less than that for so many seconds.
CHUNK, POLL = 10_000, 0.05
# After so many seconds without a record the broker is asked whether the topic is still there.
SILENCE = 2.0


@dataclass(frozen=True)
class Range:
    """Offsets of a partition; `row` is the number of the first one in the source."""

    partition: int
    start: int
    stop: int
    row: int


@dataclass(frozen=True)
class KafkaPiece:
    address: KafkaAddress
    declared: Schema
    ranges: tuple[Range, ...]

    def read(self, schema: Schema) -> Portion:
        reader = _reader_of(self.address)
        rows: list[pa.RecordBatch] = []
        numbers: list[npt.NDArray[np.int64]] = []
        rejects: list[Reject] = []
        for each in self.ranges:
            for records in reader.take(each, self._records):
                portion = parse_values(records, self.address, self.declared, schema, each.partition)
                rows.append(portion.rows)
                numbers.append(records.offsets[portion.numbers] - each.start + each.row)
                rejects += portion.rejects
        if not rows:
            nothing = Records([], np.empty(0, np.int64), [], np.empty(0, np.int64))
            return parse_values(nothing, self.address, self.declared, schema, self.ranges[0].partition)
        return Portion(pa.concat_batches(rows), np.concatenate(numbers), tuple(rejects))

    def _records(self, found: list[Any], offsets: npt.NDArray[np.int64]) -> Records:
        message = kafka().Message
        times = None
        if self.address.timestamp is not None:
            times = np.fromiter((each.timestamp()[1] for each in found), np.int64, len(found))
        keys = list(map(message.key, found)) if self.address.key is not None else None
        return Records(list(map(message.value, found)), offsets, keys, times)


class Reader:
    """The connection of this process; it goes on where it stands if the next range begins there."""

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._consumer = consumer(address)
        self._place: tuple[int, int] | None = None

    def take(self, part: Range, keep: Callable[[list[Any], npt.NDArray[np.int64]], T]) -> Iterator[T]:
        """All records of a range, chunk by chunk; waits for a broker that does not answer.

        `keep` gets messages and their offsets, and gives what is to be kept of them: a message held for longer costs
        more than all else that is done with it.
        """
        if self._place != (part.partition, part.start):
            self._consumer.assign([kafka().TopicPartition(self._address.topic, part.partition, part.start)])
        self._place = None
        at, heard = part.start, time.monotonic()
        waiting: Waiting | None = None
        try:
            while at < part.stop:
                with _no_collection():
                    reached, kept = self._chunk(part, at, keep)
                if reached > at:
                    at, heard = reached, time.monotonic()
                    if waiting is not None:
                        waits.end(waiting)
                        waiting = None
                elif time.monotonic() - heard > SILENCE:
                    silent = (
                        f"{self._address.server} gives no records of {self._address.topic}/{part.partition}"
                    )
                    # What tells of a broker that is away is the watch of the run.
                    if self._check_there(part):
                        waiting = waiting or waits.begin(silent, since=waits.now() - SILENCE)
                    heard = time.monotonic()
                if kept is not None:
                    yield kept
        finally:
            if waiting is not None:
                waits.end(waiting)
        if at == part.stop:
            self._place = (part.partition, at)

    def _chunk(
        self, part: Range, at: int, keep: Callable[[list[Any], npt.NDArray[np.int64]], T]
    ) -> tuple[int, T | None]:
        """What comes next, and how far the partition is read then."""
        message = kafka().Message
        taken = self._consumer.consume(min(part.stop - at, CHUNK), POLL)
        if any(map(message.error, taken)):
            at = max([at, *(self._place_of(each, part) for each in taken if each.error() is not None)])
            taken = [each for each in taken if each.error() is None]
        if not taken:
            return at, None
        numbers = _offsets(taken)
        # A range may end with marks of transactions: then the client runs over its end.
        inside = int(np.searchsorted(numbers, part.stop))
        at = max(at, int(numbers[-1]) + 1)
        return at, keep(taken[:inside], numbers[:inside]) if inside else None

    def _place_of(self, event: Any, part: Range) -> int:
        """How far an event says that the partition goes; what cannot be waited for is a fault."""
        codes = kafka().KafkaError
        error = event.error()
        if error.code() == codes._PARTITION_EOF:
            return int(event.offset())
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            raise AuroraError(
                f"topic {self._address.topic}, partition {part.partition}: the records from offset {part.start} on are "
                "no longer there; keep records for longer (retention.ms), and start over with --fresh"
            )
        if error.code() in (codes.TOPIC_AUTHORIZATION_FAILED, codes._AUTHENTICATION) or error.fatal():
            raise AuroraError(f"{self._address.label}: {explain(self._address, error)}")
        return part.start

    def _check_there(self, part: Range) -> bool:
        """Return whether the broker answers; raise a fault if it has no such partition."""
        try:
            there = topic_of(self._address).partitions()
        except Unreachable:
            return False
        if part.partition not in there:
            raise AuroraError(
                f"topic {self._address.topic} has no partition {part.partition} any more: it is another topic of that "
                "name; start over with --fresh"
            )
        return True


def _offsets(taken: list[Any]) -> npt.NDArray[np.int64]:
    """They ascend: where the last one is as far from the first as there are messages, none is left out."""
    first, last = taken[0].offset(), taken[-1].offset()
    if last - first == len(taken) - 1:
        return np.arange(first, last + 1)
    return np.fromiter(map(kafka().Message.offset, taken), np.int64, len(taken))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python counts new messages as possible garbage, and would look through them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_readers: dict[KafkaAddress, Reader] = {}


def _reader_of(address: KafkaAddress) -> Reader:
    if address not in _readers:
        _readers[address] = Reader(address)
    return _readers[address]
