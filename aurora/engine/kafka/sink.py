"""A topic as a sink. Rows and how many there are by now are written in one transaction, so that none comes twice."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.avro.registry import Registry, frame
from aurora.engine.avro.schema import schema_of
from aurora.engine.controls import replace_text
from aurora.engine.kafka.address import SINK_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.client import explain, kafka, producer, within
from aurora.engine.kafka.encode import Lines, encode_avro, encode_rows
from aurora.engine.kafka.trace import Trace, Tracer
from aurora.engine.outages import Persistence, Unreachable, try_patiently
from aurora.engine.sinks.sink import Note
from aurora.errors import AuroraError

__all__ = ["KafkaSink", "open_kafka_sink"]

Found = TypeVar("Found")
# Of one step with the broker, in seconds.
TIMEOUT = 10.0
# A step that takes longer does not come back.
LONGEST = 12.0
# So many rows are given to the client at once, and so many may wait in it.
CHUNK, WAITING = 20_000, 200_000


class KafkaSink:
    """Its note is the id of its transactions, the number of rows, and a mark of those that came again, if some do.

    The last row of each transaction has that number, too, in a header: rows that come again after a kill are known by
    it, and passed over. `ends` is where the topic ended before the last batch, from where on that row is looked for.
    """

    def __init__(self, name: str, address: KafkaAddress, schema: Schema) -> None:
        self._what = f"sink {name}"
        self._address = address
        self._schema = schema
        # A step takes seconds to fail: already the first fault is told.
        self._persistence = Persistence(self._what, address.server, passed=0)
        # What stands before a record: the number of its schema in a registry.
        self._frame = b""
        self._producer: Any = None
        self._tracer: Tracer | None = None
        self._failed: list[Any] = []
        self._heard: list[Any] = []
        # The rows that the broker has, and the mark of the last ones; of those that came again, the mark so far.
        self._written, self._mark, self._again = 0, 0, 0

    @property
    def place(self) -> None:
        return None

    def open(self, note: Note) -> Note:
        if note is not None and note["topic"] != self._address.label:
            raise AuroraError(
                f"{self._what}: the checkpoint belongs to a run into {note['topic']}; "
                "write to that topic again, or start over with --fresh"
            )
        tracer = self._check_topic()
        if self._address.format == "avro":
            self._tell_schema()
        if note is None:
            ends = tracer.ends()
            note = {
                "topic": self._address.label,
                "id": f"aurora-{uuid.uuid4().hex}",
                "rows": 0,
                "again": 0,
                "ends": ends,
            }
        self._drop()
        try_patiently(self._what, self._address.server, lambda: self._attempt(lambda: self._connect(note)))
        return note

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        if self._address.format == "avro":
            lines = encode_avro(rows, self._schema, self._frame, self._address.key)
        else:
            lines = encode_rows(rows, self._address.format, self._address.key)
        ends = self._persistence.repeat(lambda: self._attempt(lambda: self._write(lines, note)))
        rows_now = note["rows"] + rows.num_rows
        return {
            **note,
            "rows": rows_now,
            "again": self._again if rows_now < self._written else 0,
            "ends": ends,
        }

    def interrupt(self) -> None:
        self._persistence.interrupt()

    def sync(self) -> None:
        """A transaction that has ended is kept by all brokers that keep the topic."""

    def finish(self) -> None:
        self._drop()

    def _tell_schema(self) -> None:
        """To the registry, or into a file: who reads the topic needs it."""
        told = schema_of(self._schema, self._address.topic, f"{self._what}")
        if self._address.registry is not None:
            number = Registry(self._address.registry).register(f"{self._address.topic}-value", told)
            self._frame = frame(number)
        else:
            replace_text(Path(str(self._address.schema)), json.dumps(told, indent=2) + "\n")

    def _check_topic(self) -> Tracer:
        self._tracer = Tracer(self._address)
        try_patiently(self._what, self._address.server, self._tracer.check)
        return self._tracer

    def _connect(self, note: Note) -> None:
        """What an earlier run has left open is given up by the broker; what it has ended is read back."""
        if self._producer is not None:
            self._producer.poll(0)
            if not self._heard:
                return
            # Its broker was away: begun anew, it finds its way at once.
            self._drop()
        self._failed.clear()
        self._heard.clear()
        own: dict[str, Any] = {"delivery.report.only.error": True, "queue.buffering.max.messages": 0}
        if not self._address.transactions:
            self._producer = producer(self._address, {**own, "enable.idempotence": True}, self._heard)
            self._written = note["rows"]
            return
        made = producer(self._address, {**own, "transactional.id": note["id"]}, self._heard)
        within(LONGEST, made.init_transactions, TIMEOUT)
        assert self._tracer is not None
        found = self._tracer.find(note["id"], note["ends"]) or Trace(note["id"], 0, 0)
        self._written = max(found.rows, note["rows"])
        self._mark, self._again = found.mark, note["again"]
        self._producer = made

    def _write(self, lines: Lines, note: Note) -> dict[str, int]:
        """Gives where the topic ended before what was written."""
        self._connect(note)
        assert self._tracer is not None
        again = min(self._written - note["rows"], len(lines))
        if again > 0:
            self._check_again(lines, again, note)
        if again == len(lines):
            ends: dict[str, int] = note["ends"]
            return ends
        ends = self._tracer.ends()
        if not self._address.transactions:
            self._send(lines, again, len(lines))
            while self._producer.flush(TIMEOUT):
                self._check_sent()
            self._check_sent()
        else:
            self._producer.begin_transaction()
            self._send(lines, again, len(lines) - 1)
            # The mark is of all rows since the note: those are what comes again.
            mark = lines.mark(0, len(lines), note["again"])
            trace = Trace(note["id"], note["rows"] + len(lines), mark)
            (last,) = lines.messages(len(lines) - 1, len(lines))
            self._producer.produce(self._address.topic, **last, headers=[trace.header()])
            within(LONGEST, self._producer.commit_transaction, TIMEOUT)
        self._written = note["rows"] + len(lines)
        return ends

    def _check_again(self, lines: Lines, number: int, note: Note) -> None:
        """Rows that are there already are passed over only if they are the same."""
        found = lines.mark(0, number, note["again"])
        self._again = found
        if note["rows"] + number == self._written and found != self._mark:
            raise AuroraError(
                f"{self._what}: {self._address.topic} does not hold the rows that this run wrote to it; "
                "write to a new topic, and start over with --fresh"
            )

    def _send(self, lines: Lines, first: int, stop: int) -> None:
        for start in range(first, stop, CHUNK):
            messages = lines.messages(start, min(start + CHUNK, stop))
            sent = self._producer.produce_batch(
                self._address.topic, messages, on_delivery=lambda error, _: self._failed.append(error)
            )
            if sent != len(messages):
                raise kafka().KafkaException(next(each["_error"] for each in messages if "_error" in each))
            self._producer.poll(0)
            while len(self._producer) > WAITING:
                self._producer.poll(0.05)
                self._check_sent()

    def _check_sent(self) -> None:
        if self._failed:
            raise kafka().KafkaException(self._failed[0])

    def _attempt(self, step: Callable[[], Found]) -> Found:
        """After a fault all is begun anew, from what the broker says that it has."""
        try:
            return step()
        except (Unreachable, kafka().KafkaException) as fault:
            error = self._failed[0] if self._failed else fault.args[0]
            self._drop()
            self._judge(error)
            raise Unreachable(explain(self._address, error)) from None

    def _judge(self, error: Any) -> None:
        """Raises a fault where waiting would not help."""
        if isinstance(error, str):
            return
        codes = kafka().KafkaError
        why, code = explain(self._address, error), error.code()
        if code in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC):
            raise AuroraError(
                f"{self._what}: topic {self._address.topic} is gone from {self._address.hosts}; create it, and "
                "give the same command again"
            )
        if code in (codes.UNSUPPORTED_VERSION, codes._UNSUPPORTED_FEATURE):
            raise AuroraError(
                f"{self._what}: {self._address.hosts} has no transactions ({why}); add transactions=no, after "
                "which rows may come twice when a run is killed"
            )
        refused = (
            codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED,
            codes.CLUSTER_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED,
            codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, codes.MSG_SIZE_TOO_LARGE,
        )  # fmt: skip
        if code in refused:
            raise AuroraError(f"{self._what}: {self._address.label} refuses: {why}")

    def _drop(self) -> None:
        if self._producer is not None:
            self._producer.purge()
        self._producer = None


def open_kafka_sink(name: str, text: str, schema: Schema) -> KafkaSink:
    address = read_kafka(f"sink {name}", text, SINK_OPTIONS)
    address.resolved(f"sink {name}")
    kafka()
    if address.key is not None and address.key not in schema:
        raise AuroraError(
            f"sink {name}: key={address.key} is not a field of the output; its fields are {', '.join(schema.names)}"
        )
    if address.format == "avro":
        schema_of(schema, address.topic, f"sink {name}")
    return KafkaSink(name, address, schema)
