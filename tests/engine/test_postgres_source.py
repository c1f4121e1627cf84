"""Tables of a real PostgreSQL as sources and stored sets: followed by a column, the same rows at each reading."""

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aurora import Schema, from_text
from aurora.engine.outages import ServerWatch, Unreachable
from aurora.engine.postgres import client
from aurora.engine.postgres.address import PostgresAddress
from aurora.engine.postgres.bound import Bounds
from aurora.engine.postgres.source import PostgresTable
from aurora.engine.postgres.watch import watch_server
from aurora.engine.sources.address import check_source, open_source, open_whole, source_path
from aurora.engine.sources.source import Cursor, Portion
from aurora.engine.waits import waits
from aurora.errors import AuroraError
from aurora.history.prepare import prepare_stored
from aurora.history.stored import store_by_key
from tests.engine.postgres_server import CANARY, Server, server_with_password
from tests.engine.still_clock import stop_the_clock

SCHEMA = Schema.parse("id bigint, name string")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_with_password() as started:
        yield started
        for connection in client._connections.values():
            connection.close()
        client._connections.clear()


def opened(
    server: Server, table: str, folder: Path, schema: Schema = SCHEMA, follow: bool = False
) -> PostgresTable:
    text = f"{server.address}/{table}"
    check_source("rows", text)
    folder.mkdir(exist_ok=True)
    source, watch = open_source("rows", text, schema, follow, folder)
    assert isinstance(source, PostgresTable) and isinstance(watch, ServerWatch)
    return source


def portions(source: PostgresTable, start: Cursor, end: Cursor, number: int) -> list[Portion]:
    return [piece.read(source.schema) for piece in source.pieces(start, end, number)]


def numbered(found: list[Portion], field: str = "id") -> list[tuple[int, Any]]:
    return [
        (number, value)
        for part in found
        for number, value in zip(part.numbers.tolist(), part.rows.column(field).to_pylist(), strict=True)
    ]


def made(server: Server, table: str, rows: int = 0) -> str:
    server.run(
        f"CREATE TABLE {table} (id bigserial PRIMARY KEY, name text)",
        f"INSERT INTO {table} (name) SELECT 'n' || i FROM generate_series(1, {rows}) i",
    )
    return table


def test_the_rows_between_two_values_are_the_same_however_they_are_cut(
    server: Server, tmp_path: Path
) -> None:
    table = made(server, "cut", 100)
    server.run(f"DELETE FROM {table} WHERE id % 7 = 0")
    source = opened(server, f"{table}?by=id", tmp_path)
    ids = [number for number in range(1, 101) if number % 7]
    middle = source.advance(source.begin(), 40)
    assert (
        middle == {"row": 40, "after": "46"} and not source.finished(middle) and source.waiting(middle) == 54
    )
    end = source.advance(middle, 1000)
    assert end == {"row": 86, "after": "100"} and source.finished(end) and not source.live
    for number in (1, 2, 7):
        assert numbered(portions(source, source.begin(), middle, number)) == list(enumerate(ids[:40]))
        assert numbered(portions(source, middle, end, number)) == list(enumerate(ids[40:], 40))
    # What came after the start belongs to another run; one that goes on ends where it would have.
    server.run(f"INSERT INTO {table} (name) VALUES ('late')")
    assert source.advance(end, 10) == end
    assert opened(server, f"{table}?by=id", tmp_path).last == "100"
    behind = opened(server, f"{table}?by=id&after=99", tmp_path / "..")
    assert numbered(portions(behind, behind.begin(), behind.advance(behind.begin(), 9), 2)) == [
        (0, 100),
        (1, 101),
    ]


def test_rows_that_were_read_must_stay(server: Server, tmp_path: Path) -> None:
    table = made(server, "gone", 10)
    source = opened(server, f"{table}?by=id", tmp_path)
    end = source.advance(source.begin(), 10)
    pieces = source.pieces(source.begin(), end, 2)
    server.run(f"DELETE FROM {table} WHERE id = 3")
    told = (
        r"postgres/gone had \d+ rows for a batch, and has \d now: rows that were read are not to be removed"
    )
    with pytest.raises(AuroraError, match=told):
        source.pieces(source.begin(), end, 2)
    with pytest.raises(AuroraError, match=told):
        [piece.read(SCHEMA) for piece in pieces]


