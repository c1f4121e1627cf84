"""The control socket: questions and answers, bad ones, long paths, and sockets that a kill left behind."""

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from aurora import AuroraError
from aurora.history import control
from aurora.history.answers import answers
from aurora.history.control import ControlServer, Limits, ask, is_running
from aurora.history.home import Home
from aurora.history.last_status import find_status
from aurora.history.requests import REQUESTS, check_request
from tests.engine.strangers import NUMBER, as_a_stranger, open_folder, start_a_stranger
from tests.history.attached import wait_until

__all__ = ["open_folder"]


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


ASK = """
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.connect(sys.argv[1])
print(own.makefile().readline())
"""
# Gives its own answer to whoever asks.
SERVE = """
import os, socket, sys
own = socket.socket(socket.AF_UNIX)
own.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
own.listen()
print("there", flush=True)
while True:
    try:
        own.accept()[0].sendall(b'{"answer": {"is": "false"}}\\n')
    except ConnectionError:
        pass
"""
only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who calls")


@only_linux
def test_another_user_is_turned_away_before_he_has_asked(open_folder: Path) -> None:
    called = list[object]()
    with serving(open_folder / "home", status=called.append) as home:
        home.folder.chmod(0o755)
        home.socket.chmod(0o777)
        told = json.loads(as_a_stranger(ASK, home.socket))
    assert told == {"error": "this network belongs to another user"} and called == []


