"""Whether the broker of a topic answers, asked beside the run."""

from functools import cache

from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.topic import Topic
from aurora.engine.outages import ServerWatch

__all__ = ["watch_broker"]


def watch_broker(name: str, address: KafkaAddress) -> ServerWatch:
    """For an input; with a connection of its own."""

    @cache
    def topic() -> Topic:
        return Topic(address)

    return ServerWatch(name, address.server, lambda: topic().partitions())
