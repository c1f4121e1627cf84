"""Which partitions a topic has, and how far they go, as the broker tells it."""

import re
import time
from collections.abc import Iterable
from typing import Any

from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.client import consumer, explain, kafka
from aurora.engine.outages import Unreachable
from aurora.errors import AuroraError

__all__ = ["EARLIEST", "LATEST", "Topic", "topic_of"]

EARLIEST, LATEST = -2, -1
# Of one question to the broker, in seconds.
TIMEOUT = 2.0
# While a broker starts, it may not know its topics yet.
GONE_AFTER = 5.0
AWAY = re.compile(r"(?:failed|Failed to resolve '[^']*'): ([^:]+?)(?: \(after .*)?$")


class Topic:
    """What is known of a topic in this process; one connection for all questions."""

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._heard: list[Any] = []
        self._consumer = consumer(address, heard=self._heard)
        self._partitions: list[int] = []
        self._partitions_at = self._missing_since = 0.0
        self._ends: dict[int, int] = {}
        self._ends_at = 0.0

    def partitions(self, age: float = 0.0) -> list[int]:
        """Their numbers, as they were at most `age` seconds ago."""
        now = time.monotonic()
        if self._partitions and now - self._partitions_at <= age:
            return self._partitions
        try:
            told = self._consumer.list_topics(self._address.topic, timeout=TIMEOUT).topics[
                self._address.topic
            ]
        except kafka().KafkaException as fault:
            raise self._fault(fault) from None
        if told.error is not None:
            raise self._missing(told.error, now)
        self._missing_since = 0.0
        self._partitions, self._partitions_at = sorted(told.partitions), now
        return self._partitions

    def offsets(self, partitions: list[int], moment: int) -> dict[int, int]:
        """The first offset of each at or after a moment in milliseconds, or EARLIEST or LATEST."""
        asked = [kafka().TopicPartition(self._address.topic, number, moment) for number in partitions]
        try:
            told = self._consumer.offsets_for_times(asked, timeout=TIMEOUT)
        except kafka().KafkaException as fault:
            raise self._fault(fault) from None
        for each in told:
            if each.error is not None:
                raise self._fault(each.error)
        found = {each.partition: each.offset for each in told}
        behind = [number for number, offset in found.items() if offset < 0]
        if behind and moment != LATEST:
            # Nothing is that young: what comes from now on is.
            found |= self.offsets(behind, LATEST)
        elif behind:
            raise Unreachable("a partition has no leader")
        return found

    def ends(self, partitions: list[int], age: float) -> dict[int, int]:
        """Where the partitions end, as it was at most `age` seconds ago."""
        now = time.monotonic()
        if now - self._ends_at > age or not set(partitions) <= self._ends.keys():
            self._ends, self._ends_at = self.offsets(partitions, LATEST), now
        return self._ends

    @property
    def last_ends(self) -> dict[int, int]:
        """What was told last, without a question."""
        return self._ends

    def _missing(self, error: Any, now: float) -> Exception:
        codes = kafka().KafkaError
        if error.code() not in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC):
            return self._fault(error)
        if not self._partitions:
            return AuroraError(
                f"{self._address.hosts} has no topic {self._address.topic}; create it, or check the name"
            )
        self._missing_since = self._missing_since or now
        if now - self._missing_since < GONE_AFTER:
            return Unreachable("the topic is not there yet")
        return AuroraError(
            f"topic {self._address.topic} was deleted from {self._address.hosts} while it was read; everything before "
            "that is processed; to read a new topic of that name, start over with --fresh"
        )

    def _fault(self, fault: Any) -> Exception:
        codes = kafka().KafkaError
        error = fault.args[0] if isinstance(fault, Exception) else fault
        refused = (codes._AUTHENTICATION, codes._SSL, codes.SASL_AUTHENTICATION_FAILED)
        # Only a poll hands over what the client has heard meanwhile.
        self._consumer.poll(0)
        told = next((each for each in self._heard if each.code() in refused), None)
        unheard = error.code() in (codes._TRANSPORT, codes._TIMED_OUT, codes._ALL_BROKERS_DOWN)
        away = _reason(explain(self._address, each) for each in self._heard) if unheard else ""
        self._heard.clear()
        denied = (codes.TOPIC_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED)
        if told is not None or error.code() in denied:
            why = explain(self._address, told or error)
            return AuroraError(
                f"{self._address.label}: refused: {why}; check the options that begin with kafka."
            )
        return Unreachable(away or explain(self._address, error))


def _reason(heard: Iterable[str]) -> str:
    """Why the broker cannot be reached, out of what the client tells of its connections.

    >>> _reason(["h:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"])
    'Connection refused'
    """
    found = (AWAY.search(text) for text in heard)
    return next((match[1] for match in found if match is not None), "")


_topics: dict[KafkaAddress, Topic] = {}


def topic_of(address: KafkaAddress) -> Topic:
    """The one of this process."""
    if address not in _topics:
        _topics[address] = Topic(address)
    return _topics[address]
