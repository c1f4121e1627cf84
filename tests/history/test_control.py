"""The control socket: questions and answers, bad ones, long paths, and sockets that a kill left behind."""

import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError
from aurora.history import control
from aurora.history.control import ControlServer, ask, is_running
from aurora.history.home import Home


@contextmanager
def serving(folder: Path, **commands: Any) -> Iterator[Home]:
    home = Home.of(folder)
    home.checkpoint.mkdir(parents=True, exist_ok=True)
    server = ControlServer(home, commands)
    try:
        yield home
    finally:
        server.close()
        server.settle()
    assert not home.socket.exists() and not is_running(home)


def test_questions_are_answered(tmp_path: Path) -> None:
    with serving(tmp_path, double=lambda request: {"is": 2 * request["n"]}) as home:
        assert is_running(home) and home.socket.stat().st_mode & 0o777 == 0o600
        assert [ask(home, "double", n=n) for n in (1, 2)] == [{"is": 2}, {"is": 4}]
        assert ask(home, "double", n="ü" * 100_000)["is"] == "ü" * 200_000


def test_a_path_may_be_longer_than_that_of_a_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20) / ("ü" * 60) / "home"
    with serving(folder, status=lambda _: "well") as home:
        assert len(str(home.socket)) > 108 and ask(home, "status") == "well"


def test_faults_are_raised_where_the_question_was_asked(tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise AuroraError("no query x is attached; there are none")

    def broken(_: object) -> None:
        raise OSError(28, "No space left on device")

    with serving(tmp_path, detach=refuse, stop=broken) as home:
        with pytest.raises(AuroraError, match=r"^no query x is attached; there are none$"):
            ask(home, "detach")
        with pytest.raises(AuroraError, match=r"^OSError: \[Errno 28\] No space left on device$"):
            ask(home, "stop")
        with pytest.raises(AuroraError, match="not a request that this network understands: KeyError"):
            ask(home, "fly")
        assert is_running(home)


@pytest.mark.parametrize(
    "line", [b"\n", b"{\n", b"[1]\n", b"null\n", b'{"command": []}\n', b"\xff\xfe\n", b"{}\n"]
)
def test_bad_requests_harm_nobody(tmp_path: Path, line: bytes) -> None:
    with serving(tmp_path, status=lambda _: "well") as home:
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(str(home.socket))
            own.sendall(line)
            assert list(json.loads(own.makefile().readline())) == ["error"]
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(str(home.socket))
            own.sendall(line[:-1])
        assert ask(home, "status") == "well"


def test_a_socket_that_a_kill_left_behind(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "control"))
    home = Home.of(tmp_path)
    assert home.socket.exists() and not is_running(home)
    told = f"^no network runs in {tmp_path}; start it with aurora run NETWORK --home {tmp_path}$"
    with pytest.raises(AuroraError, match=told):
        ask(home, "status")
    with serving(tmp_path, status=lambda _: "well"):
        assert ask(home, "status") == "well"
    with pytest.raises(AuroraError, match=told):
        ask(home, "status")
    (tmp_path / "control").write_text("not a socket")
    with pytest.raises(AuroraError, match=told):
        ask(home, "status")


def test_a_network_that_is_starting_is_told_as_such(tmp_path: Path) -> None:
    home = Home.of(tmp_path / "home")
    home.open()
    home.checkpoint.mkdir()
    with pytest.raises(AuroraError, match=r"home is still starting; try again in a few seconds$"):
        ask(home, "pause")
    home.release()
    with pytest.raises(AuroraError, match="no network runs in"):
        ask(home, "pause")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who calls")
@pytest.mark.parametrize(("caller", "answered"), [(1000, True), (0, True), (1001, False)])
def test_another_user_is_turned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caller: int, answered: bool
) -> None:
    """The owner and root are answered; for another user no command is called."""
    called = []
    monkeypatch.setattr(control.os, "getuid", lambda: 1000)
    monkeypatch.setattr(
        socket.socket, "getsockopt", lambda *_: struct.pack("3i", os.getpid(), caller, caller), raising=False
    )
    with serving(tmp_path, status=lambda _: called.append(caller) or "well") as home:
        if answered:
            assert ask(home, "status") == "well"
        else:
            with pytest.raises(AuroraError, match=r"^this network belongs to another user$"):
                ask(home, "status")
    assert called == [caller] * answered


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who calls")
def test_the_system_tells_who_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real credentials of a socket: nobody but its user, and root, is the owner."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert control._is_owner(ours)
        another = os.getuid() + 1
        monkeypatch.setattr(control.os, "getuid", lambda: another)
        assert control._is_owner(ours) == (os.geteuid() == 0)


def test_an_answer_under_way_leaves_before_the_end(tmp_path: Path) -> None:
    """As that of stop: the server is closed from within, and the process waits for what was said."""
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    asked, answered = threading.Event(), []

    def stop(_: object) -> str:
        asked.set()
        server.close()
        return "stopped"

    server = ControlServer(home, {"stop": stop})
    client = threading.Thread(target=lambda: answered.append(ask(home, "stop")))
    client.start()
    assert asked.wait(30)
    server.settle()
    client.join(30)
    assert answered == ["stopped"]


def test_a_network_that_ends_before_it_answers(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home.socket))
        listening.listen()

        def hang_up() -> None:
            connection = listening.accept()[0]
            connection.makefile().readline()
            connection.close()

        own = threading.Thread(target=hang_up)
        own.start()
        with pytest.raises(AuroraError, match="ended before it answered"):
            ask(home, "status")
        own.join(30)
