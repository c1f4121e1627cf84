"""The client library of Kafka: loaded when it is needed, its faults in plain words, without secrets."""

import queue
import threading
from collections.abc import Callable
from typing import Any

from aurora.engine.kafka.address import KafkaAddress
from aurora.errors import AuroraError

__all__ = ["consumer", "explain", "kafka", "producer", "within"]


def kafka() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise AuroraError(
            "kafka: needs the package confluent-kafka; pip install 'aurora-spark[kafka]'"
        ) from None
    return confluent_kafka


def consumer(address: KafkaAddress, heard: list[Any] | None = None) -> Any:
    """Offsets are kept by the run, not by the broker: no group is joined. Faults of the client are `heard`."""
    own = {
        "group.id": "aurora",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 50,
        # Enough to be read while it is parsed, and little to be thrown away where the next range lies elsewhere; once
        # there is room, more is fetched at once.
        "queued.min.messages": 100_000,
        "fetch.queue.backoff.ms": 10,
    }
    return _connect(address, kafka().Consumer, own, heard)


def producer(address: KafkaAddress, own: dict[str, Any], heard: list[Any]) -> Any:
    # Keys find the partitions that the clients in Java choose for them.
    common = {"partitioner": "murmur2_random", "linger.ms": 20, "compression.type": "lz4"}
    return _connect(address, kafka().Producer, common | own, heard)


def _connect(address: KafkaAddress, kind: Any, own: dict[str, Any], heard: list[Any] | None) -> Any:
    conf: dict[str, Any] = {"log_level": 0, "reconnect.backoff.max.ms": 1000, "broker.address.ttl": 1000}
    conf |= {**own, **address.resolved(), "bootstrap.servers": address.hosts}
    if heard is not None:
        conf["error_cb"] = heard.append
    try:
        return kind(conf)
    except kafka().KafkaException as fault:
        raise AuroraError(f"{address.label}: {explain(address, fault)}; correct the options") from None


def within(seconds: float, call: Callable[..., Any], *arguments: Any) -> Any:
    """Gives up a call that does not come back: some of the client's never do once their broker was away."""
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put((call(*arguments), None))
        except BaseException as fault:
            done.put((None, fault))

    threading.Thread(target=work, name="kafka call", daemon=True).start()
    try:
        found, fault = done.get(timeout=seconds)
    except queue.Empty:
        error = kafka().KafkaError
        raise kafka().KafkaException(error(error._TIMED_OUT, "the broker took too long")) from None
    if fault is not None:
        raise fault
    return found


def explain(address: KafkaAddress, fault: Any) -> str:
    """What the client says in one line; values from the environment are not part of it."""
    error = fault.args[0] if isinstance(fault, Exception) and fault.args else fault
    text = " ".join(str(error.str() if hasattr(error, "str") else error).split())
    given = dict(address.settings)
    for name, value in address.resolved().items():
        if value and given[name] != value:
            text = text.replace(value, given[name])
    return text
