"""Topics of a real broker, which these tests start, kill and start again."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from aurora import Schema
from aurora.algebra.tuples.train import Ints
from aurora.engine import outages
from aurora.engine.kafka import piece as kafka_piece
from aurora.engine.kafka import sink as kafka_sink
from aurora.engine.kafka import source as kafka_source
from aurora.engine.kafka import topic as kafka_topic
from aurora.engine.kafka import trace as kafka_trace
from aurora.engine.kafka.sink import KafkaSink, open_kafka_sink
from aurora.engine.kafka.source import KafkaTopic, open_kafka
from aurora.engine.outages import Unreachable
from aurora.engine.sinks.sink import Interrupted
from aurora.engine.sources.source import Cursor, Portion
from aurora.engine.waits import waits
from aurora.errors import AuroraError
from tests.engine.kafka_broker import PASSWORD, Broker, broker_in, forget_clients, until
from tests.engine.postgres_server import Server
from tests.engine.processes import aurora, kill, start_here, wait_for
from tests.engine.test_postgres_runs import give, server, write_files
from tests.test_docs import blocks, call

__all__ = ["server"]

SCHEMA = Schema.parse("id bigint, km double")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker_in(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture(autouse=True)
def no_clients_left() -> Iterator[None]:
    yield
    forget_clients()


def opened(
    broker: Broker, topic: str, folder: Path, schema: Schema = SCHEMA, options: str = "", follow: bool = False
) -> KafkaTopic:
    text = f"kafka:{broker.hosts}/{topic}{options}"
    return open_kafka("trips", text, schema, follow, folder / f"{topic}.note")


def lines(*ids: int) -> list[bytes | None]:
    return [b'{"id": %d, "km": 1.5}' % number for number in ids]


def portions(source: KafkaTopic, start: Cursor, end: Cursor, number: int) -> list[Portion]:
    return [piece.read(source.schema) for piece in source.pieces(start, end, number)]


def numbered(found: list[Portion], field: str = "id") -> list[tuple[int, object]]:
    return [
        (number, value)
        for part in found
        for number, value in zip(part.numbers.tolist(), part.rows.column(field).to_pylist(), strict=True)
    ]


def test_partitions_come_one_after_the_other_however_they_are_cut(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create("cut", 3)
    for partition, ids in enumerate([range(40), range(100, 110), range(200, 230)]):
        broker.send(topic, lines(*ids), partition)
    source = opened(broker, topic, tmp_path)
    middle = source.advance(source.begin(), 40)
    assert middle == {"row": 40, "offsets": {"0": 20, "1": 5, "2": 15}}
    end = source.advance(middle, 1000)
    assert source.finished(end) and not source.finished(middle) and source.waiting(middle) == 40
    first = [*range(20), *range(100, 105), *range(200, 215)]
    second = [*range(20, 40), *range(105, 110), *range(215, 230)]
    for number in (1, 2, 7):
        assert numbered(portions(source, source.begin(), middle, number)) == list(enumerate(first))
        assert numbered(portions(source, middle, end, number)) == list(enumerate(second, 40))
    # What came after the start belongs to another run; one that goes on ends where it would have.
    broker.send(topic, lines(999))
    assert source.advance(end, 10) == end
    assert opened(broker, topic, tmp_path).last == source.last


def test_bad_records_are_told_with_their_offsets(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create("bad")
    broker.send(topic, [*lines(1), b"{poison", None, b"", b'{\n  "id": 2\n}\n', b'{"id": "x"}'])
    source = opened(broker, topic, tmp_path)
    end = source.advance(source.begin(), 100)
    (found,) = portions(source, source.begin(), end, 1)
    assert numbered([found]) == [(0, 1), (4, 2)]
    assert [(bad.file, bad.line) for bad in found.rejects] == [("bad/0", 1), ("bad/0", 3), ("bad/0", 5)]
    assert "x" in found.rejects[2].reason and found.rejects[0].text == "{poison"


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_records_are_the_same_however_many_come_at_once(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """With gaps between the offsets, deletions, and bad records, within a chunk and at its ends."""
    from confluent_kafka import Producer

    monkeypatch.setattr(kafka_piece, "CHUNK", chunk)
    topic = broker.create(f"chunks-{chunk}")
    settings = {"bootstrap.servers": broker.hosts, "transactional.id": topic, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(60)
    for values in (lines(1, 2), [None], [*lines(3), b"poison", *lines(4, 5, 6)]):
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, key=b"7", timestamp=1_000)
        producer.commit_transaction()
    schema = Schema.parse("id bigint, km double, who int, at bigint")
    source = opened(broker, topic, tmp_path, schema, "?key=who&timestamp=at")
    end = source.advance(source.begin(), 100)
    assert end["row"] == 11
    for number in (1, 2):
        found = portions(source, source.begin(), end, number)
        assert numbered(found) == [(0, 1), (1, 2), (5, 3), (7, 4), (8, 5), (9, 6)]
        assert numbered(found, "at") == [(row, 1000) for row in (0, 1, 5, 7, 8, 9)]
        assert [(bad.file, bad.line) for each in found for bad in each.rejects] == [(f"{topic}/0", 6)]


def test_keys_and_times_are_fields_and_a_time_is_a_start(broker: Broker, tmp_path: Path) -> None:
    topic = broker.create("keyed")
    broker.send(topic, [b'a,"x,y"', b"b,z"], key=b"7", timestamp=1_000)
    broker.send(topic, [b"c,z"], key=b"eight", timestamp=2_000)
    broker.send(topic, [b"d,z"], key=b"9", timestamp=3_000)
    schema = Schema.parse("at timestamp, name string, number int, more string")
    source = opened(broker, topic, tmp_path, schema, "?format=csv&key=number&timestamp=at&start=1001")
    assert source.begin()["offsets"] == {"0": 2}
    source = opened(broker, topic, tmp_path / "..", schema, "?format=csv&key=number&timestamp=at")
    (found,) = portions(source, source.begin(), source.advance(source.begin(), 10), 1)
    assert found.rows.column("more").to_pylist() == ["x,y", "z", "z"]
    assert found.rows.column("number").to_pylist() == [7, 7, 9]
    assert [moment.timestamp() for moment in found.rows.column("at").to_pylist()] == [1, 1, 3]
    assert [(bad.line, bad.reason) for bad in found.rejects] == [(2, "field number: 'eight' is not an int")]


def test_what_is_not_committed_is_not_seen(broker: Broker, tmp_path: Path) -> None:
    from confluent_kafka import Producer

    topic = broker.create("transactions")
    producer = Producer({"bootstrap.servers": broker.hosts, "transactional.id": "test", "log_level": 0})
    producer.init_transactions(60)
    for number, commit in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.produce(topic, lines(number)[0])
        producer.flush(60)
        producer.commit_transaction() if commit else producer.abort_transaction()
    source = opened(broker, topic, tmp_path, follow=True)
    until(lambda: source.advance(source.begin(), 100)["row"] == 6)
    end = source.advance(source.begin(), 100)
    for number in (1, 3, 6):
        assert numbered(portions(source, source.begin(), end, number)) == [(0, 1), (4, 3)]


def test_new_partitions_are_noticed(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka.admin import NewPartitions

    monkeypatch.setattr(kafka_source, "PARTITIONS_AGE", 0.0)
    topic = broker.create("growing")
    source = opened(broker, topic, tmp_path, options="?start=latest", follow=True)
    assert source.live and source.keeps and source.advance(source.begin(), 10) == source.begin()
    broker.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
    until(lambda: source.advance(source.begin(), 10) != source.begin())
    place = source.advance(source.begin(), 10)
    assert place["offsets"] == {"0": 0, "1": 0} and "new partitions: 1" in place["notice"]
    broker.send(topic, lines(5), 1)
    until(lambda: source.advance(place, 10)["row"] == 1)
    assert numbered(portions(source, place, source.advance(place, 10), 2)) == [(0, 5)]


def test_a_topic_that_is_not_there_or_no_more(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AuroraError, match=r"has no topic missing; create it, or check the name$"):
        opened(broker, "missing", tmp_path)
    monkeypatch.setattr(kafka_topic, "GONE_AFTER", 0.0)
    monkeypatch.setattr(kafka_source, "PARTITIONS_AGE", 0.0)
    topic = broker.create("deleted")
    broker.send(topic, lines(1))
    source = opened(broker, topic, tmp_path, follow=True)
    until(lambda: source.advance(source.begin(), 10)["row"] == 1)
    place = source.advance(source.begin(), 10)
    broker.admin.delete_topics([topic])[topic].result(60)
    with pytest.raises(AuroraError, match=r"^topic deleted was deleted from .* while it was read"):
        until(lambda: source.advance(place, 10) != place)
    with pytest.raises(AuroraError, match=r"^(topic deleted was deleted|topic deleted, partition 0)"):
        portions(source, source.begin(), place, 1)


def test_records_that_are_not_kept_any_more(broker: Broker, tmp_path: Path) -> None:
    from confluent_kafka import TopicPartition

    topic = broker.create("short")
    broker.send(topic, lines(1, 2, 3))
    source = opened(broker, topic, tmp_path)
    end = source.advance(source.begin(), 10)
    for told in broker.admin.delete_records([TopicPartition(topic, 0, 2)]).values():
        told.result(60)
    with pytest.raises(AuroraError, match=r"partition 0: the records from offset 0 on are no longer there"):
        portions(source, source.begin(), end, 1)


def rows_of(*ids: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": number, "km": None} for number in ids], SCHEMA.arrow())


def sink_into(broker: Broker, topic: str, options: str = "") -> KafkaSink:
    return open_kafka_sink("far", f"kafka:{broker.hosts}/{topic}{options}", SCHEMA)


def arrived(number: int) -> Ints:
    return np.zeros(number, np.int64)


def test_a_batch_that_comes_again_is_known(broker: Broker) -> None:
    topic = broker.create("once", 2)
    sink = sink_into(broker, topic, "?key=id&format=csv")
    start = sink.open(None)
    first = sink.deliver(0, rows_of(1, 2, 3), arrived(3), start)
    assert first["rows"] == 3
    # The run is killed between the rows and the note; the batch may be another cut of the same rows.
    for cuts in ([(1, 2, 3)], [(1, 2), (3, 4)], [(1, 2, 3, 4, 5)]):
        sink, note = sink_into(broker, topic, "?key=id&format=csv"), start
        for ids in cuts:
            note = sink.deliver(0, rows_of(*ids), arrived(len(ids)), sink.open(note))
    assert sorted(broker.read(topic)) == [(b"%d" % number, b"%d," % number) for number in range(1, 6)]
    other = sink_into(broker, topic, "?key=id&format=csv")
    with pytest.raises(AuroraError, match=r"once does not hold the rows that this run wrote to it"):
        other.deliver(0, rows_of(9, 2, 3, 4, 5), arrived(5), other.open(start))


def test_rows_of_a_run_that_was_killed_before_the_end_of_a_batch_do_not_count(broker: Broker) -> None:
    topic = broker.create("halves")
    sink = sink_into(broker, topic)
    note = sink.open(None)
    sink._connect(note)
    sink._producer.begin_transaction()
    sink._producer.produce(topic, b"half")
    sink._producer.flush(60)
    again = sink_into(broker, topic)
    again.deliver(0, rows_of(1), arrived(1), again.open(note))
    assert broker.read(topic) == [(None, b'{"id": 1, "km": null}')]


def test_a_note_of_an_earlier_version_goes_on_if_its_batch_was_done(broker: Broker) -> None:
    """Its transactions had one trace for all partitions, so a batch that comes again cannot be told apart."""
    topic = broker.create("old", 2)
    sink = sink_into(broker, topic, "?key=id")
    start = sink.open(None)
    note = sink.deliver(0, rows_of(*range(6)), arrived(6), start)
    old = {"topic": note["topic"], "id": note["id"], "rows": 6, "again": 0, "ends": start["ends"]}
    sink = sink_into(broker, topic, "?key=id")
    assert sink.deliver(1, rows_of(6, 7), arrived(2), sink.open(old))["rows"] == 8
    assert sorted(int(key or b"") for key, _ in broker.read(topic)) == list(range(8))
    for undone in ({**old, "rows": 5}, {**old, "again": 7}):
        with pytest.raises(
            AuroraError, match=r"an earlier version of Aurora was killed while it wrote to kafka:.*/old;"
        ):
            sink_into(broker, topic, "?key=id").open(undone)


def test_keys_go_where_other_clients_put_them(broker: Broker) -> None:
    from confluent_kafka import Producer

    topic, theirs = broker.create("keys", 3), broker.create("their-keys", 3)
    sink = sink_into(broker, topic, "?key=id&format=csv")
    sink.deliver(0, rows_of(*range(50)), arrived(50), sink.open(None))
    producer = Producer({"bootstrap.servers": broker.hosts, "partitioner": "murmur2_random", "log_level": 0})
    for number in range(50):
        producer.produce(theirs, b"%d," % number, b"%d" % number)
    assert producer.flush(60) == 0
    assert broker.read(topic) == broker.read(theirs)


def test_a_topic_that_was_made_just_now_is_waited_for(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker knows its partitions before each of them has a leader."""
    monkeypatch.setattr(outages, "PAUSE", 0.0)
    offsets, faults = kafka_topic.Topic.offsets, [Unreachable("Not leader for partition")]

    def offsets_later(self: kafka_topic.Topic, partitions: list[int], moment: int) -> dict[int, int]:
        if faults:
            raise faults.pop()
        return offsets(self, partitions, moment)

    monkeypatch.setattr(kafka_topic.Topic, "offsets", offsets_later)
    topic = broker.create("young", 2)
    note = sink_into(broker, topic).open(None)
    assert faults == [] and note["ends"] == {"0": 0, "1": 0}
    faults.append(Unreachable("Not leader for partition"))
    old = {"topic": note["topic"], "id": note["id"], "rows": 0, "again": 0, "ends": note["ends"]}
    assert sink_into(broker, topic).open(old)["partitions"] == 2 and faults == []


