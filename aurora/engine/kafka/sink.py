"""A topic as a sink. Rows and how many there are by now are written in one transaction, so that none comes twice.

A batch counts, that is its note is kept, only once each partition has the end of its transaction; and which partition
a row goes to follows from its key or its number. So whatever a kill leaves open or takes away is of a batch that comes
again, and what a partition lacks is sent to it again. This matters because Kafka can lose the end of a transaction in
some of its partitions. The next transaction of the same producer would take along what lies open there, to its own end:
as that may be an abort, what lies open is aborted first, and then sent again.
"""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine.avro.registry import Registry, frame
from aurora.engine.avro.schema import schema_of
from aurora.engine.controls import replace_text
from aurora.engine.kafka.address import SINK_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.client import explain, kafka, producer, within
from aurora.engine.kafka.encode import Lines, Share, encode_avro, encode_rows
from aurora.engine.kafka.partitions import choose_partitions
from aurora.engine.kafka.trace import Start, Trace, Tracer
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
# Any partition: the client chooses one for each row.
ANY = -1


class KafkaSink:
    """A topic that a run writes to.

    Its note is the id of its transactions, the number of rows, and for each partition a mark of those that came again,
    if some do. The last row that a transaction writes to a partition has that number, too, in a header: rows that come
    again after a kill are known by it, and passed over. `ends` is where the topic ended before the last batch, from
    where on that row is looked for; `partitions` is how many of them the next batch is spread over.
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
        # By partition what the broker has of this sink; None until it was asked.
        self._traces: dict[int, Trace] | None = None

    @property
    def place(self) -> None:
        return None

    def open(self, note: Note) -> Note:
        if note is not None and note["topic"] != self._address.label:
            raise AuroraError(
                f"{self._what}: the checkpoint belongs to a run into {note['topic']}; "
                "write to that topic again, or start over with --fresh"
            )
        tracer, partitions = self._check_topic()
        if self._address.format == "avro":
            self._tell_schema()
        if note is None:
            # A topic that was made just now may have no leaders yet.
            ends = try_patiently(self._what, self._address.server, tracer.ends)
            note = {
                "topic": self._address.label,
                "id": f"aurora-{uuid.uuid4().hex}",
                "rows": 0,
                "again": {},
                "ends": ends,
                "partitions": partitions,
            }
        elif "partitions" not in note:
            old = note
            note = try_patiently(
                self._what, self._address.server, lambda: self._renew(old, tracer, partitions)
            )
        elif partitions < note["partitions"]:
            raise AuroraError(
                f"{self._what}: {self._address.label} has fewer partitions than this run wrote to: it is another "
                "topic of that name; start over with --fresh"
            )
        self._drop()
        try_patiently(self._what, self._address.server, lambda: self._attempt(lambda: self._begin(note)))
        return note

    def deliver(self, batch: int, rows: pa.RecordBatch, arrived: Ints, note: Note) -> Note:
        if self._address.format == "avro":
            lines = encode_avro(rows, self._schema, self._frame, self._address.key)
        else:
            lines = encode_rows(rows, self._address.format, self._address.key, self._address.notation)
        shares = self._shares(lines, note)
        return self._persistence.repeat(lambda: self._attempt(lambda: self._write(shares, len(lines), note)))

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
            replace_text(Path(str(self._address.schema)), json.dumps(told, indent=2) + "\n", 0o666)

    def _check_topic(self) -> tuple[Tracer, int]:
        self._tracer = tracer = Tracer(self._what, self._address, self._persistence.stopped)
        return tracer, len(try_patiently(self._what, self._address.server, tracer.partitions))

    def _renew(self, note: Note, tracer: Tracer, partitions: int) -> Note:
        """Return a note of an earlier version as one of today's; its batches had one trace for all partitions."""
        traces = tracer.find(note["id"], note["ends"]).values()
        if note["again"] or any(trace.rows > note["rows"] for trace in traces):
            raise AuroraError(
                f"{self._what}: an earlier version of Aurora was killed while it wrote to {self._address.label}; "
                "continue with that version and stop it with Ctrl-C, or start over with --fresh"
            )
        return {**note, "again": {}, "partitions": partitions}

    def _begin(self, note: Note) -> None:
        """Connect; what an earlier run has left open is given up by the broker."""
        self._failed.clear()
        self._heard.clear()
        self._traces = None
        own: dict[str, Any] = {"delivery.report.only.error": True, "queue.buffering.max.messages": 0}
        if not self._address.transactions:
            self._producer = producer(self._address, {**own, "enable.idempotence": True}, self._heard)
            return
        made = producer(self._address, {**own, "transactional.id": note["id"]}, self._heard)
        within(LONGEST, made.init_transactions, TIMEOUT)
        self._producer = made

    def _connect(self, note: Note) -> dict[int, Trace]:
        """Return what the broker has of this sink, after whatever was open has ended."""
        if self._producer is not None:
            self._producer.poll(0)
            if self._heard:
                # Its broker was away: begun anew, it finds its way at once.
                self._drop()
        if self._producer is None:
            self._begin(note)
        if self._traces is None and self._address.transactions:
            tracer = self._known()
            tracer.settle(note["id"], note["rows"], self._abort)
            self._traces = tracer.find(note["id"], note["ends"])
        return self._traces or {}

    def _known(self) -> Tracer:
        assert self._tracer is not None
        return self._tracer

    def _abort(self, partitions: list[int]) -> None:
        """End what an earlier transaction of this id has left open in some partitions, so that none of it counts."""
        self._producer.begin_transaction()
        for number in partitions:
            # The client tells the broker of a partition only with a record; this one does not count either.
            self._producer.produce(
                self._address.topic,
                None,
                b"aurora",
                number,
                on_delivery=lambda error, _: self._failed.append(error),
            )
        within(LONGEST, self._producer.flush, TIMEOUT)
        within(LONGEST, self._producer.abort_transaction, TIMEOUT)
        self._failed.clear()

    def _shares(self, lines: Lines, note: Note) -> dict[int, Share]:
        """Return the rows of a batch by their partitions; without transactions, the client chooses these."""
        if not self._address.transactions:
            return {ANY: Share(lines, 0, np.arange(len(lines)))}
        chosen = choose_partitions(lines.keys, len(lines), note["rows"], note["partitions"])
        order = np.argsort(chosen, kind="stable")
        numbers, starts = np.unique(chosen[order], return_index=True)
        lines = lines.take(order)
        stops = [*starts[1:].tolist(), len(lines)]
        return {
            number: Share(lines, start, order[start:stop])
            for number, start, stop in zip(numbers.tolist(), starts.tolist(), stops, strict=False)
        }

    def _write(self, shares: dict[int, Share], number: int, note: Note) -> Note:
        """Send what the broker does not have of so many rows; return the note behind them."""
        traces, rows, again = self._connect(note), note["rows"] + number, note["again"]
        for each, trace in traces.items():
            self._check_again(each, trace, shares.get(each), rows, note)
        marks = {each: share.mark(again.get(str(each), 0)) for each, share in shares.items()}
        missing = {
            each: share.behind(traces[each].rows - note["rows"] if each in traces else 0)
            for each, share in shares.items()
        }
        missing = {each: share for each, share in missing.items() if len(share)}
        ends, partitions = note["ends"], note["partitions"]
        if missing:
            tracer = self._known()
            now = tracer.ends()
            if self._address.transactions:
                self._commit(missing, marks, rows, note)
                tracer.see_end(note["id"], list(missing))
            else:
                self._flush(missing)
            traces = traces | {each: Trace(note["id"], rows, marks[each]) for each in missing}
            self._traces = traces
            if all(trace.rows <= rows for trace in traces.values()):
                # Nothing that comes again lies before this.
                ends, partitions = now, len(now)
        behind = {str(each): mark for each, mark in marks.items()}
        return {
            **note,
            "rows": rows,
            "again": {
                str(each): {**again, **behind}.get(str(each), 0)
                for each, trace in traces.items()
                if trace.rows > rows
            },
            "ends": ends,
            "partitions": partitions,
        }

    def _check_again(self, partition: int, trace: Trace, share: Share | None, rows: int, note: Note) -> None:
        """Raise a fault if rows that are there already, and are passed over, are not the same."""
        if not note["rows"] < trace.rows <= rows:
            return
        mark = note["again"].get(str(partition), 0)
        if share is not None:
            mark = share.before(trace.rows - note["rows"]).mark(mark)
        if mark != trace.mark:
            raise AuroraError(
                f"{self._what}: {self._address.topic} does not hold the rows that this run wrote to it; "
                "write to a new topic, and start over with --fresh"
            )

    def _commit(self, missing: dict[int, Share], marks: dict[int, int], rows: int, note: Note) -> None:
        self._producer.begin_transaction()
        opening = Start(note["id"], note["rows"]).header()
        for each, share in missing.items():
            # The mark is of all rows since the note: those are what comes again.
            trace, last = Trace(note["id"], rows, marks[each]).header(), len(share) - 1
            if last:
                self._send_one(share, 0, each, opening)
                self._send(share, 1, last, each)
            self._send_one(share, last, each, trace)
        within(LONGEST, self._producer.commit_transaction, TIMEOUT)

    def _flush(self, missing: dict[int, Share]) -> None:
        for each, share in missing.items():
            self._send(share, 0, len(share), each)
        while self._producer.flush(TIMEOUT):
            self._check_sent()
        self._check_sent()

    def _send_one(self, share: Share, row: int, partition: int, header: tuple[str, bytes]) -> None:
        (message,) = share.messages(row, row + 1)
        self._producer.produce(self._address.topic, **message, partition=partition, headers=[header])

    def _send(self, share: Share, first: int, stop: int, partition: int) -> None:
        for start in range(first, stop, CHUNK):
            messages = share.messages(start, min(start + CHUNK, stop))
            sent = self._producer.produce_batch(
                self._address.topic,
                messages,
                partition=partition,
                on_delivery=lambda error, _: self._failed.append(error),
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
