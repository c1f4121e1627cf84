"""Tables of a real PostgreSQL as sinks: rows once, replaced by key, refused one by one; what is told before a run."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aurora import Schema
from aurora.engine import outages
from aurora.engine.postgres import client, load
from aurora.engine.postgres import sink as sinks
from aurora.engine.postgres.sink import PostgresSink, open_postgres_sink
from aurora.engine.sinks.address import open_sink
from aurora.engine.sinks.sink import Interrupted
from aurora.engine.waits import waits
from aurora.errors import AuroraError
from tests.engine.postgres_server import CANARY, Server, server_with_password
from tests.engine.still_clock import stop_the_clock

SCHEMA = Schema.parse("id bigint, name string")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_with_password() as started:
        yield started


def opened(server: Server, table: str, schema: Schema = SCHEMA) -> PostgresSink:
    sink = open_sink("far", f"{server.address}/{table}", schema)
    assert isinstance(sink, PostgresSink)
    return sink


def rows_of(*rows: tuple[Any, ...], schema: Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], schema.arrow()
    )


def deliver(sink: PostgresSink, batch: int, rows: pa.RecordBatch, note: Any) -> Any:
    return sink.deliver(batch, rows, np.zeros(rows.num_rows, np.int64), note)


def named(*ids: int) -> pa.RecordBatch:
    return rows_of(*((number, f"n{number}") for number in ids))


def test_values_of_all_types_come_back(server: Server) -> None:
    schema = Schema.parse(
        "flag boolean, tiny tinyint, small smallint, whole int, big bigint, f float, d double, "
        "t string, day date, at timestamp, money decimal(12,2), inner struct<a: int, b: string>, list array<int>, "
        "heats map<string, double>"
    )
    full = (
        True, -1, 2, 3, 1 << 60, 0.5, 0.1, 'a\t"b"\\\n\\.', date(2004, 8, 31),
        datetime(2004, 8, 31, 12, 30, 0, 250_000, UTC), Decimal("1234567890.12"), {"a": 1, "b": 'x"\\'}, [1, None, 3],
        {"meat": 4.5, "fish": None},
    )  # fmt: skip
    empty = (None,) * 14
    sink = opened(server, "kinds?create=yes", schema)
    deliver(sink, 0, rows_of(full, empty, schema=schema), sink.open(None))
    sink.finish()
    with server.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        assert connection.execute("SELECT * FROM kinds").fetchall() == [full, empty]
        kinds = connection.execute(
            "SELECT string_agg(data_type, ', ' ORDER BY ordinal_position) FROM information_schema.columns "
            "WHERE table_name = 'kinds'"
        ).fetchone()[0]
    assert kinds.startswith(
        "boolean, smallint, smallint, integer, bigint, real, double precision, text, date, timest"
    )
    assert kinds.endswith("numeric, jsonb, jsonb, jsonb")


def test_one_column_that_holds_what_looks_like_an_end(server: Server) -> None:
    schema = Schema.parse("t string")
    sink = opened(server, "alone?create=yes", schema)
    deliver(sink, 0, rows_of(("\\.",), (None,), ("",), ("x",), schema=schema), sink.open(None))
    sink.finish()
    assert server.run("SELECT t FROM alone") == [("\\.",), (None,), ("",), ("x",)]


@pytest.mark.parametrize("options", ["create=yes", "create=yes&key=id"])
def test_a_batch_that_comes_again_is_known(server: Server, options: str) -> None:
    """The run is killed between the rows and the note; the batch may be another cut of the same rows."""
    table = f"once{len(options)}"
    sink = opened(server, f"{table}?{options}")
    start = sink.open(None)
    assert deliver(sink, 0, named(1, 2, 3), start)["rows"] == 3
    sink.finish()
    for cuts in ([(1, 2, 3)], [(1, 2), (3, 4)], [(1, 2, 3, 4, 5)], [(1,), (2, 3, 4, 5, 6)]):
        again = opened(server, f"{table}?{options}")
        note = again.open(start)
        for batch, ids in enumerate(cuts):
            note = deliver(again, batch, named(*ids), note)
        again.finish()
        assert server.run(f"SELECT id FROM {table} ORDER BY id") == [
            (number,) for number in range(1, max(max(cuts)) + 1 if max(max(cuts)) > 3 else 4)
        ]
    other = opened(server, f"{table}?{options}")
    with pytest.raises(
        AuroraError, match=rf"the rows that were written to postgres/{table} .* are not those"
    ):
        deliver(other, 0, named(9, 2, 3, 4, 5, 6), other.open(start))
    other.finish()


def test_the_last_row_of_a_key_counts(server: Server) -> None:
    server.run('CREATE TABLE latest (name text, "ID" int PRIMARY KEY, n int DEFAULT 7)')
    schema = Schema.parse("ID bigint, Name string")
    sink = opened(server, "latest?key=ID", schema)
    note = sink.open(None)
    note = deliver(sink, 0, rows_of((1, "a"), (2, "b"), (1, "c"), (None, "d"), schema=schema), note)
    assert [(bad.file, bad.line, bad.reason) for bad in sink.refused()] == [
        ("postgres/latest", 4, "a field of the key (ID) is null")
    ]
    note = deliver(sink, 1, rows_of((2, "e"), (3, None), schema=schema), note)
    assert note["rows"] == 6 and sink.refused() == []
    sink.finish()
    assert server.run('SELECT "ID", name, n FROM latest ORDER BY 1') == [
        (1, "c", 7),
        (2, "e", 7),
        (3, None, 7),
    ]


def test_rows_that_are_refused_stand_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.run("CREATE TABLE strict (id integer PRIMARY KEY, name varchar(5) CHECK (name <> 'evil'))")
    sink = opened(server, "strict")
    start = sink.open(None)
    bad = [(1 << 40, "big"), (2, "nul\0"), (3, "too long"), (1, "again"), (4, "evil")]
    rows = rows_of((1, "a"), *bad, *((number, "x") for number in range(10, 30)))
    note = deliver(sink, 0, rows, start)
    told = sink.refused()
    assert [each.line for each in told] == [2, 3, 4, 5, 6] and {each.file for each in told} == {
        "postgres/strict"
    }
    for each, words in zip(told, ["out of range", "0x00", "too long", "duplicate key", "check"], strict=True):
        assert words in each.reason
    assert told[1].text == "2\tnul\\0"
    # Killed before the note was written: the refused rows are told again, the others are not written again.
    again = opened(server, "strict")
    assert deliver(again, 0, rows, again.open(start)) == note and again.refused() == told
    assert deliver(again, 1, named(40), note)["rows"] == 27 and again.refused() == []
    assert server.run("SELECT count(*) FROM strict") == [(22,)]
    monkeypatch.setattr(load, "MOST_REFUSED", 3)
    with pytest.raises(
        AuroraError, match=r"refuses more than 3 rows of one batch, the last one because: .*range"
    ):
        deliver(again, 2, rows_of(*((1 << 40, "x") for _ in range(9))), {**note, "rows": 27})
    for each_sink in (sink, again):
        each_sink.finish()


@pytest.mark.parametrize(
    ("make", "table", "told"),
    [
        ("", "nowhere", r"has no table nowhere; check the name, or add create=yes"),
        ("CREATE TABLE orders0 (id int)", "orders", r"no table orders \(did you mean orders0\?\)"),
        ("CREATE TABLE a1 (id int, nam text)", "a1", r"no column name \(did you mean nam\?\); its columns are id, nam"),
        (
            "CREATE TABLE a2 (id date, name text)", "a2",
            r'field id is a bigint, column id of a2 is date; ALTER TABLE "public"."a2" ALTER COLUMN "id" TYPE bigint',
        ),
        ("CREATE TABLE a3 (id int, name int)", "a3", r"field name is a string, column name of a3 is integer"),
        ("CREATE TABLE a4 (id int, name text, z int NOT NULL)", "a4", r"column z of a4 must not be null"),
        (
            "CREATE TABLE a5 (id int GENERATED ALWAYS AS IDENTITY, name text)", "a5",
            r"column id of a5 is filled by PostgreSQL itself",
        ),
        (
            "CREATE TABLE a6 (id int, name text)", "a6?key=id",
            r'no primary key or unique index on \(id\).*CREATE UNIQUE INDEX ON "public"."a6" \("id"\)',
        ),
        ("CREATE VIEW a7 AS SELECT 1 AS id, 'x' AS name", "a7", r"a7 is not a table but a view"),
        ("", "a1?key=who", r"key=who is not a field of the output; its fields are id, name"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_told_before_a_run(
    server: Server, make: str, table: str, told: str
) -> None:
    if make:
        server.run(make)
    with pytest.raises(AuroraError, match=told) as fault:
        opened(server, table)
    assert "\n" not in str(fault.value)


def test_rights_and_passwords(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE closed (id bigint, name text)",
        f"CREATE ROLE guest LOGIN PASSWORD '{CANARY}2'",
        "CREATE TABLE half (id bigint, name text)",
        "GRANT INSERT ON half TO guest",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    monkeypatch.setenv("PGPASSWORD", f"{CANARY}1")
    told: list[str] = []

    def refused(table: str, match: str) -> None:
        with pytest.raises(AuroraError, match=match) as fault:
            opened(server, table).open(None)
        told.append(str(fault.value))

    refused(
        "closed", r'password authentication failed for user "aurora"; put user and password into PGUSER and'
    )
    monkeypatch.delenv("PGPASSWORD")
    refused("closed", r"no password supplied; put user and password into")
    monkeypatch.setenv("PGUSER", "guest")
    word = tmp_path / "pgpass"
    word.write_text(f"127.0.0.1:{server.port}:*:guest:{CANARY}2\n")
    word.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(word))
    refused("closed", r'guest may not write to closed; GRANT INSERT ON "public"."closed" TO guest')
    server.run("DROP TABLE IF EXISTS aurora_batches")
    refused(
        "half",
        r"the table aurora_batches, .* cannot be made; let the owner of schema public do that: CREATE TABLE",
    )
    service = tmp_path / "services"
    service.write_text(f"[books]\nuser=aurora\npassword={CANARY}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    monkeypatch.delenv("PGUSER")
    allowed = opened(server, "closed?service=books")
    assert allowed.open(None)["rows"] == 0
    allowed.finish()
    refused("closed?service=nobooks", r"nobooks")
    with pytest.raises(AuroraError, match=r"has no database nothing; create it, or check the name"):
        open_sink("far", f"postgres:127.0.0.1:{server.port}/nothing/t?service=books", SCHEMA)
    assert CANARY not in " ".join(told) and not any("\n" in each for each in told)


def test_another_database_than_the_checkpoint_tells_of(server: Server) -> None:
    sink = opened(server, "moved?create=yes")
    note = deliver(sink, 0, named(1, 2), sink.open(None))
    server.run('UPDATE aurora_batches SET "rows" = 1 WHERE run = \'' + note["run"] + "'")
    with pytest.raises(
        AuroraError, match=r"says that 2 rows were written to postgres/moved, and aurora_batches there"
    ):
        deliver(sink, 1, named(3), note)
    with pytest.raises(
        AuroraError, match=r"the checkpoint is that of a run into postgres:.*/moved; give that again"
    ):
        opened(server, "kinds2?create=yes").open(note)
    sink.finish()


def test_a_server_that_is_away_is_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = stop_the_clock(monkeypatch)
    sink = opened(server, "away?create=yes")
    note = sink.open(None)
    server.stop()
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(deliver(sink, 0, named(1, 2), note)))
    waiting.start()
    while not any("does not take rows" in each.what for each in waits.lasting(0.0)):
        waiting.join(0.01)
    clock.move(6)
    assert not found
    server.start()
    waiting.join()
    assert found[0]["rows"] == 2 and server.run("SELECT count(*) FROM away") == [(2,)]
    assert [record.message.partition(" (")[0] for record in caplog.records] == [
        f"sink far: PostgreSQL at 127.0.0.1:{server.port} does not take rows",
        f"sink far: PostgreSQL at 127.0.0.1:{server.port} takes rows again; the run continues",
    ]
    server.stop()
    try:
        sink.interrupt()
        with pytest.raises(Interrupted):
            deliver(sink, 1, named(3), found[0])
    finally:
        server.start()


def test_nobody_answers_when_a_run_starts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.engine.processes import free_port

    monkeypatch.setattr(outages, "PATIENCE", 0.0)
    with pytest.raises(
        AuroraError, match=r"PostgreSQL at 127.0.0.1:\d+ does not answer: .*; start it, or che"
    ):
        open_sink("far", f"postgres:127.0.0.1:{free_port()}/postgres/t", SCHEMA)


@pytest.mark.parametrize(
    "address",
    [
        f"postgres:me:{CANARY}@localhost:5432/db/t",
        f"postgres://me:{CANARY}@localhost:5432/db/t",
        f"postgres:localhost:5432/db/t?password={CANARY}",
        f"postgres:localhost:5432/db/t?user=me&key=id&PGPASSWORD={CANARY}",
        f"postgresql://me:{CANARY}@localhost:5432/db",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(AuroraError) as fault:
        open_sink("far", address, SCHEMA)
    assert CANARY not in str(fault.value) and "\n" not in str(fault.value)
    assert address.startswith("postgresql") or "PGUSER and PGPASSWORD, into ~/.pgpass" in str(fault.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (
            "postgres:localhost/db/t",
            "needs a host, a port, a database and a table, for example postgres:localhost:5432",
        ),
        ("postgres:localhost:5432/db", "needs a host, a port, a database and a table"),
        (
            "postgres:localhost:5432/db/t?keys=a",
            r"there is no option keys \(did you mean key\?\); the options of pos",
        ),
        ("postgres:localhost:5432/db/t?create=perhaps", "create is yes or no, found 'perhaps'"),
        ("postgres:localhost:5432/db/t?key", "option key has no value"),
    ],
)
def test_what_is_wrong_with_an_address_is_told(address: str, told: str) -> None:
    with pytest.raises(AuroraError, match=told):
        open_postgres_sink("far", address, SCHEMA)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(AuroraError, match=r"^postgres: needs .*; pip install 'aurora-spark\[postgres\]'$"):
        open_sink("far", "postgres:localhost:5432/db/t", SCHEMA)


def test_a_server_that_refuses_while_it_starts_is_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In whatever language it says so; but one that refuses from the beginning, or for long, is a fault."""
    sink = opened(server, "starting?create=yes")
    note = sink.open(None)
    answers: list[Any] = [client.Denied("das Datenbanksystem startet")] * 3
    connect = client.connect

    clock = stop_the_clock(monkeypatch)

    def starting(*address: Any) -> Any:
        clock.move(3)
        if answers:
            raise answers.pop()
        return connect(*address)

    monkeypatch.setattr(sinks, "connect", starting)
    monkeypatch.setattr(outages, "PAUSE", 0.0)
    sink.finish()
    assert deliver(sink, 0, named(1), note)["rows"] == 1 and not answers
    assert "does not take rows (das Datenbanksystem startet)" in caplog.text
    sink.finish()
    answers.append(client.Denied("no"))
    with pytest.raises(client.Denied, match="no"):
        opened(server, "starting").open(note)
    monkeypatch.setattr(sinks, "GRACE", -1.0)
    answers.append(client.Denied("no"))
    with pytest.raises(client.Denied, match="no"):
        deliver(sink, 1, named(2), note)