@only_linux
@pytest.mark.parametrize("asks", ["root", "somebody"])
def test_a_socket_of_another_user_is_not_asked(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    home = Home.of(open_folder / "home")
    home.checkpoint.mkdir(parents=True)
    home.folder.chmod(0o777)
    with start_a_stranger(SERVE, home.socket) as stranger:
        assert stranger.stdout is not None and stranger.stdout.readline() == "there\n"
        if asks == "somebody":
            os.chown(home.folder, NUMBER, NUMBER)
            monkeypatch.setattr(control.os, "getuid", lambda: 1000)
        assert not is_running(home)
        with pytest.raises(
            AuroraError, match=f"home belongs to another user, number {NUMBER}: it is not asked"
        ):
            ask(home, "status")
        if asks == "somebody":
            monkeypatch.undo()
            assert ask(home, "status") == {"is": "false"}, "root may ask everybody"
        stranger.terminate()


@only_linux
def test_the_system_tells_who_calls() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert control._find_user(ours) == os.getuid()


@only_linux
def test_the_socket_is_closed_from_the_moment_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    before = os.umask(0)
    try:
        with serving(tmp_path, status=lambda _: "well") as home:
            assert home.socket.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


@contextmanager
def limited(folder: Path, **limits: Any) -> Iterator[Home]:
    home = Home.of(folder)
    home.checkpoint.mkdir()
    server = ControlServer(home, {"status": lambda _: "well"}, Limits(**limits))
    try:
        yield home
    finally:
        server.close()
        server.settle()


def told_by(connection: socket.socket) -> str:
    try:
        return str(json.loads(connection.makefile().readline())["error"])
    except ConnectionResetError:
        return "hung up"


def test_a_request_has_a_largest_size(tmp_path: Path) -> None:
    with limited(tmp_path, bytes=1000) as home, socket.socket(socket.AF_UNIX) as own:
        own.connect(str(home.socket))
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(100):
                own.sendall(b" " * 1000)
        assert told_by(own) in ("a request may have 1,000 bytes at most", "hung up")
        assert ask(home, "status") == "well"
        with pytest.raises(
            AuroraError, match=r"status: the request has 9,000,\d+ bytes, and may have 8,388,608$"
        ):
            ask(home, "status", text="x" * 9_000_000)


def test_a_request_must_come_in_time(tmp_path: Path) -> None:
    with limited(tmp_path, ask_seconds=0.01) as home, socket.socket(socket.AF_UNIX) as own:
        own.connect(str(home.socket))
        assert told_by(own) == "a request must come within 0.01 s"


def test_so_many_are_answered_at_once(tmp_path: Path) -> None:
    """Who comes when there is no place is told so, and a place is free again when its holder goes."""
    with limited(tmp_path, connections=2) as home:
        first, second, third = (socket.socket(socket.AF_UNIX) for _ in range(3))
        with first, second:
            first.connect(str(home.socket))
            second.connect(str(home.socket))
            with third:
                third.connect(str(home.socket))
                assert told_by(third) == control.BUSY
        wait_until(lambda: is_answered(home))


def is_answered(home: Home) -> bool:
    try:
        return bool(ask(home, "status") == "well")
    except AuroraError:
        return False


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(tmp_path: Path, number: str) -> None:
    with serving(tmp_path, step=lambda request: request) as home, socket.socket(socket.AF_UNIX) as own:
        own.connect(str(home.socket))
        own.sendall(b'{"command": "step", "batches": %s}\n' % number.encode())
        assert f"{number} is no number here" in told_by(own)


@pytest.mark.parametrize(
    ("command", "request_", "told"),
    [
        ("step", {}, "step: batches is missing; give a whole number from 1 to 1,000,000,000"),
        ("step", {"batches": 1e308}, "step: batches must be a whole number .* found 1e\\+308"),
        ("step", {"batches": True}, "step: batches must be a whole number .* found True"),
        ("step", {"batches": 0}, "step: batches must be a whole number .* found 0"),
        ("step", {"batches": "3"}, "step: batches must be a whole number .* found '3'"),
        ("step", {"batches": 10**4000}, "step: batches must be a whole number .* found 1000"),
        ("pause", {"now": 1}, "pause: a request has no 'now'; the fields of this one are: none"),
        ("look", {"stream": "a", "after": "x", "format": "csv"}, "look: after must be a whole number from 0"),
        (
            "look",
            {"stream": "a", "after": 0, "format": "xml"},
            "look: format must be csv or json; found 'xml'",
        ),
        (
            "look",
            {"stream": ["a"], "after": 0, "format": "csv"},
            "look: stream must be a text of at most 10,000",
        ),
        ("detach", {"name": "a\0b"}, "detach: name must be a text"),
        ("detach", {"name": "a" * 10_001}, "detach: name must be a text"),
        ("attach", {"text": "", "sinks": {"a": 1}}, "attach: sinks must be texts by names"),
        ("attach", {"text": "", "sinks": {}, "since": 1.5}, "attach: since must be a text"),
        (
            "attach",
            {"text": "", "sinks": {}, "allow_hosts": "h"},
            "attach: allow_hosts must be a list of texts",
        ),
    ],
)
def test_requests_have_fields_of_some_kinds(command: str, request_: dict[str, Any], told: str) -> None:
    running: Any = None
    with pytest.raises(AuroraError, match=told):
        answers(running)[command](request_)


def test_what_a_request_need_not_say_is_null() -> None:
    assert check_request("resume", {}) == {"query": None}
    asked = {"stream": "a", "after": 3, "format": "json"}
    assert check_request("look", asked) == {**asked, "where": None, "most": None}
    assert answers(cast(Any, None)).keys() == REQUESTS.keys()


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


@pytest.mark.parametrize("part", [b"", b'{"answer": {"state": "runn', b'{"answer": 7}'])
def test_a_network_that_ends_before_it_has_answered(tmp_path: Path, part: bytes) -> None:
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home.socket))
        listening.listen()

        def hang_up() -> None:
            connection = listening.accept()[0]
            connection.makefile().readline()
            connection.sendall(part)
            connection.close()

        own = threading.Thread(target=hang_up)
        own.start()
        with pytest.raises(AuroraError, match="ended before it answered"):
            ask(home, "status")
        own.join(30)


def test_the_status_of_a_network_that_ends_while_it_is_asked_is_its_last_one(tmp_path: Path) -> None:
    home = Home.of(tmp_path)
    home.checkpoint.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home.socket))
        listening.listen()

        def hang_up() -> None:
            while True:
                with listening.accept()[0] as connection:
                    if connection.makefile().readline():
                        listening.close()
                        home.write_status({"batch": 7, "points": {"p": {}}})
                        return

        own = threading.Thread(target=hang_up)
        own.start()
        found = find_status(home)
        own.join(30)
    assert (found["state"], found["batch"]) == ("stopped", 7)
