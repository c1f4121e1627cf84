"""A thread that tells when a broker does not answer, and when it does again; whoever reads waits meanwhile."""

import logging
import threading

from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.client import Unreachable
from aurora.engine.kafka.topic import Topic
from aurora.errors import AuroraError

__all__ = ["BrokerWatch"]

EVERY = 1.0
# So many questions without an answer are an outage.
MISSED = 2


class BrokerWatch(threading.Thread):
    once = False

    def __init__(self, name: str, address: KafkaAddress) -> None:
        super().__init__(name=f"watch of {address.label}", daemon=True)
        self._input = name
        self._address = address
        self._stopped = threading.Event()

    def connect(self) -> None:
        self.start()

    def run(self) -> None:
        topic, missed = Topic(self._address), 0
        tell = logging.getLogger("aurora").warning
        while not self._stopped.wait(EVERY):
            try:
                topic.partitions()
            except Unreachable:
                missed += 1
                if missed == MISSED:
                    tell(f"input {self._input}: {self._address.hosts} does not answer; the run waits for it")
                continue
            except AuroraError:
                return  # The run itself comes upon it, and tells.
            if missed >= MISSED:
                tell(f"input {self._input}: {self._address.hosts} answers again; the run continues")
            missed = 0

    def stop(self) -> None:
        self._stopped.set()
