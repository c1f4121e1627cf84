"""Addresses of topics: kafka:HOST:PORT/TOPIC?format=json&key=FIELD&kafka.NAME=VALUE."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote

from aurora.engine.address_options import is_variable, look_up, without_slashes
from aurora.engine.kafka.client_options import CLIENT_OPTIONS
from aurora.engine.sinks.notation import (
    CELL_OPTIONS,
    CSV_OPTIONS,
    OPTIONS,
    PLAIN,
    Notation,
    check_cell_options,
    read_notation,
)
from aurora.engine.sources.text.csv_records import Csv
from aurora.errors import AuroraError, did_you_mean

__all__ = ["SINK_OPTIONS", "SOURCE_OPTIONS", "KafkaAddress", "is_kafka", "read_kafka"]

PREFIX = "kafka:"
SHAPE = re.compile(r"([^/?\s]+:\d{1,5}(?:,[^/?,\s]+:\d{1,5})*)/([A-Za-z0-9._-]{1,249})(?:\?(.*))?", re.DOTALL)
SOURCE_OPTIONS = ("format", "key", "start", "timestamp", "schema", "registry", *CELL_OPTIONS)
SINK_OPTIONS = ("format", "key", "transactions", "schema", "registry", *CSV_OPTIONS)
FORMATS = ("json", "csv", "avro")
# What the client is told here: another value would break what is promised.
OURS = (
    "bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "enable.partition.eof",
    "transactional.id", "enable.idempotence",
)  # fmt: skip
SECRET = re.compile(r"password|secret|token|credential|\.pem$|oauthbearer\.config|assertion", re.IGNORECASE)


@dataclass(frozen=True)
class KafkaAddress:
    """`settings` go to the client as they are, but those that begin with $ are looked up where it is opened.

    So no secret is in here, nor in anything that this is written to. Of Avro, `schema` is the file that a sink writes
    its schema to, and `avro` the schema that a source has read from it.
    """

    hosts: str
    topic: str
    format: str = "json"
    key: str | None = None
    timestamp: str | None = None
    start: str = "earliest"
    transactions: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    registry: str | None = None
    avro: str | None = None
    notation: Notation = PLAIN

    @property
    def server(self) -> str:
        """In words."""
        return f"Kafka at {self.hosts}"

    @property
    def label(self) -> str:
        return f"{PREFIX}{self.hosts}/{self.topic}"

    def identity(self) -> str:
        options = [
            ("format", self.format),
            ("key", self.key),
            ("timestamp", self.timestamp),
            *self.notation.cells,
        ]
        return f"{self.label}?{'&'.join(f'{name}={value}' for name, value in options if value)}"

    @property
    def csv(self) -> Csv | None:
        """Return how values are written that are records of CSV; None for other values."""
        if self.format != "csv":
            return None
        return Csv(self.notation.delimiter, decimal=self.notation.decimal)

    def start_time(self) -> int | None:
        """The milliseconds since 1970 at which to start; None for a place that has a name."""
        if self.start in ("earliest", "latest"):
            return None
        if self.start.isdigit():
            return int(self.start)
        moment = datetime.fromisoformat(self.start)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)

    def resolved(self, what: str = "kafka") -> dict[str, str]:
        """The settings with what the environment says; for the client alone. `what` is the source or sink in words."""
        return {name: look_up(what, f"kafka.{name}", value) for name, value in self.settings}


def is_kafka(address: object) -> bool:
    return isinstance(address, str) and address.startswith(PREFIX)


def read_kafka(what: str, address: str, options: tuple[str, ...]) -> KafkaAddress:
    """`what` is the source or sink in messages, `options` those that it may have."""
    text = address.removeprefix(PREFIX)
    if "@" in text.partition("?")[0]:
        raise AuroraError(
            f"{what}: an address must not contain a password, because others can see the command line: put it into an "
            "environment variable and write kafka.sasl.username=NAME&kafka.sasl.password=$VARIABLE (in single quotes, "
            "so that the shell leaves it alone)"
        )
    found = SHAPE.fullmatch(text)
    if found is None:
        # Without the options: whatever is wrong with it, a secret is not shown.
        raise AuroraError(
            f"{what}: '{address.partition('?')[0]}' needs a host, a port and a topic, "
            f"for example kafka:localhost:9092/trips{without_slashes(text)}"
        )
    given: dict[str, str] = {}
    settings: list[tuple[str, str]] = []
    for option in filter(None, (found[3] or "").split("&")):
        name, equals, value = option.partition("=")
        if not equals or not value:
            raise AuroraError(f"{what}: option {name} has no value; write {name}=VALUE")
        if name.startswith("kafka."):
            settings.append(_checked(what, name.removeprefix("kafka."), unquote(value)))
        elif name in options:
            given[name] = unquote(value)
        else:
            raise AuroraError(
                f"{what}: there is no option {name}{did_you_mean(name, options)}; the options of kafka are "
                f"{', '.join(options)}, and kafka.NAME for those of its client"
            )
    return _made(what, found[1], found[2], given, tuple(settings))


def _made(
    what: str, hosts: str, topic: str, given: dict[str, str], settings: tuple[tuple[str, str], ...]
) -> KafkaAddress:
    form = given.get("format", "json")
    if form not in FORMATS:
        raise AuroraError(f"{what}: format is json, csv or avro, found '{form}'")
    check_cell_options(what, form, given)
    for name in ("schema", "registry"):
        if name in given and form != "avro":
            raise AuroraError(f"{what}: {name} is for Avro; add format=avro, or leave it out")
    if form == "avro" and given.keys() & {*OPTIONS}:
        raise AuroraError(
            f"{what}: times and zone are for texts, and Avro has times of its own; leave them out"
        )
    if form == "avro" and len(given.keys() & {"schema", "registry"}) != 1:
        raise AuroraError(f"{what}: format=avro needs schema=FILE.avsc, or registry=http://HOST:PORT")
    registry = given.get("registry")
    if registry is not None and not re.fullmatch(r"https?://[^@\s]+", registry):
        raise AuroraError(
            f"{what}: registry is http://HOST:PORT; put user and password into the environment: "
            "AURORA_REGISTRY_AUTH=http://HOST:PORT=USER:PASSWORD"
        )
    transactions = given.get("transactions", "yes")
    if transactions not in ("yes", "no"):
        raise AuroraError(f"{what}: transactions is yes or no, found '{transactions}'")
    address = KafkaAddress(
        hosts, topic, form, given.get("key"), given.get("timestamp"), given.get("start", "earliest"),
        transactions == "yes", settings, given.get("schema"), registry, notation=read_notation(what, given),
    )  # fmt: skip
    try:
        address.start_time()
    except ValueError:
        raise AuroraError(
            f"{what}: start is earliest, latest or a time such as 2026-01-31T12:00:00Z, found '{address.start}'"
        ) from None
    if address.key is not None and address.key == address.timestamp:
        raise AuroraError(f"{what}: field {address.key} cannot be both key and timestamp; name two fields")
    return address


def _checked(what: str, name: str, value: str) -> tuple[str, str]:
    if name in OURS:
        raise AuroraError(f"{what}: {name} cannot be set here; leave kafka.{name} out")
    if name not in CLIENT_OPTIONS:
        raise AuroraError(
            f"{what}: kafka.{name} is not an option of the client that may be given"
            f"{did_you_mean(name, CLIENT_OPTIONS)}; docs/kafka.md lists those that may"
        )
    if is_variable(value) and not SECRET.search(name):
        raise AuroraError(
            f"{what}: kafka.{name} is no secret, and a variable would be sent to whoever the address names; "
            f"write kafka.{name}=VALUE"
        )
    if SECRET.search(name) and not is_variable(value):
        raise AuroraError(
            f"{what}: kafka.{name} is a secret, and others can see the command line: put it into an environment "
            f"variable and write kafka.{name}=$VARIABLE (in single quotes, so that the shell leaves it alone)"
        )
    return name, value
