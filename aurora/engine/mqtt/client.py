"""The client library of MQTT: loaded when it is needed; one connection that its owner turns the crank of."""

import logging
import socket
import time
from functools import cache
from typing import Any

from aurora.engine.address_options import is_loopback, look_up
from aurora.engine.mqtt.address import MqttAddress
from aurora.engine.outages import Unreachable, try_patiently
from aurora.errors import AuroraError

__all__ = ["IN_FLIGHT", "Connection", "Message", "open_patiently", "paho"]

# So many messages a broker may send before the first of them is acknowledged: after a kill these come again, at most.
IN_FLIGHT = 100
# Topic, payload, and by which the broker knows it; None where nothing is acknowledged.
Message = tuple[bytes, bytes, int | None]
# Of one step with the broker, in seconds; and how often a connection says that it is still there.
TIMEOUT, KEEP_ALIVE = 5.0, 30
# Refusals that waiting mends.
PASSING = (
    "Server unavailable",
    "Server busy",
    "Server shutting down",
    "Quota exceeded",
    "Connection rate exceeded",
)


def paho() -> Any:
    try:
        import paho.mqtt.client
    except ImportError:
        raise AuroraError("mqtt: needs the package paho-mqtt; pip install 'aurora-spark[mqtt]'") from None
    return paho.mqtt.client


class Connection:
    """All that happens, happens within `open`, `turn` and `subscribe`: no other thread is at work.

    With an `id` the broker keeps a session of that name: subscriptions, and what was not acknowledged.
    """

    def __init__(self, what: str, address: MqttAddress, id: str | None = None) -> None:
        library = paho()
        self._what = what
        self._address = address
        self._id = id
        version = library.MQTTv5 if address.newest else library.MQTTv311
        clean = {} if address.newest else {"clean_session": id is None}
        self._client = library.Client(
            library.CallbackAPIVersion.VERSION2, id or "", protocol=version, manual_ack=True, **clean
        )
        self._client.connect_timeout = TIMEOUT
        if address.user is not None:
            word = None if address.password is None else look_up(what, "password", address.password)
            if word is not None and not address.tls and not is_loopback(address.host):
                _warn_in_clear(address.server)
            self._client.username_pw_set(address.user, word)
        if address.tls:
            self._set_tls()
        self._client.on_socket_open = _without_delay
        self._client.on_connect = self._connected
        self._client.on_message = self._heard
        self._client.on_subscribe = self._subscribed
        self._client.on_publish = self._published
        # What the broker has said, and is not taken yet.
        self._answer: tuple[Any, bool] | None = None
        self._granted: list[Any] | None = None
        self.messages: list[Message] = []
        self.done: dict[int, str | None] = {}

    def _set_tls(self) -> None:
        try:
            self._client.tls_set(ca_certs=self._address.ca)
        except OSError as fault:
            raise AuroraError(
                f"{self._what}: the certificates in {self._address.ca} cannot be read: {fault.strerror or fault}"
            ) from None

    def open(self) -> bool:
        """One try; gives whether the broker knew the session. A fault where waiting would not help."""
        self._answer = None
        self.messages.clear()
        more: dict[str, Any] = {}
        if self._address.newest:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.properties import Properties

            more = {"clean_start": self._id is None, "properties": Properties(PacketTypes.CONNECT)}
            if self._id is not None:
                more["properties"].SessionExpiryInterval = round(self._address.session)
                more["properties"].ReceiveMaximum = IN_FLIGHT
        try:
            self._client.connect(self._address.host, self._address.port, KEEP_ALIVE, **more)
        except OSError as fault:
            if type(fault).__name__.startswith("SSL"):
                raise AuroraError(
                    f"{self._what}: {self._address.server} refuses: {fault}; check tls and ca"
                ) from None
            raise Unreachable(fault.strerror or str(fault)) from None
        self._until(lambda: self._answer is not None)
        assert self._answer is not None
        reason, known = self._answer
        if reason.is_failure:
            name = reason.getName()
            if name in PASSING:
                raise Unreachable(name)
            fix = (
                " (older brokers need version=3.1.1)"
                if "protocol" in name
                else "; check user=NAME&password=$VARIABLE"
            )
            raise AuroraError(f"{self._what}: MQTT broker {self._address.server} refuses: {name}{fix}")
        return bool(known)

    def subscribe(self) -> None:
        self._granted = None
        self._client.subscribe(self._address.topic, self._address.qos)
        self._until(lambda: self._granted is not None)
        granted: list[Any] = self._granted or []
        for reason in granted:
            if reason.is_failure:
                raise AuroraError(
                    f"{self._what}: MQTT broker {self._address.server} does not let it read {self._address.topic}: "
                    f"{reason.getName()}; check the topic, or the rights of the user"
                )

    def turn(self, wait: float) -> None:
        """Takes what comes within so many seconds, and sends what is to be sent; `Unreachable` if nobody is there."""
        library = paho()
        if self._client.loop(wait) != library.MQTT_ERR_SUCCESS or not self._client.is_connected():
            raise Unreachable("the connection was lost")

    def acknowledge(self, message: Message) -> None:
        if message[2] is not None:
            self._client.ack(message[2], 1)

    def publish(self, topic: str, payload: bytes) -> int:
        return int(self._client.publish(topic, payload, self._address.qos, self._address.retain).mid)

    def close(self) -> None:
        self._client.disconnect()

    def _until(self, reached: Any) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            if self._client.loop(0.05) != paho().MQTT_ERR_SUCCESS and not reached():
                raise Unreachable("the connection was lost")
            if time.monotonic() > deadline:
                raise Unreachable("it took too long")

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._answer = reason, flags.session_present

    def _heard(self, client: Any, data: Any, message: Any) -> None:
        self.messages.append((message._topic, bytes(message.payload), message.mid if message.qos else None))

    def _subscribed(self, client: Any, data: Any, number: int, reasons: list[Any], properties: Any) -> None:
        self._granted = reasons

    def _published(self, client: Any, data: Any, number: int, reason: Any, properties: Any) -> None:
        self.done[number] = reason.getName() if reason is not None and reason.is_failure else None


@cache
def _warn_in_clear(server: str) -> None:
    """Once in a process."""
    logging.getLogger("aurora").warning(
        f"MQTT broker {server}: user and password are sent unencrypted; add tls=yes, if the broker has a port for it"
    )


def _without_delay(client: Any, data: Any, connection: Any) -> None:
    """Small messages are sent at once: who waits for an answer before the next one would wait 40 ms each time."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def open_patiently(connection: Connection, what: str, address: MqttAddress) -> bool:
    """When a run starts: waits a while for a broker that is about to start."""
    return try_patiently(what, f"MQTT broker {address.server}", connection.open)
