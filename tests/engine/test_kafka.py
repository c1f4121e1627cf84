"""Topics of a real broker, which these tests start, kill and start again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import Schema
from aurora.engine.kafka import source as kafka_source
from aurora.engine.kafka import topic as kafka_topic
from aurora.engine.kafka.source import KafkaTopic, open_kafka
from aurora.engine.sources.source import Cursor, Portion
from aurora.errors import AuroraError
from tests.engine.kafka_broker import Broker, broker_in, until
from tests.engine.processes import PATIENCE

assert PATIENCE
SCHEMA = Schema.parse("id bigint, km double")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker_in(tmp_path_factory.mktemp("kafka")) as started:
        yield started


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
    with pytest.raises(AuroraError, match=r"^topic deleted is gone from .*, deleted while it was read"):
        until(lambda: source.advance(place, 10) != place)
    with pytest.raises(AuroraError, match=r"^(topic deleted is gone|topic deleted, partition 0)"):
        portions(source, source.begin(), place, 1)


def test_records_that_are_not_kept_any_more(broker: Broker, tmp_path: Path) -> None:
    from confluent_kafka import TopicPartition

    topic = broker.create("short")
    broker.send(topic, lines(1, 2, 3))
    source = opened(broker, topic, tmp_path)
    end = source.advance(source.begin(), 10)
    for told in broker.admin.delete_records([TopicPartition(topic, 0, 2)]).values():
        told.result(60)
    with pytest.raises(AuroraError, match=r"partition 0: the records from offset 0 on are not kept"):
        portions(source, source.begin(), end, 1)
