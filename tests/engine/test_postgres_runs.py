"""Runs of the real command from and into a real PostgreSQL: killed, cut off, started again, and none knows a secret."""

import csv
import json
import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora.engine.waits import waits
from aurora.history.control import ask
from aurora.history.home import Home
from aurora.history.last_status import find_status
from tests.engine.postgres_server import CANARY, Server, server_with_password
from tests.engine.processes import aurora, kill, start_here, wait_for
from tests.history.attached import wait_until
from tests.test_docs import blocks, call


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_with_password() as started:
        yield started


NETWORK = """network: trips
inputs:
  trips: {schema: "id bigint, car int, km double"}
boxes:
  named: {join: "left.car = right.car", left: trips, right: cars}
  short: {map: {car: car, id: id, km: km, name: name}, from: named}
points:
  cars: {stored: "postgres:127.0.0.1:PORT/postgres/cars", key: [car], schema: "car int, name string"}
outputs:
  all: {from: short}
  latest: {from: short}
  copy: {from: trips}
"""


def holds_canary(folder: Path) -> list[Path]:
    files = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return [path for path in files if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_a_run_through_kills_of_server_and_run(server: Server, spark: SparkSession, tmp_path: Path) -> None:
    """Every row once in both tables and in a file, though the server is stopped, and then the run is killed."""
    server.run(
        "CREATE TABLE came (id bigserial PRIMARY KEY, car int, km float8)",
        "CREATE TABLE cars (car int PRIMARY KEY, name text)",
        "INSERT INTO cars SELECT i, 'car ' || i FROM generate_series(0, 9) i",
        "CREATE TABLE latest (car smallint PRIMARY KEY, id int, km numeric(8,1), name text)",
    )
    network, log, copy = tmp_path / "net.yaml", tmp_path / "log", tmp_path / "copy.jsonl"
    network.write_text(NETWORK.replace("PORT", str(server.port)))
    command = [
        "run", str(network), "--source", f"trips={server.address}/came?by=id&poll=50ms", "--follow",
        "--sink", f"all={server.address}/written?create=yes", "--sink", f"latest={server.address}/latest?key=car",
        "--sink", f"copy=json:{copy}", "--home", str(tmp_path / "home"), "--rejects", f"csv:{tmp_path}/bad.csv",
    ]  # fmt: skip

    def send(rows: int, km: str = "i / 2.0") -> None:
        server.run(f"INSERT INTO came (car, km) SELECT i % 10, {km} FROM generate_series(1, {rows}) i")

    def reached(table: str) -> bool:
        """Whether the last row has come there; numbers are left out when a server is stopped at once."""
        return server.run(f"SELECT max(id) = (SELECT max(id) FROM came) FROM {table}") == [(True,)]

    def copied() -> int:
        return copy.read_bytes().count(b"\n") if copy.exists() else 0

    send(100)
    run = aurora(command, log)
    try:
        wait_for(run, lambda: copied() == 100)
        assert reached("written") and reached("latest")
        server.stop()
        wait_for(run, lambda: b"does not answer" in log.read_bytes())
        server.start()
        wait_for(run, lambda: b"answers again; the run continues" in log.read_bytes())
        send(100)
        wait_for(run, lambda: reached("latest"))
        send(1, "1e12")  # More than a column holds: the row is refused, and all others are not.
        send(5000)
        wait_for(run, lambda: server.run("SELECT count(*) > 201 FROM written") == [(True,)])
        kill(run)
        with start_here(command) as again:
            wait_until(lambda: reached("latest"))
            send(99)
            wait_until(lambda: reached("latest") and copied() == 5300)
            # It holds no secret, as no other file does.
            (tmp_path / "status").write_text(json.dumps(ask(Home.of(tmp_path / "home"), "status")))
            again.stop()
    finally:
        if run.poll() is None:
            kill(run)
    assert server.run("SELECT count(*), count(DISTINCT id), min(name) FROM written") == [
        (5300, 5300, "car 0")
    ]
    newest = "SELECT car, max(id) FROM came WHERE km < 1e9 GROUP BY car ORDER BY car"
    assert server.run("SELECT car, id FROM latest ORDER BY car") == server.run(newest)
    with (tmp_path / "bad.csv").open() as file:
        (bad,) = csv.DictReader(file)
    assert (bad["source"], bad["file"], bad["line"]) == ("sink latest", "postgres/latest", "201")
    assert "numeric field overflow" in bad["reason"] and bad["text"].endswith("\tcar 1")
    assert holds_canary(tmp_path) == []


def test_what_is_wrong_is_told_before_spark_starts(server: Server, tmp_path: Path) -> None:
    network, log, rows = tmp_path / "net.yaml", tmp_path / "log", tmp_path / "rows.csv"
    network.write_text('inputs: {rows: {schema: "id bigint"}}\noutputs: {out: {from: rows}}\n')
    rows.write_text("id\n1\n")
    command = ["run", str(network), "--source", f"rows=csv:{rows}", "--sink"]
    place = f"127.0.0.1:{server.port}/postgres/t"
    for sink, told in (
        (
            f"out=postgres:{place}",
            f"sink out: postgres at 127.0.0.1:{server.port} has no table t; check the name, or",
        ),
        (
            f"out=postgres:aurora:{CANARY}@{place}",
            "sink out: an address must not contain a user or a password",
        ),
    ):
        assert aurora([*command, sink], log).wait() == 1
        assert told in log.read_text() and "Traceback" not in log.read_text()
    assert holds_canary(tmp_path) == []


def test_a_run_that_waits_for_its_database_can_be_stopped(
    server: Server,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(waits, "quiet", 0.5)
    network, home = tmp_path / "net.yaml", tmp_path / "home"
    network.write_text('inputs: {rows: {schema: "id bigint"}}\noutputs: {out: {from: rows}}\n')
    (tmp_path / "rows.csv").write_text("id\n1\n")
    command = [
        "run", str(network), "--source", f"rows=csv:{tmp_path}/rows.csv", "--follow", "--home", str(home),
        "--sink", f"out={server.address}/waited?create=yes",
    ]  # fmt: skip
    with start_here(command) as run:
        wait_until(lambda: _count(server, "waited") == 1)
        server.stop()
        with (tmp_path / "rows.csv").open("a") as file:
            file.write("2\n")
        wait_until(lambda: "does not take rows" in caplog.text)
        (waiting,) = [each for each in ask(Home.of(home), "status")["waits"] if "sink out" in each["for"]]
        assert waiting["for"].startswith(
            f"sink out: PostgreSQL at 127.0.0.1:{server.port} does not take rows ("
        )
        assert 0 < time.time() - waiting["since"] < 300
        ask(Home.of(home), "stop")
        assert not run.wait().ended
    assert find_status(Home.of(home))["waits"] == []
    server.start()
    with start_here(command) as run:
        wait_until(lambda: _count(server, "waited") == 2)


def _count(server: Server, table: str) -> int:
    import psycopg

    try:
        return int(server.run(f"SELECT count(*) FROM {table}")[0][0])
    except psycopg.errors.UndefinedTable:
        return 0


def give(commands: str, server: Server, replaced: dict[str, str] | None = None) -> int:
    """The commands of a block, with this server for the one of the page; gives how many there were."""
    done = 0
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", commands, re.MULTILINE):
        for was, now in {
            "localhost:5432/shop": f"127.0.0.1:{server.port}/postgres",
            "--allow-host localhost:5432": f"--allow-host 127.0.0.1:{server.port}",
            **(replaced or {}),
        }.items():
            command = command.replace(was, now)
        first, *arguments = shlex.split(command)
        if first == "psql":
            found = server.run(arguments[-1])
            texts = [[str(value).removesuffix(".0") for value in row] for row in found]
            assert "".join("|".join(row) + "\n" for row in texts) == shown
        elif first == "cat":
            assert Path(arguments[0]).read_text() == shown
        elif first == "aurora":
            status, _, told = call(arguments)
            assert status == 0, told
        else:
            assert first == "kafka-topics.sh", command
        done += 1
    return done


def write_files(server: Server) -> list[str]:
    """The files of the page, in the current folder; and the blocks of commands."""
    found = blocks("docs/postgres.md")
    for block in found:
        if block.file is not None:
            place = f"127.0.0.1:{server.port}/postgres"
            Path(block.file).write_text(block.text.replace("localhost:5432/shop", place))
    return [block.text for block in found if block.language == "console"]


def test_the_page(
    server: Server, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of docs/postgres.md in their order, all but those of the recipe."""
    monkeypatch.chdir(tmp_path)
    server.run("DROP TABLE IF EXISTS latest")
    *commands, _ = write_files(server)
    assert [give(text, server) for text in commands] == [3, 3, 4]
