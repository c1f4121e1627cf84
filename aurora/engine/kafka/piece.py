"""The part of a topic that one task reads: ranges of offsets, fetched many records at a time."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.client import Unreachable, consumer, explain, kafka
from aurora.engine.kafka.topic import topic_of
from aurora.engine.kafka.values import Records, parse_values
from aurora.engine.sources.source import Portion
from aurora.errors import AuroraError

__all__ = ["KafkaPiece", "Range", "Reader"]

# So many records are taken from the client at once; it is asked for less than that for so many seconds.
CHUNK, POLL = 100_000, 0.05
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
        portions = []
        for each in self.ranges:
            records = reader.fetch(each)
            portion = parse_values(records, self.address, self.declared, schema, each.partition)
            portions.append((portion, records.offsets[portion.numbers] - each.start + each.row))
        return Portion(
            pa.concat_batches([portion.rows for portion, _ in portions]),
            np.concatenate([numbers for _, numbers in portions]),
            tuple(bad for portion, _ in portions for bad in portion.rejects),
        )


class Reader:
    """The connection of this process; it goes on where it stands if the next range begins there."""

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._consumer = consumer(address)
        self._place: tuple[int, int] | None = None

    def fetch(self, part: Range) -> Records:
        return self._records(*self.take(part))

    def take(self, part: Range) -> tuple[list[Any], npt.NDArray[np.int64]]:
        """All records of a range, and their offsets; waits for a broker that does not answer."""
        if self._place != (part.partition, part.start):
            self._consumer.assign([kafka().TopicPartition(self._address.topic, part.partition, part.start)])
        self._place = None
        message = kafka().Message
        found: list[Any] = []
        offsets: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        at, heard = part.start, time.monotonic()
        while at < part.stop:
            taken = self._consumer.consume(min(part.stop - at, CHUNK), POLL)
            if any(map(message.error, taken)):
                at = max([at, *(self._place_of(each, part) for each in taken if each.error() is not None)])
                taken = [each for each in taken if each.error() is None]
            if taken:
                numbers = np.fromiter(map(message.offset, taken), np.int64, len(taken))
                # A range may end with marks of transactions: then the client runs over its end.
                inside = int(np.searchsorted(numbers, part.stop))
                found += taken[:inside]
                offsets.append(numbers[:inside])
                at, heard = max(at, int(numbers[-1]) + 1), time.monotonic()
            elif at < part.stop and time.monotonic() - heard > SILENCE:
                self._check_there(part)
                heard = time.monotonic()
        if at == part.stop:
            self._place = (part.partition, at)
        return found, np.concatenate(offsets)

    def _records(self, found: list[Any], offsets: npt.NDArray[np.int64]) -> Records:
        message = kafka().Message
        times = None
        if self._address.timestamp is not None:
            times = np.fromiter((each.timestamp()[1] for each in found), np.int64, len(found))
        keys = list(map(message.key, found)) if self._address.key is not None else None
        return Records(list(map(message.value, found)), offsets, keys, times)

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

    def _check_there(self, part: Range) -> None:
        try:
            there = topic_of(self._address).partitions()
        except Unreachable:
            return
        if part.partition not in there:
            raise AuroraError(
                f"topic {self._address.topic} has no partition {part.partition} any more: it is another topic of that "
                "name; start over with --fresh"
            )


_readers: dict[KafkaAddress, Reader] = {}


def _reader_of(address: KafkaAddress) -> Reader:
    if address not in _readers:
        _readers[address] = Reader(address)
    return _readers[address]