def lose_marks(broker: Broker, sizes: dict[Path, int]) -> None:
    """Kills the broker and starts it again without the marks in some partitions, whose transaction it has ended.

    A broker that is killed between a commit and its marks, and started again, can leave them out for good.
    """
    broker.kill()
    for log, size in sizes.items():
        assert log.stat().st_size > size
        os.truncate(log, size)
    broker.start()


def test_marks_that_the_broker_lost_are_made_up_for(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row once, in whichever partitions the end of a commit is missing, and whether or not the run lives."""
    for topic in ("lost-0", "lost-1", "lost-2"):
        broker.create(topic, 2)
    lives, killed, aborted = (
        sink_into(broker, f"lost-{number}", "?key=id&format=csv") for number in range(3)
    )
    own, settle = kafka_sink.within, kafka_trace.Tracer.settle
    sizes: dict[Path, int] = {}

    class Killed(Exception):
        pass

    def before(seconds: float, call: Any, *arguments: Any) -> Any:
        """At the first commit to each topic; what these rows' partitions have before it is what they keep."""
        if call.__name__ != "commit_transaction":
            return own(seconds, call, *arguments)
        sink = next(each for each in (lives, killed, aborted) if call.__self__ is each._producer)
        topic = sink._address.topic
        call.__self__.flush(60)
        logs = [broker.log_of(topic, number) for number in (0, 1)]
        sizes.update({log: log.stat().st_size for log in (logs[1:] if sink is killed else logs)})
        if sink is aborted:
            raise Killed
        own(seconds, call, *arguments)
        until(lambda: broker.is_settled(topic))
        if sink is killed:
            raise Killed
        monkeypatch.setattr(kafka_sink, "within", own)
        # Those marks never come. Those of what is aborted then do, on a busy machine late.
        monkeypatch.setattr(kafka_trace, "SOON", 0.1)
        return lose_marks(broker, sizes)

    def settle_patiently(self: kafka_trace.Tracer, *given: Any) -> None:
        monkeypatch.setattr(kafka_trace, "SOON", 60.0)
        settle(self, *given)

    notes = [sink.open(None) for sink in (lives, killed, aborted)]
    monkeypatch.setattr(kafka_sink, "within", before)
    monkeypatch.setattr(kafka_trace.Tracer, "settle", settle_patiently)
    for sink, note in ((killed, notes[1]), (aborted, notes[2])):
        with pytest.raises(Killed):
            sink.deliver(0, rows_of(*range(8)), arrived(8), note)
    # A new producer of that id ends what the killed one left open.
    sink_into(broker, "lost-2").open(notes[2])
    until(lambda: broker.is_settled("lost-2"))
    done = lives.deliver(0, rows_of(*range(8)), arrived(8), notes[0])
    assert not broker.is_settled("lost-1") and not broker.is_settled("lost-2")
    lives.deliver(1, rows_of(8, 9), arrived(2), done)
    # The batch comes again, in other cuts.
    for name, note in (("lost-1", notes[1]), ("lost-2", notes[2])):
        sink = sink_into(broker, name, "?key=id&format=csv")
        sink.open(note)
        for ids in ((0, 1, 2), (3, 4), (5, 6, 7, 8), (9,)):
            note = sink.deliver(0, rows_of(*ids), arrived(len(ids)), note)
            sink = sink_into(broker, name, "?key=id&format=csv")
            sink.open(note)
        assert note["rows"] == 10 and note["again"] == {}
    for name in ("lost-0", "lost-1", "lost-2"):
        assert broker.is_settled(name)
        assert sorted(value for _, value in broker.read(name)) == [b"%d," % number for number in range(10)]


def test_lost_marks_of_rows_that_count_are_told(broker: Broker) -> None:
    """They cannot be sent again. It takes a transaction of another client that hid them from the run."""
    topic = broker.create("counted")
    sink = sink_into(broker, topic)
    note = sink.open(None)
    sink._producer.begin_transaction()
    sink._producer.produce(topic, b"1", headers=[kafka_trace.Trace(note["id"], 1, 0).header()])
    sink._producer.flush(60)
    sizes = {broker.log_of(topic, 0): broker.log_of(topic, 0).stat().st_size}
    sink._producer.commit_transaction(60)
    until(lambda: broker.is_settled(topic))
    lose_marks(broker, sizes)
    again = sink_into(broker, topic)
    again.open(note)
    with pytest.raises(AuroraError) as fault:
        again.deliver(1, rows_of(2), arrived(1), {**note, "rows": 1})
    assert str(fault.value) == (
        f"sink far: kafka:{broker.hosts}/counted lacks the end of a transaction of this run that counts as written; "
        f"abort it with: kafka-transactions.sh --bootstrap-server {broker.hosts} abort --topic counted --partition 0 "
        "--start-offset 0, and give the same command again; rows of this run in this partition from that offset on "
        "are lost"
    )


def test_transactions_of_other_clients_are_waited_for_at_the_start_alone(broker: Broker) -> None:
    topic = broker.create("shared")
    sink = sink_into(broker, topic)
    note = sink.open(None)
    other = broker.open_transaction(topic, b"other")
    with ThreadPoolExecutor(1) as beside:
        delivered = beside.submit(sink.deliver, 0, rows_of(1), arrived(1), note)
        open_one = f"sink far: a transaction of another client is open in kafka:{broker.hosts}/shared"
        until(lambda: [each.what for each in waits.lasting(0.0)] == [open_one])
        assert not delivered.done()
        other.commit_transaction(60)
        note = delivered.result(60)
    assert waits.lasting(0.0) == []
    other = broker.open_transaction(topic, b"more")
    assert sink.deliver(1, rows_of(2), arrived(1), note)["rows"] == 2
    again = sink_into(broker, topic)
    again.open(note)
    again.interrupt()
    with pytest.raises(Interrupted, match="the run was stopped while it waited for Kafka"):
        again.deliver(1, rows_of(2), arrived(1), note)
    other.abort_transaction(60)
    assert len(broker.read(topic)) == 3


def test_a_sink_without_transactions_and_faults_of_sinks(broker: Broker) -> None:
    topic = broker.create("plain")
    sink = sink_into(broker, topic, "?transactions=no")
    note = sink.deliver(0, rows_of(1, 2), arrived(2), sink.open(None))
    sink.finish()
    assert note["rows"] == 2 and len(broker.read(topic)) == 2
    with pytest.raises(AuroraError, match=r"has no topic nowhere; create it"):
        sink_into(broker, "nowhere").open(None)
    with pytest.raises(AuroraError, match=r"key=who is not a field of the output; its fields are id, km"):
        sink_into(broker, topic, "?key=who")
    with pytest.raises(AuroraError, match=r"the checkpoint belongs to a run into kafka:.*/plain"):
        sink_into(broker, "once").open(note)


# Enough for a kill in the middle of them.
ROWS = 5000
NETWORK = """network: trips
inputs:
  trips: {schema: "id bigint, km double"}
boxes:
  far: {filter: ["km > 1"], from: trips}
outputs:
  far: {from: far}
  all: {from: trips}
"""


def test_a_run_through_kills_of_broker_and_run(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    """Every row once in a file and in a topic, though the broker is killed, and then the run."""
    came, far = broker.create("came", 2), broker.create("far", 2)
    network, log, copy = tmp_path / "net.yaml", tmp_path / "log", tmp_path / "copy.jsonl"
    network.write_text(NETWORK)
    command = [
        "run", str(network), "--source", f"trips=kafka:{broker.hosts}/{came}", "--follow",
        "--sink", f"far=kafka:{broker.hosts}/{far}?key=id", "--sink", f"all=json:{copy}",
        "--checkpoint", str(tmp_path / "checkpoint"),
    ]  # fmt: skip

    def send(start: int, stop: int) -> None:
        broker.send(came, lines(*range(start, stop, 2)), 0)
        broker.send(came, lines(*range(start + 1, stop, 2)), 1)

    def copied() -> int:
        return copy.read_bytes().count(b"\n") if copy.exists() else 0

    send(0, 100)
    run = aurora(command, log)
    try:
        wait_for(run, lambda: copied() == 100 and broker.is_settled(far))
        broker.kill()
        wait_for(run, lambda: b"does not answer (" in log.read_bytes())
        broker.start()
        wait_for(run, lambda: b"answers again; the run continues" in log.read_bytes())
        send(100, 200)
        wait_for(run, lambda: copied() == 200)
        broker.send(came, [b"poison"])
        send(200, ROWS)
        wait_for(run, lambda: copied() > 200)
        kill(run)
        with start_here(command) as again:
            until(lambda: copied() == ROWS)
            send(ROWS, ROWS + 100)
            until(lambda: copied() == ROWS + 100)
            until(lambda: len(broker.read(far)) >= ROWS + 100)
            assert not again.stop().ended
    finally:
        if run.poll() is None:
            kill(run)
    expected = [b"%d" % number for number in range(ROWS + 100)]
    assert sorted(key or b"" for key, _ in broker.read(far)) == sorted(expected)
    assert sorted(json.loads(line)["id"] for line in copy.read_text().splitlines()) == list(range(ROWS + 100))
    (bad,) = (tmp_path / "rejects.csv").read_text().splitlines()[1:]
    assert bad.startswith("trips,came/0,") and bad.endswith("not a JSON object,poison")


def test_the_page(
    broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of docs/kafka.md in their order, with this broker for the one of the page."""
    monkeypatch.chdir(tmp_path)
    done = 0
    for block in blocks("docs/kafka.md"):
        if block.file is not None:
            Path(block.file).write_text(block.text)
        for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            first, *arguments = shlex.split(command.replace("localhost:9092", broker.hosts))
            if first == "kafka-topics.sh":
                given = dict(pairwise(arguments))
                broker.create(given["--topic"], int(given["--partitions"]))
            elif first == "cat":
                assert Path(arguments[0]).read_text() == shown
            else:
                assert first == "aurora", command
                status, _, told = call(arguments)
                assert status == 0, told
            done += 1
    assert done == 6 and len(broker.read("readings")) == 4


def test_a_sink_waits_for_its_broker_and_tells(
    broker: Broker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Steps that fail do so sooner.
    monkeypatch.setattr(kafka_sink, "TIMEOUT", 2.0)
    monkeypatch.setattr(kafka_sink, "LONGEST", 3.0)
    topic = broker.create("waiting")
    sink = sink_into(broker, topic)
    note = sink.deliver(0, rows_of(1), arrived(1), sink.open(None))
    assert len(broker.read(topic)) == 1
    broker.kill()
    with ThreadPoolExecutor(1) as beside:
        delivered = beside.submit(sink.deliver, 1, rows_of(2), arrived(1), note)
        until(lambda: "does not take rows" in caplog.text)
        other = sink_into(broker, topic)
        other.interrupt()
        with pytest.raises(Interrupted, match="the run was stopped while it waited for Kafka"):
            other.deliver(1, rows_of(2), arrived(1), note)
        broker.start()
        assert delivered.result(120)["rows"] == 2
    assert "takes rows again; the run continues" in caplog.text
    assert len(broker.read(topic)) == 2


def test_rows_go_through_a_topic_as_avro(broker: Broker, tmp_path: Path) -> None:
    topic, file = broker.create("avro"), tmp_path / "trips.avsc"
    options = f"?format=avro&schema={file}"
    sink = sink_into(broker, topic, options)
    rows = pa.RecordBatch.from_pylist([{"id": 7, "km": 1.5}, {"id": 8, "km": None}], SCHEMA.arrow())
    note = sink.deliver(0, rows, arrived(2), sink.open(None))
    assert note["rows"] == 2 and json.loads(file.read_text())["fields"][0]["name"] == "id"
    broker.send(topic, [b"\x02"])
    source = opened(broker, topic, tmp_path, options=options)
    (found,) = portions(source, source.begin(), source.advance(source.begin(), 100), 1)
    assert found.rows.to_pylist() == rows.to_pylist()
    assert [(bad.file, bad.reason) for bad in found.rejects] == [("avro/0", "the record ends too soon")]


def guarded(broker: Broker, topic: str) -> str:
    options = (
        "kafka.security.protocol=SASL_SSL&kafka.sasl.mechanism=PLAIN&kafka.sasl.username=ann&"
        f"kafka.sasl.password=$AURORA_TEST_PASSWORD&kafka.ssl.ca.location={broker.certificate}"
    )
    return f"kafka:127.0.0.1:{broker.guarded}/{topic}?{options}"


def test_through_a_guarded_door(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = broker.create("guarded")
    address = guarded(broker, topic)
    monkeypatch.setenv("AURORA_TEST_PASSWORD", PASSWORD)
    sink = open_kafka_sink("far", address, SCHEMA)
    sink.deliver(0, rows_of(1, 2), arrived(2), sink.open(None))
    source = open_kafka("trips", address, SCHEMA, False, tmp_path / "note")
    assert numbered(portions(source, source.begin(), source.advance(source.begin(), 9), 1)) == [
        (0, 1),
        (1, 2),
    ]


def test_a_wrong_password_is_told_and_not_shown(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = guarded(broker, broker.create("closed"))
    monkeypatch.setenv("AURORA_TEST_PASSWORD", "wrong-canary")
    with pytest.raises(AuroraError, match="uthentication failed") as fault:
        open_kafka("trips", address, SCHEMA, False, tmp_path / "note")
    assert "wrong-canary" not in str(fault.value)


def test_the_recipe_of_the_page_on_postgres(
    server: Server, broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    broker.create("orders", 2)
    rows = [(1, "ann", "10.00", "10:05"), (2, "bob", "5.50", "10:20"), (3, "ann", "2.25", "10:30")]
    for number, customer, amount, at in rows:
        value = (
            f'{{"id": {number}, "customer": "{customer}", "amount": {amount}, "at": "2026-01-31T{at}:00"}}'
        )
        broker.send("orders", [value.encode()], number % 2)
    broker.send("orders", [b"no order"])
    *_, commands = write_files(server)
    assert give(commands, server, {"localhost:9092": broker.hosts}) == 4
    assert "no order" in Path("orders-home/rejects.csv").read_text()