def test_values_that_are_not_unique_come_together(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE ties (at timestamp NOT NULL, id bigint)",
        "INSERT INTO ties SELECT '2026-01-01'::timestamp + (i / 4) * interval '1s', i FROM generate_series(0, 19) i",
    )
    source = opened(server, "ties?by=at", tmp_path, SCHEMA.select(["id"]))
    middle = source.advance(source.begin(), 5)
    assert middle == {"row": 8, "after": "2026-01-01 00:00:01"} and source.waiting(middle) is None
    end = source.advance(middle, 100)
    for number in (1, 3, 9):
        assert numbered(portions(source, source.begin(), middle, number)) == [(i, i) for i in range(8)]
        assert numbered(portions(source, middle, end, number)) == [(i, i) for i in range(8, 20)]


def test_transactions_that_end_in_another_order_than_they_began(server: Server, tmp_path: Path) -> None:
    """A row with a smaller number that appears later is not lost: who writes is waited for."""
    table = made(server, "overtaking")
    source = opened(server, f"{table}?by=id&poll=1ms", tmp_path, follow=True)
    assert source.live and source.keeps and source.advance(source.begin(), 10) == source.begin()
    with server.connect() as slow, server.connect() as reader:
        slow.autocommit = False
        slow.execute(f"INSERT INTO {table} (name) VALUES ('slow')")
        server.run(f"INSERT INTO {table} (name) VALUES ('fast')")
        bounds = Bounds(source.oid, source.place.table, "id")
        assert bounds.find(reader) is None and bounds.waits
        for _ in range(3):
            assert source.advance(source.begin(), 10) == source.begin()
        # Those who only read, and those who come later, are not waited for.
        with server.connect() as other:
            other.autocommit = False
            other.execute(f"SELECT * FROM {table}")
            slow.commit()
            other.execute(f"INSERT INTO {table} (name) VALUES ('third')")
            assert bounds.find(reader) == "2"
            place = _until(lambda: source.advance(source.begin(), 10), source.begin())
            assert {**place, "seen": None} == {"row": 2, "after": "2", "seen": None}
            other.rollback()
    assert numbered(portions(source, source.begin(), place, 1), "name") == [(0, "slow"), (1, "fast")]
    server.run(f"INSERT INTO {table} (name) VALUES ('fourth')")
    later = _until(lambda: source.advance(place, 10), place)
    assert numbered(portions(source, place, later, 1)) == [(2, 4)]


def _until(step: Any, before: Any) -> Any:
    """What a step gives when it gives something else."""
    for _ in range(100_000):
        found = step()
        if found != before:
            return found
    raise AssertionError("it did not come about")


def test_a_lag_keeps_the_newest_value_back(server: Server) -> None:
    table = made(server, "lagging", 3)
    now = [0.0]
    with server.connect() as connection:
        oid = connection.execute("SELECT 'lagging'::regclass::oid::bigint").fetchone()[0]
        bounds = Bounds(oid, table, "id", 10.0, lambda: now[0])
        assert bounds.find(connection) is None
        connection.execute(f"INSERT INTO {table} (name) VALUES ('x')")
        now[0] = 9.0
        assert bounds.find(connection) is None
        now[0] = 10.0
        assert bounds.find(connection) == "3" and bounds.find(connection) == "3"
        now[0] = 20.0
        assert bounds.find(connection) == "4"


