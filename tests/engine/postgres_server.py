"""A server of PostgreSQL for tests, with a password, which can be stopped and started again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine.processes import free_port

# It may be nowhere but where a password belongs.
CANARY = "canary-7f3a91"
WORDS = {"PGUSER": "aurora", "PGPASSWORD": CANARY}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "max_connections": "50",
    "shared_buffers": "16MB",
}


class Server:
    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._owner = _owner()
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        word = folder / "word"
        word.write_text(CANARY)
        if self._owner:
            for path in (folder, word):
                os.chown(path, self._owner["user"], self._owner["group"])
        words = ["-A", "scram-sha-256", "--pwfile", str(word), "-U", "aurora", "--no-sync", "-E", "UTF8"]
        subprocess.run(
            [str(programs / "initdb"), "-D", str(folder / "data"), "--locale=C", *words],
            cwd=folder, check=True, capture_output=True, **self._owner,
        )  # fmt: skip
        word.unlink()
        self.start()

    @property
    def address(self) -> str:
        """Of the database; a table goes behind it."""
        return f"postgres:127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = {**SETTINGS, "port": str(self.port), "unix_socket_directories": ""}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._folder / "data"), *options],
                cwd=self._folder, stdout=log, stderr=log, start_new_session=True, **self._owner,
            )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """At once, as in a crash: connections are cut."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def _answers(self) -> bool:
        import psycopg

        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def connect(self, user: str = "aurora", password: str = CANARY) -> Any:
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname="postgres", user=user, password=password, autocommit=True
        )

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Gives the rows of the last statement, if it has some."""
        with self.connect() as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []


def _owner() -> dict[str, Any]:
    """The server refuses to be root, so root starts it as another user."""
    if os.geteuid() != 0:
        return {}
    names = {user.pw_name: user for user in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def server_with_password() -> Iterator[Server]:
    """While it is there, the environment says who connects to it. Skips the test, and says why, where there is none."""
    pytest.importorskip("psycopg", reason="no PostgreSQL: the package psycopg is not installed")
    from aurora.linear_road.rivals.server import find_server

    programs = find_server()
    if programs is None:
        pytest.skip("no PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="aurora-pg-", dir="/tmp"))
    patch = pytest.MonkeyPatch()
    try:
        server = Server(folder, programs)
        for name, value in WORDS.items():
            patch.setenv(name, value)
        try:
            yield server
        finally:
            server.stop()
    finally:
        patch.undo()
        shutil.rmtree(folder, ignore_errors=True)
