"""The thread that takes messages from a broker into a spool, and acknowledges them when they are on the disk."""

import contextlib
import logging
import threading
import time

from aurora.engine.mqtt.address import MqttAddress
from aurora.engine.mqtt.client import IN_FLIGHT, Connection, open_patiently
from aurora.engine.mqtt.spool import MessageWriter
from aurora.engine.outages import PAUSE, Unreachable
from aurora.engine.waits import waits
from aurora.errors import AuroraError

__all__ = ["MqttReceiver"]

# A stop is not missed for longer than this; so many messages are written at once, at most.
WAIT, MOST = 0.2, 2000


class MqttReceiver(threading.Thread):
    """`fault` says why no more will come."""

    once = True

    def __init__(self, name: str, address: MqttAddress, spool: MessageWriter, id: str, again: bool) -> None:
        super().__init__(name=f"receiver {address.label}", daemon=True)
        self._what = f"source {name}"
        self._address = address
        self._spool = spool
        self._connection = Connection(self._what, address, id)
        # Whether the broker ought to know the session.
        self._again = again
        self._stopped = threading.Event()
        self.fault: str | None = None

    def connect(self) -> None:
        """Begins to receive; a stream that ended before is not asked for again."""
        if self._spool.open():
            self._begin(open_patiently(self._connection, self._what, self._address))
            self.start()

    def _begin(self, known: bool) -> None:
        """A broker that knows the session has the subscription, and sends what has come meanwhile."""
        if not known:
            if self._again and self._address.qos:
                self._tell(
                    f"MQTT broker {self._address.server} has forgotten this run: what came while it was away is lost"
                )
            self._connection.subscribe()
        self._again = True

    def run(self) -> None:
        heard = time.monotonic()
        try:
            while not self._stopped.is_set():
                try:
                    if self._take():
                        heard = time.monotonic()
                    elif self._address.idle is not None and time.monotonic() - heard > self._address.idle:
                        self._spool.end()
                        break
                except Unreachable as fault:
                    # What was not acknowledged comes again.
                    self._reconnect(str(fault))
                    heard = time.monotonic()
            self._connection.close()
        except AuroraError as fault:
            self._give_up(str(fault))
        except OSError as fault:
            self._give_up(
                f"{self._what}: what comes cannot be kept in {self._spool.folder}: {fault.strerror or fault}"
            )

    def _take(self) -> bool:
        """Writes what has come, and acknowledges it; gives whether something came."""
        connection = self._connection
        connection.turn(WAIT)
        # Mosquitto sends more than it may to a session that it has read from its disk, but after a kill only those come
        # twice that are written and not acknowledged.
        before, most = 0, IN_FLIGHT if self._address.qos else MOST
        while before < len(connection.messages) < most:
            before = len(connection.messages)
            connection.turn(0.0)
        messages = list(connection.messages)
        connection.messages.clear()
        if messages:
            self._spool.append(messages)
            for message in messages:
                connection.acknowledge(message)
        return bool(messages)

    def _reconnect(self, why: str) -> None:
        server = f"{self._what}: MQTT broker {self._address.server}"
        waiting = waits.begin(f"{server} does not answer ({why})")
        again = ""
        try:
            while not self._stopped.is_set():
                try:
                    self._begin(self._connection.open())
                    again = f"{server} answers again; the run continues"
                    return
                except Unreachable as fault:
                    waits.change(waiting, f"{server} does not answer ({fault})")
                self._stopped.wait(PAUSE)
        finally:
            waits.end(waiting, again)

    def _give_up(self, reason: str) -> None:
        if not self._stopped.is_set():
            told = f"{reason}; everything before that has been read; the same command continues from there"
            with contextlib.suppress(OSError):
                self._spool.give_up(told)
            self.fault = told

    def _tell(self, text: str) -> None:
        logging.getLogger("aurora").warning(f"{self._what}: {text}")

    def stop(self) -> None:
        """When this returns, nothing is acknowledged any more."""
        self._stopped.set()
        if self.is_alive():
            self.join(5.0)