def test_partitions_and_writers_to_one_of_them(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE parts (id bigserial PRIMARY KEY, name text) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (3)",
        "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (3) TO (100)",
        "INSERT INTO parts (name) SELECT 'x' FROM generate_series(1, 5)",
    )
    source = opened(server, "parts?by=id", tmp_path, follow=True)
    with server.connect() as writer, server.connect() as reader:
        writer.autocommit = False
        writer.execute("INSERT INTO parts_2 (id, name) VALUES (50, 'y')")
        bounds = Bounds(source.oid, source.place.table, "id")
        assert bounds.find(reader) is None
        writer.commit()
        assert bounds.find(reader) == "5" and bounds.find(reader) == "50"


def test_values_of_all_types(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE kinds (id int PRIMARY KEY, flag bool, f real, d float8, t text, day date, at timestamptz, "
        "plain timestamp, money numeric(12,2), inner_ jsonb, list int[], who uuid, heats jsonb)",
        "INSERT INTO kinds VALUES (1, true, 0.5, 0.1, E'a,\"b\"\\nc\\\\.', '2004-08-31', "
        "'2004-08-31 14:30:00.25+02', '2004-08-31 12:30', 1234567890.12, '{\"a\": 1, \"b\": \"x\"}', '{1,NULL,3}', "
        "'00000000-0000-0000-0000-000000000001', '{\"meat\": 4.5}')",
        "INSERT INTO kinds (id, t) VALUES (2, '')",
    )
    text = (
        "id int, flag boolean, f float, d double, t string, day date, at timestamp, plain timestamp, "
        "money decimal(12,2), who string"
    )
    moment = datetime(2004, 8, 31, 12, 30, 0, 250_000, UTC)
    full = {
        "id": 1, "flag": True, "f": 0.5, "d": 0.1, "t": 'a,"b"\nc\\.', "day": date(2004, 8, 31), "at": moment,
        "plain": moment.replace(microsecond=0), "money": Decimal("1234567890.12"),
        "who": "00000000-0000-0000-0000-000000000001",
    }  # fmt: skip
    inner = {"inner_": {"a": 1, "b": "x"}, "list": [1, None, 3], "heats": [("meat", 4.5)]}
    for schema, first in (
        (Schema.parse(text), full),
        (
            Schema.parse(
                text + ", inner_ struct<a: int, b: string>, list array<int>, heats map<string, double>"
            ),
            {**full, **inner},
        ),
        (Schema.parse("t string"), {"t": full["t"]}),
    ):
        source = opened(server, "kinds?by=id", tmp_path / str(len(schema)), schema)
        (found,) = portions(source, source.begin(), source.advance(source.begin(), 9), 1)
        empty = {**dict.fromkeys(schema.names), "t": "", **({"id": 2} if "id" in schema else {})}
        assert found.rows.to_pylist() == [first, empty] and found.rejects == ()
        whole = open_whole("kinds", f"{server.address}/kinds", schema, tmp_path / f"whole{len(schema)}")
        (piece,) = whole.pieces(whole.begin(), whole.advance(whole.begin(), 9), 1)
        assert piece.read(schema).rows.to_pylist() == [first, empty]
    as_text = Schema.parse("at string, flag string, list string")
    source = opened(server, "kinds?by=id", tmp_path / "text", as_text)
    (found,) = portions(source, source.begin(), source.advance(source.begin(), 9), 1)
    assert found.rows.to_pylist()[0] == {
        "at": "2004-08-31 12:30:00.25+00",
        "flag": "true",
        "list": "{1,NULL,3}",
    }


def test_bad_rows_are_told_with_their_values(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE bad (id int PRIMARY KEY, n numeric, t text)",
        "INSERT INTO bad VALUES (5, 1, '1'), (7, 1.5, '2'), (9, 3, 'x'), (11, 4, NULL)",
    )
    schema = Schema.parse("n int, t int NOT NULL")
    source = opened(server, "bad?by=id", tmp_path, schema)
    (found,) = portions(source, source.begin(), source.advance(source.begin(), 9), 1)
    assert numbered([found], "t") == [(0, 1)]
    assert [(each.file, each.line, each.reason) for each in found.rejects] == [
        ("postgres/bad", 7, "field n: '1.5' is not an int"),
        ("postgres/bad", 9, "field t: 'x' is not an int"),
        ("postgres/bad", 11, "field t is missing"),
    ]
    with pytest.raises(AuroraError, match=r"table bad: postgres/bad, row 2: field n: '1.5' is not an int"):
        open_whole("bad", f"{server.address}/bad", schema, tmp_path / "whole")


# Made by whichever of the tests comes first.
ONE = "CREATE TABLE IF NOT EXISTS b1 (id int PRIMARY KEY, name text)"


@pytest.mark.parametrize(
    ("make", "table", "follow", "told"),
    [
        ("", "nowhere?by=id", False, "has no table nowhere; check the name"),
        (ONE, "b1?by=idd", False, r"by=idd is not a column of b1 \("),
        (ONE, "b1?by=name", False, "column name is text; to follow a table, name a column of growing whole"),
        ("CREATE TABLE b2 (id int, name text)", "b2?by=id", False, "may be null, and such rows would never be read"),
        ("CREATE VIEW b3 AS SELECT 1 AS id, 'x' AS name", "b3?by=id", False, "b3 is not a table but a view"),
        (ONE, "b1?by=id&after=x", False, "after=x is not a value of id: invalid input syntax"),
        (ONE, "b1?follow=yes", False, "is read once; to follow it, name a column that grows, as by=id"),
        (
            "CREATE TABLE b4 (id int, name text, at timestamptz NOT NULL DEFAULT now())", "b4?by=at", True,
            "at is a time, and now\\(\\) is when a transaction began.*add lag=1m",
        ),
        (
            "CREATE TABLE b5 (id int GENERATED ALWAYS AS IDENTITY (CACHE 20) PRIMARY KEY, name text)", "b5?by=id", True,
            "gives each session 20 numbers ahead",
        ),
        ("CREATE TABLE b6 (id date, name text, n int NOT NULL)", "b6?by=n", False, "field id is a bigint, column id"),
        (ONE, "b1?bye=id", False, r"no option bye \(did you mean by\?\)"),
        (ONE, "b1?by=id&poll=soon", False, "poll: 'soon' is not a span of time"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_told(
    server: Server, tmp_path: Path, make: str, table: str, follow: bool, told: str
) -> None:
    if make:
        server.run(make)
    with pytest.raises(AuroraError, match=told) as fault:
        opened(server, table, tmp_path, follow=follow)
    assert "\n" not in str(fault.value)


def test_what_may_be_meant_otherwise_is_told(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.run("CREATE TABLE slow (id int NOT NULL, name text, at timestamptz NOT NULL)")
    source = opened(server, "slow?by=at&lag=1m", tmp_path, follow=True)
    assert source.live and "column at of slow has no index, so each batch reads all of it" in caplog.text
    caplog.clear()
    source_, feed = open_source("rows", f"{server.address}/slow", SCHEMA, True, tmp_path)
    assert feed is None and not source_.live and "slow is read once; to follow it" in caplog.text
    assert not opened(server, "slow?by=at&follow=no", tmp_path / "no", follow=True).live


def test_a_server_that_is_away(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is read meanwhile, nothing is lost, and it is told once when it is away and once when it is back."""
    table = made(server, "away", 3)
    source = opened(server, f"{table}?by=id&poll=1ms", tmp_path, follow=True)
    place = _until(lambda: source.advance(source.begin(), 10), source.begin())
    pieces = source.pieces(source.begin(), place, 1)
    watch = watch_server("rows", source.address)
    server.stop()
    assert source.advance(place, 10) == place
    found: list[Portion] = []
    reading = threading.Thread(target=lambda: found.append(pieces[0].read(SCHEMA)))
    refused, connect = threading.Event(), client.connect

    def connect_or_note(what: str, address: PostgresAddress) -> Any:
        try:
            return connect(what, address)
        except Unreachable:
            refused.set()
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aurora.engine.outages.EVERY", 0.01)
        patch.setattr(client, "connect", connect_or_note)
        clock = stop_the_clock(patch)
        watch.connect()
        while not any("does not answer" in each.what for each in waits.lasting(0.0)):
            watch.join(0.01)
        clock.move(6)
        reading.start()
        assert refused.wait(60) and not found
        server.start()
        while "answers again" not in caplog.text:
            reading.join(0.01)
        reading.join()
        watch.stop()
        watch.join()
    assert numbered(found) == [(0, 1), (1, 2), (2, 3)]
    assert len([each for each in caplog.records if each.levelno == logging.WARNING]) == 2
    server.run(f"INSERT INTO {table} (name) VALUES ('back')")
    later = _until(lambda: source.advance(place, 10), place)
    assert later["row"] == 4


def test_a_table_that_is_read_once_stays_as_it_was(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE people (name text, sid int PRIMARY KEY)",
        "INSERT INTO people SELECT 'n' || i, i FROM generate_series(70000, 1, -1) i",
    )
    address, schema = f"{server.address}/people", Schema.parse("Sid int, Name string")
    for _ in range(2):
        source, feed = open_source("people", address, schema, False, tmp_path)
        end = source.advance(source.begin(), 1 << 20)
        rows = [piece.read(schema).rows for piece in source.pieces(source.begin(), end, 2)]
        assert feed is None and end["row"] == 70_000 and source.finished(end)
        assert pa.concat_batches(rows).column("Sid").to_pylist() == list(range(1, 70_001))
        server.run("INSERT INTO people VALUES ('new', 70001) ON CONFLICT DO NOTHING")
    assert source_path("people", address) is None


STORED = """
network: names
inputs:
  reports: {schema: "Sid int, Time int"}
  everybody: {point: people}
boxes:
  named: {join: "left.Sid = right.Sid", left: reports, right: people}
points:
  people: {stored: "ADDRESS", key: [Sid], schema: "Sid int, Name string"}
outputs:
  named: {from: named}
  all: {from: everybody}
"""


def test_a_stored_set_is_pulled_by_key_and_kept_until_it_is_wanted_fresh(
    server: Server, tmp_path: Path
) -> None:
    server.run(
        "CREATE TABLE staff (sid int, name text)", "INSERT INTO staff VALUES (3, 'c'), (1, 'a'), (3, 'd')"
    )
    network = from_text(STORED.replace("ADDRESS", f"{server.address}/staff"))

    def fetched(fresh: bool = False) -> list[dict[str, Any]]:
        found = prepare_stored(network, {}, tmp_path, fresh=fresh, hosts=["127.0.0.1"])["people"]
        rows, places = found.fetch(pa.record_batch({"Sid": pa.array([3, 5], pa.int64())}))
        assert found.place is None and places.tolist() == sorted(places.tolist())
        return list(rows.to_pylist())

    before = [{"Sid": 3, "Name": "c"}, {"Sid": 3, "Name": "d"}]
    assert fetched() == before
    server.run("INSERT INTO staff VALUES (3, 'e')")
    assert fetched() == before and fetched(fresh=True) == [*before, {"Sid": 3, "Name": "e"}]
    with pytest.raises(AuroraError, match="has no table nobody"):
        store_by_key(
            "people", f"{server.address}/nobody", Schema.parse("Sid int"), ("Sid",), tmp_path / "other"
        )


@pytest.mark.parametrize("place", [f"me:{CANARY}@h:1/d/t", f"h:1/d/t?password={CANARY}"])
def test_a_network_holds_no_password(place: str) -> None:
    with pytest.raises(
        AuroraError, match=r"point people: an address must not contain a user or a password"
    ) as fault:
        from_text(STORED.replace("ADDRESS", f"postgres:{place}"))
    assert CANARY not in str(fault.value)
    told = r"the schema of a PostgreSQL table must be given; give its schema"
    with pytest.raises(AuroraError, match=told):
        from_text(
            STORED.replace("ADDRESS", "postgres:h:1/d/t").replace(', schema: "Sid int, Name string"}', "}")
        )
