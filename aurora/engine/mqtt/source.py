"""A topic of MQTT as a source: a cursor counts the messages that its receiver has kept."""

import json
import re
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from aurora.algebra.tuples.schema import Schema
from aurora.engine.durable import read_json, write_whole
from aurora.engine.kafka.address import KafkaAddress
from aurora.engine.kafka.values import Records, parse_values
from aurora.engine.mqtt.address import SOURCE_OPTIONS, MqttAddress, read_mqtt
from aurora.engine.mqtt.client import Connection, open_patiently, paho
from aurora.engine.mqtt.receiver import MqttReceiver
from aurora.engine.mqtt.spool import MessageSpool, MessageWriter
from aurora.engine.sources.source import Cursor, Piece, Portion
from aurora.engine.sources.text.lines import check_flat
from aurora.errors import AuroraError

__all__ = ["MqttPiece", "MqttTopic", "check_mqtt", "open_mqtt"]

# Levels of a filter: + is a whole one, # the last one.
FILTER = re.compile(r"(?:(?:\+|[^+#/]*)/)*(?:\+|#|[^+#/]*)")


@dataclass(frozen=True)
class MqttPiece:
    folder: str
    address: MqttAddress
    declared: Schema
    start: int
    stop: int

    def read(self, schema: Schema) -> Portion:
        found = MessageSpool(self.folder).read(self.start, self.stop)
        # A message is like a record of Kafka whose key is its topic.
        records = Records(
            list(found.payloads),
            np.arange(self.start, self.stop, dtype=np.int64),
            list(found.topics) if self.address.field is not None else None,
        )
        like = KafkaAddress("", "", self.address.format, self.address.field, notation=self.address.notation)
        portion = parse_values(records, like, self.declared, schema, 0)
        rejects = tuple(
            replace(bad, file=found.topics[bad.line - self.start].decode(), line=bad.line + 1)
            for bad in portion.rejects
        )
        return Portion(portion.rows, portion.numbers + self.start, rejects, found.arrived[portion.numbers])


@dataclass(frozen=True)
class MqttTopic:
    folder: str
    address: MqttAddress
    schema: Schema

    @property
    def live(self) -> bool:
        return True

    @property
    def _spool(self) -> MessageSpool:
        return MessageSpool(self.folder)

    def identity(self) -> str:
        return self.address.identity()

    def begin(self) -> Cursor:
        return {"row": 0}

    def advance(self, cursor: Cursor, rows: int) -> Cursor:
        # Asked for before the messages are counted: what came before it is there by now.
        broken = self._spool.broken()
        reached = min(cursor["row"] + rows, self._spool.count())
        if reached > cursor["row"]:
            return {"row": reached}
        if broken is not None:
            raise AuroraError(broken)
        return cursor

    def finished(self, cursor: Cursor) -> bool:
        return self._spool.ended() and bool(cursor["row"] >= self._spool.count())

    def waiting(self, cursor: Cursor) -> int:
        return max(self._spool.count() - int(cursor["row"]), 0)

    def pieces(self, start: Cursor, end: Cursor, number: int) -> list[Piece]:
        share = max(1, -(-(end["row"] - start["row"]) // number))
        return [
            MqttPiece(self.folder, self.address, self.schema, at, min(at + share, end["row"]))
            for at in range(start["row"], end["row"], share)
        ]

    def forget(self, cursor: Cursor) -> None:
        self._spool.forget(cursor["row"])


def check_mqtt(name: str, text: str) -> None:
    """Raises a fault unless the address can be understood, and there is a client."""
    address = read_mqtt(f"source {name}", text, SOURCE_OPTIONS)
    if not FILTER.fullmatch(address.topic):
        raise AuroraError(
            f"source {name}: '{address.topic}' is not a topic: + is one whole level, # is all at the end, as in "
            "home/+/heat or home/#"
        )
    paho()


def open_mqtt(name: str, text: str, schema: Schema, folder: Path) -> tuple[MqttTopic, MqttReceiver]:
    """`folder` keeps the messages, and the name by which the broker knows this run."""
    what = f"source {name}"
    address = read_mqtt(what, text, SOURCE_OPTIONS)
    if address.field is not None and (address.field not in schema or str(schema[address.field]) != "string"):
        raise AuroraError(
            f"{what}: topic={address.field} is not a string field of the input; its fields are "
            f"{', '.join(schema.names)}"
        )
    if not set(schema.names) - {address.field}:
        raise AuroraError(f"{what}: no field of the input is one of the messages; declare one that they have")
    if address.format == "csv":
        check_flat(schema, what)
    # Under no name: whether the broker lets it in, and before Spark starts.
    probe = Connection(what, address)
    open_patiently(probe, what, address)
    probe.close()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "session"
    again = note.exists()
    if not again:
        write_whole(note, json.dumps({"id": f"aurora-{uuid.uuid4().hex}"}))
    id = read_json(note)["id"]
    receiver = MqttReceiver(name, address, MessageWriter(folder), id, again)
    return MqttTopic(str(folder), address, schema), receiver
