"""Addresses of topics: mqtt:HOST:PORT/TOPIC?format=json&qos=1&user=NAME&password=$VARIABLE."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from aurora.engine.address_options import choose, is_variable, read_options, without_secrets, without_slashes
from aurora.engine.sinks.notation import (
    CELL_OPTIONS,
    CSV_OPTIONS,
    PLAIN,
    Notation,
    check_cell_options,
    read_notation,
)
from aurora.errors import AuroraError
from aurora.network.amounts import duration

__all__ = ["SINK_OPTIONS", "SOURCE_OPTIONS", "MqttAddress", "is_mqtt", "read_mqtt"]

PREFIX = "mqtt:"
SHAPE = re.compile(r"([^/?\s]+):(\d{1,5})/([^?]+)(?:\?(.*))?", re.DOTALL)
CONNECTION = ("user", "password", "tls", "ca", "version")
SOURCE_OPTIONS = ("format", "qos", "topic", "session", "idle", *CELL_OPTIONS, *CONNECTION)
SINK_OPTIONS = ("format", "qos", "retain", *CSV_OPTIONS, *CONNECTION)
YES_OR_NO: dict[str, bool | None] = {"yes": True, "no": False}
VERSIONS: dict[str, bool | None] = {"5": True, "3.1.1": False}
DAY = 86_400.0


@dataclass(frozen=True)
class MqttAddress:
    """`password` is the name of a variable, $NAME, which is looked up where the connection is opened.

    `field` gets the topic of a message. The broker keeps what comes while nobody is connected for `session` seconds. A
    source ends when no message has come for `idle` seconds.
    """

    host: str
    port: int
    topic: str
    format: str = "json"
    qos: int = 1
    field: str | None = None
    retain: bool = False
    session: float = DAY
    idle: float | None = None
    user: str | None = None
    password: str | None = None
    tls: bool = False
    ca: str | None = None
    newest: bool = True
    notation: Notation = PLAIN

    @property
    def server(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.server}/{self.topic}"

    def identity(self) -> str:
        options = [
            ("format", self.format),
            ("qos", str(self.qos)),
            ("topic", self.field),
            *self.notation.cells,
        ]
        return f"{self.label}?{'&'.join(f'{name}={value}' for name, value in options if value)}"


def is_mqtt(address: object) -> bool:
    return isinstance(address, str) and address.startswith(PREFIX)


def read_mqtt(what: str, address: str, options: tuple[str, ...]) -> MqttAddress:
    """`what` is the source or sink in messages, `options` those that it may have."""
    text = address.removeprefix(PREFIX)
    if "@" in text.partition("/")[0]:
        raise AuroraError(
            f"{what}: an address must not contain a password, because others can see the command line: {_VARIABLE}"
        )
    found = SHAPE.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65536:
        raise AuroraError(
            f"{what}: '{without_secrets(address)}' needs a host, a port and a topic, "
            f"for example mqtt:localhost:1883/home/heat{without_slashes(text)}"
        )
    given = read_options(what, "mqtt", found[4], options)
    if given.get("format", "json") not in ("json", "csv"):
        raise AuroraError(f"{what}: format is json or csv, found '{given['format']}'")
    check_cell_options(what, given.get("format", "json"), given)
    if "password" in given and not is_variable(given["password"]):
        raise AuroraError(f"{what}: others can see a password in an address: {_VARIABLE}")
    return MqttAddress(
        unquote(found[1]),
        int(found[2]),
        unquote(found[3]),
        given.get("format", "json"),
        _qos(what, given.get("qos", "1"), 2 if "retain" in options else 1),
        given.get("topic"),
        bool(choose(what, given, "retain", YES_OR_NO, "no")),
        _seconds(what, given, "session") or DAY,
        _seconds(what, given, "idle"),
        given.get("user"),
        given.get("password"),
        bool(choose(what, given, "tls", YES_OR_NO, "yes" if "ca" in given else "no")),
        given.get("ca"),
        bool(choose(what, given, "version", VERSIONS, "5")),
        read_notation(what, given),
    )


_VARIABLE = (
    "put it into a variable of the environment and write user=NAME&password=$VARIABLE (in single quotes, so that the "
    "shell leaves it alone)"
)


def _qos(what: str, given: str, most: int) -> int:
    if given == "2" and most == 1:
        raise AuroraError(
            f"{what}: with qos=2 a message can be lost between the broker and the disk when a run is killed; use "
            "qos=1, with which it may come twice instead"
        )
    if given not in ("0", "1", "2"):
        raise AuroraError(f"{what}: qos is 0, 1 or 2, found '{given}'")
    return int(given)


def _seconds(what: str, given: dict[str, str], name: str) -> float | None:
    return duration(given[name], f"{what}: {name}") / 1000 if name in given else None
