"""A topic of MQTT as a sink: a batch is done when the broker has acknowledged all its messages."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.algebra.tuples.types import is_nested
from aurora.engine.kafka.encode import encode_rows
from aurora.engine.mqtt.address import SINK_OPTIONS, MqttAddress, read_mqtt
from aurora.engine.mqtt.client import Connection, open_patiently, paho
from aurora.engine.outages import Persistence, Unreachable
from aurora.engine.sinks.encode import cell_texts
from aurora.engine.sinks.sink import Note
from aurora.engine.sources.source import Reject
from aurora.errors import AuroraError, did_you_mean

__all__ = ["MqttSink", "open_mqtt_sink"]

# So many messages are given to the client at once.
CHUNK = 1000
FIELD = re.compile(r"\{([^{}]*)\}")
BAD_TOPIC = "[+#\\x00]"


class MqttSink:
    """Its note is the number of rows. MQTT has no transactions: after a kill the rows of a batch may come twice."""

    def __init__(self, name: str, address: MqttAddress) -> None:
        self._what = f"sink {name}"
        self._address = address
        self._connection: Connection | None = None
        self._refused: list[Reject] = []
        self._persistence = Persistence(self._what, f"MQTT broker {address.server}")

    @property
    def place(self) -> None:
        return None

    def check(self) -> None:
        """Raises a fault if the broker does not let it in; before Spark starts."""
        probe = Connection(self._what, self._address)
        open_patiently(probe, self._what, self._address)
        probe.close()

    def open(self, note: Note) -> Note:
        if note is not None and note["topic"] != self._address.label:
            raise AuroraError(
                f"{self._what}: the checkpoint is that of a run into {note['topic']}; give that again, or start over "
                "with --fresh"
            )
        return note or {"topic": self._address.label, "rows": 0}

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        lines = encode_rows(rows, self._address.format, None, self._address.notation)
        topics, bad = find_topics(self._address.topic, rows)
        self._refused = [
            Reject(self._address.topic, note["rows"] + place + 1, reason, _text(lines, place))
            for place, reason in bad.items()
        ]
        for start in range(0, len(lines), CHUNK):
            stop = min(start + CHUNK, len(lines))
            messages = [
                (topics if isinstance(topics, str) else topics[start + place], each["value"])
                for place, each in enumerate(lines.messages(start, stop))
                if start + place not in bad
            ]
            self._send(messages)
        return {**note, "rows": note["rows"] + len(lines)}

    def refused(self) -> list[Reject]:
        return self._refused

    def sync(self) -> None:
        """What the broker has acknowledged is its own to keep."""

    def finish(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def interrupt(self) -> None:
        self._persistence.interrupt()

    def _send(self, messages: list[tuple[str, bytes]]) -> None:
        """All of them; those that were not acknowledged when a connection broke are sent again."""
        left = list(messages)
        if left:
            self._persistence.repeat(lambda: self._send_once(left))

    def _send_once(self, left: list[tuple[str, bytes]]) -> None:
        """Takes from the list what the broker has acknowledged."""
        connection = self._connection or Connection(self._what, self._address)
        sent: dict[int, tuple[str, bytes]] = {}
        try:
            if self._connection is None:
                connection.open()
                self._connection = connection
            connection.done.clear()
            sent = {connection.publish(*message): message for message in left}
            while len(connection.done) < len(left):
                connection.turn(0.05)
        except Unreachable:
            self._connection = None
            self._check_taken(connection)
            if sent:
                left[:] = [message for number, message in sent.items() if number not in connection.done]
            raise
        self._check_taken(connection)

    def _check_taken(self, connection: Connection) -> None:
        refused = next((reason for reason in connection.done.values() if reason is not None), None)
        if refused is not None:
            raise AuroraError(
                f"{self._what}: MQTT broker {self._address.server} does not take messages for "
                f"{self._address.topic}: {refused}; check the rights of the user"
            )


def _text(lines: Any, place: int) -> str:
    return str(lines.messages(place, place + 1)[0]["value"].decode("utf-8", "replace")[:500])


def find_topics(pattern: str, rows: pa.RecordBatch) -> tuple[str | list[str], dict[int, str]]:
    """The topic of each row, with the values of the fields that stand in braces; and the rows that can have none.

    >>> rows = pa.RecordBatch.from_pylist([{"room": "a"}, {"room": "b/#"}, {"room": None}])
    >>> find_topics("home/{room}", rows)[0][0], list(find_topics("home/{room}", rows)[1])
    ('home/a', [1, 2])
    """
    parts = FIELD.split(pattern)
    if len(parts) == 1:
        return pattern, {}
    cells = [part if place % 2 == 0 else cell_texts(rows.column(part)) for place, part in enumerate(parts)]
    topics = pc.binary_join_element_wise(*cells, "")
    wrong = pc.fill_null(pc.or_(pc.match_substring_regex(topics, BAD_TOPIC), pc.equal(topics, "")), True)
    reason = f"no topic can be made of {pattern}: a field is null or empty, or holds + or #"
    return topics.to_pylist(), dict.fromkeys(pc.indices_nonzero(wrong).to_pylist(), reason)


def open_mqtt_sink(name: str, text: str, schema: Schema) -> MqttSink:
    what = f"sink {name}"
    address = read_mqtt(what, text, SINK_OPTIONS)
    paho()
    for field in FIELD.findall(address.topic):
        if field not in schema or is_nested(schema[field]):
            near = did_you_mean(field, schema.names)
            raise AuroraError(
                f"{what}: {{{field}}} in the topic is not a plain field of the output{near}; its fields are "
                f"{', '.join(schema.names)}"
            )
    if re.search("[+#]", FIELD.sub("", address.topic)):
        raise AuroraError(f"{what}: {address.topic} holds + or #, which are for reading; name one topic")
    sink = MqttSink(name, address)
    sink.check()
    return sink
