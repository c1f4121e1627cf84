"""Addresses of topics, what is kept secret, and values into rows: without a broker."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from aurora import Schema
from aurora.engine.kafka.address import SINK_OPTIONS, SOURCE_OPTIONS, KafkaAddress, read_kafka
from aurora.engine.kafka.client import explain
from aurora.engine.kafka.client_options import CLIENT_OPTIONS
from aurora.engine.kafka.encode import encode_rows
from aurora.engine.kafka.piece import KafkaPiece
from aurora.engine.kafka.source import KafkaTopic, _check_fields, open_kafka
from aurora.engine.kafka.values import Records, parse_values
from aurora.engine.sources.address import check_source, open_whole, source_path
from aurora.errors import AuroraError

HOST = "kafka:localhost:9092"
SCHEMA = Schema.parse("id bigint NOT NULL, name string")


def read(text: str, options: tuple[str, ...] = SOURCE_OPTIONS) -> KafkaAddress:
    return read_kafka("source trips", text, options)


def test_an_address_and_its_options() -> None:
    found = read(
        "kafka:a:1,b:2/my.topic-1?format=csv&key=K&timestamp=T&start=2026-01-31T12:00:00Z"
        "&kafka.security.protocol=SASL_SSL&kafka.sasl.password=${WORD}"
    )
    assert (found.hosts, found.topic, found.format, found.key, found.timestamp) == (
        "a:1,b:2", "my.topic-1", "csv", "K", "T",
    )  # fmt: skip
    assert found.start_time() == 1_769_860_800_000
    assert read(f"{HOST}/t?start=2026-01-31T12:00:00").start_time() == 1_769_860_800_000
    assert read(f"{HOST}/t?start=5").start_time() == 5
    assert found.identity() == "kafka:a:1,b:2/my.topic-1?format=csv&key=K&timestamp=T"
    assert not read(f"{HOST}/t?transactions=no", SINK_OPTIONS).transactions


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kafka:localhost/t", "needs a host, a port and a topic, for example kafka:localhost:9092/trips"),
        ("kafka:localhost:9092", "needs a host, a port and a topic"),
        (f"{HOST}/a b", "needs a host"),
        ("kafka://localhost:9092/t", "for example kafka:localhost:9092/trips; leave the // out"),
        ("kafka:ann:canary@localhost:9092/t", "an address must not contain a password(?!.*canary)"),
        (
            f"{HOST}/t?fromat=csv",
            r"there is no option fromat \(did you mean format\?\); the options of kafka are",
        ),
        (f"{HOST}/t?decimal=,", "decimal is for CSV; add format=csv, or leave it out"),
        (f"{HOST}/t?format=csv&decimal=;", r"decimal is \. or , found ';'"),
        (f"{HOST}/t?format=xml", "format is json, csv or avro, found 'xml'"),
        (f"{HOST}/t?start=noon", "start is earliest, latest or a time such as"),
        (f"{HOST}/t?key=a&timestamp=a", "field a cannot be both key and timestamp"),
        (f"{HOST}/t?key", "option key has no value"),
        (f"{HOST}/t?kafka.group.id=x", "group.id cannot be set here"),
        # What loads a library, runs a command, or is none.
        (
            f"{HOST}/t?kafka.plugin.library.paths=x.so",
            "kafka.plugin.library.paths is not an option of the client that",
        ),
        (
            f"{HOST}/t?kafka.sasl.kerberos.kinit.cmd=x",
            "kafka.sasl.kerberos.kinit.cmd is not an option of the client",
        ),
        (f"{HOST}/t?kafka.ssl.engine.location=x", "kafka.ssl.engine.location is not an option"),
        (
            f"{HOST}/t?kafka.fetch.min.byte=1",
            r"may be given \(did you mean fetch.min.bytes\?\); docs/kafka.md lists",
        ),
        # A variable is looked up for a secret alone.
        (
            f"{HOST}/t?kafka.client.id=$AWS_SECRET_ACCESS_KEY",
            r"kafka.client.id is no secret, and a variable would be s",
        ),
        (f"{HOST}/t?kafka.sasl.username=${{HOME}}", "write kafka.sasl.username=VALUE"),
    ],
)
def test_what_is_wrong_with_an_address_is_told(text: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        read(text)


@pytest.mark.parametrize(
    "name", ["sasl.password", "ssl.key.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"]
)
def test_a_secret_in_an_address_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(
        AuroraError, match=rf"kafka.{name} is a secret.*write kafka.{name}=\$VARIABLE"
    ) as fault:
        read(f"{HOST}/t?kafka.{name}=hunter2")
    assert "hunter2" not in str(fault.value)
    with pytest.raises(AuroraError) as fault:
        read(f"kafka:broken?kafka.{name}=hunter2")
    assert "hunter2" not in str(fault.value)


def test_a_secret_stays_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "hunter2")
    address = read(f"{HOST}/t?kafka.sasl.password=$WORD&kafka.sasl.username=me")
    source = KafkaTopic(address, SCHEMA, ((0, 0),), None)
    assert address.resolved() == {"sasl.password": "hunter2", "sasl.username": "me"}
    assert b"hunter2" not in pickle.dumps(source)
    assert "hunter2" not in repr(source) + source.identity()
    assert explain(address, ValueError("no value 'hunter2'")) == "no value '$WORD'"
    for value, state in (("", "is empty"), (None, "is not set")):
        monkeypatch.delenv("WORD")
        if value is not None:
            monkeypatch.setenv("WORD", value)
        with pytest.raises(
            AuroraError, match=rf"kafka.sasl.password is in the variable WORD, which {state}; export W"
        ):
            check_source("trips", f"{HOST}/t?kafka.sasl.password=$WORD")


def test_every_option_that_may_be_given_is_one_of_the_client_and_on_the_page() -> None:
    kafka = pytest.importorskip("confluent_kafka")
    page = Path("docs/kafka.md").read_text()
    for name in sorted(CLIENT_OPTIONS):
        try:
            kafka.Producer({name: "", "log_level": 0})
        except kafka.KafkaException as fault:
            assert "No such configuration property" not in str(fault), name
        except (TypeError, ValueError):
            pass
        assert f"`{name}`" in page, name


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(AuroraError, match=r"^kafka: needs .*; pip install 'aurora-spark\[kafka\]'$"):
        check_source("trips", f"{HOST}/t")
    assert source_path("trips", f"{HOST}/t") is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("key=who", "key=who is not a field of the input; its fields are id, name"),
        ("timestamp=name", "the time of a record is a timestamp or a bigint of milliseconds"),
        ("key=id&timestamp=name", "timestamp"),
    ],
)
def test_fields_that_do_not_fit(options: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        _check_fields("trips", read(f"{HOST}/t?{options}"), SCHEMA)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(AuroraError, match="start=latest reads what comes from now on; add --follow"):
        open_kafka("trips", f"{HOST}/t?start=latest", SCHEMA, False, tmp_path / "note")
    with pytest.raises(AuroraError, match="the input has no field for the values of the records"):
        open_kafka("trips", f"{HOST}/t?key=id", SCHEMA.select(["id"]), True, tmp_path / "note")
    with pytest.raises(AuroraError, match=r"(a table cannot come from a topic|pip install)"):
        open_whole("people", f"{HOST}/t", SCHEMA, tmp_path)


def test_pieces_follow_from_the_cursors_alone() -> None:
    source = KafkaTopic(
        KafkaAddress("a:1", "t"), SCHEMA, ((0, 5), (10, 0), (2, 7)), ((0, 9), (10, 3), (2, 7))
    )
    end = source.advance(source.begin(), 100)
    assert end == {"row": 7, "offsets": {"0": 9, "2": 7, "10": 3}}
    pieces = source.pieces(source.begin(), end, 2)
    found = [
        [(each.partition, each.start, each.stop, each.row) for each in piece.ranges]
        for piece in pieces
        if isinstance(piece, KafkaPiece)
    ]
    assert found == [[(0, 5, 9, 0)], [(10, 0, 3, 4)]]
    assert source.pieces(end, end, 2) == []


def test_values_of_csv_with_quotes() -> None:
    address = KafkaAddress("a:1", "t", "csv")
    values: list[bytes | None] = [b'1,"a\nb"', b'2,"open', b"3,c\r\n", b'4,"x"\n5,"y"', b",d", None]
    offsets = np.array([3, 4, 7, 8, 9, 11])
    found = parse_values(Records(values, offsets), address, SCHEMA, SCHEMA.select(["id"]), 2)
    assert found.rows.to_pylist() == [{"id": 1, "name": "a\nb"}, {"id": 3, "name": "c"}]
    assert found.numbers.tolist() == [0, 2]
    assert [(bad.file, bad.line, bad.reason) for bad in found.rejects] == [
        ("t/2", 4, "quote is not closed"),
        ("t/2", 8, "more than one record in a value"),
        ("t/2", 9, "field id is missing"),
    ]


MONEY = Schema.parse("id bigint, name string, price double")


def test_values_of_csv_with_commas_before_fractions() -> None:
    address = read(f"{HOST}/t?format=csv&delimiter=;&decimal=,")
    assert address.identity().endswith("?format=csv&decimal=,&delimiter=;")
    values: list[bytes | None] = [b'1;"a;\nb";1,5', b"2;c,d;-0,25", b"3;e;1.5"]
    found = parse_values(Records(values, np.arange(3)), address, MONEY, MONEY, 0)
    assert [tuple(row.values()) for row in found.rows.to_pylist()] == [(1, "a;\nb", 1.5), (2, "c,d", -0.25)]
    assert [bad.reason for bad in found.rejects] == ["field price: '1.5' is not a double"]
    sink = read(f"{HOST}/t?format=csv&delimiter=;&decimal=,", SINK_OPTIONS)
    lines = encode_rows(found.rows, "csv", None, sink.notation)
    assert [message["value"] for message in lines.messages(0, 2)] == values[:2]


def test_no_values_at_all() -> None:
    address = KafkaAddress("a:1", "t", key="name")
    found = parse_values(Records([], np.empty(0, np.int64), []), address, SCHEMA, SCHEMA, 0)
    assert found.rows.num_rows == 0 and found.rows.schema == SCHEMA.arrow()
