"""User and password go to servers that the user has named, and never in clear text."""

import logging
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from aurora import AuroraError, Network, Settings, from_text
from aurora.engine.draft.look import first_rows
from aurora.engine.postgres import client
from aurora.engine.postgres.address import read_postgres
from aurora.engine.postgres.client import Denied, connect
from aurora.engine.postgres.hosts import check_hosts, hosts_named, hosts_of, tell_connection
from aurora.history.home import Home
from aurora.history.prepare import prepare_stored

pytest.importorskip("psycopg")
WORD = "in-clear-text-4711"


class Listener:
    """A server that asks for the password in clear text, and keeps all that it is sent."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        while data := connection.recv(4096):
            self.heard.append(data)
            if data[4:8] in (struct.pack("!i", 80877103), struct.pack("!i", 80877104)):
                # Neither TLS nor GSS.
                connection.sendall(b"N")
            elif data[4:8] == struct.pack("!i", 196608):
                connection.sendall(b"R" + struct.pack("!ii", 8, 3))
            else:
                return

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Listener]:
    for name in ("PGSSLMODE", "PGREQUIREAUTH", "PGSERVICE", "PGSYSCONFDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGUSER", "me")
    monkeypatch.setenv("PGPASSWORD", WORD)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    (tmp_path / "services").write_text(
        "[plain]\nuser=other\n[asked]\nrequire_auth=password\nuser=third\n[checked]\nsslmode=verify-full\n"
    )
    started = Listener()
    yield started
    started.close()


def attempt(listener: Listener, service: str = "") -> str:
    option = f"?service={service}" if service else ""
    address = read_postgres("set", f"postgres:127.0.0.1:{listener.port}/db/t{option}", ("service",))
    with pytest.raises(Exception) as fault:
        connect("set", address)
    return str(fault.value)


@pytest.mark.parametrize("service", ["", "plain"])
def test_a_server_that_asks_for_clear_text_gets_nothing(listener: Listener, service: str) -> None:
    told = attempt(listener, service)
    assert "wants the password in clear text, which is not sent" in told and "PGREQUIREAUTH=password" in told
    assert WORD.encode() not in b"".join(listener.heard)


def test_who_asks_for_clear_text_has_it(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt(listener, "asked")
    assert WORD.encode() in b"".join(listener.heard)
    listener.heard.clear()
    monkeypatch.setenv("PGREQUIREAUTH", "password")
    attempt(listener)
    assert WORD.encode() in b"".join(listener.heard)
    listener.heard.clear()
    monkeypatch.delenv("PGREQUIREAUTH")
    # The connection is not encrypted, so the client library itself gives up.
    assert "clear text" not in attempt(listener, "checked")
    assert WORD.encode() not in b"".join(listener.heard)


def test_an_old_client_library_is_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.psycopg().pq, "version", lambda: 150004)
    address = read_postgres("set", f"postgres:127.0.0.1:{listener.port}/db/t", ())
    with pytest.raises(Denied, match=r"libpq 15, which would send a password in clear text; install"):
        connect("set", address)
    assert listener.heard == []


TEXT = """inputs: {a: {schema: "A int"}}
points: {rates: {stored: "postgres:db.example:5432/shop/rates", key: [A], schema: "A int"}}
boxes: {j: {join: "left.A = right.A", left: a, right: rates}}
outputs: {o: {from: j}}
"""


def test_a_host_that_only_the_file_names_is_refused(tmp_path: Path) -> None:
    network = from_text(TEXT)
    told = r"point rates: the network file alone names the server db\.example:5432, .*--allow-host db\.example:5432 "
    for hosts in ((), ("other",), ("db.example:5433",), ("example",), ("db.example:54",), ("5432",)):
        with pytest.raises(AuroraError, match=told):
            check_hosts(network, {}, hosts)
    with pytest.raises(AuroraError, match=told):
        prepare_stored(network, {"a": "csv:a.csv"}, tmp_path)
    with pytest.raises(AuroraError, match=told):
        first_rows(network, "o", {"a": "csv:a.csv"}, 10)
    for hosts in (("db.example",), ("DB.example:5432",)):
        check_hosts(network, {}, hosts)
    check_hosts(network, {"rates": "csv:rates.csv"}, ())
    named = hosts_named({"x": "postgres:db.example:5432/other/t?by=id", "y": "tcp:db.other:1", "z": object()})
    assert list(named) == ["db.example:5432"]
    with pytest.raises(AuroraError, match=r"allow_hosts is a list of HOST or HOST:PORT, .*found .db:5432."):
        Settings(allow_hosts="db:5432")
    # A program that names a server is the user's own word.
    own = Network("own")
    own.stored("rates", "postgres:db.example:5432/shop/rates", "A", "A int")
    check_hosts(own, {}, ())
    assert (hosts_of(own), hosts_of(network)) == ({"db.example:5432"}, set())


def test_a_home_remembers_hosts(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.allow_hosts([])
    assert home.read_hosts() == [] and not any(tmp_path.iterdir())
    home.allow_hosts(["b:1", "a"])
    home.allow_hosts(["c"])
    assert home.read_hosts() == ["a", "b:1", "c"]
    home.allow_hosts(["c"], fresh=True)
    assert home.read_hosts() == ["c"]


def test_where_a_stored_set_connects_is_told(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "aurora"):
        tell_connection("rates", "postgres:db.example:5432/shop/rates")
        tell_connection("rates", "postgres:db.example:5432/shop/rates?service=asked")
        tell_connection("rates", "csv:rates.csv")
    assert caplog.messages == [
        "stored set rates connects to db.example:5432 as me",
        "stored set rates connects to db.example:5432 as third",
    ]
