"""Python processes that are forked from a warm one, in place of those that Spark starts."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import Memory, Network, run
from aurora.engine.spark import warm, warm_start
from tests.engine.strangers import open_folder, start_a_stranger
from tests.history.attached import wait_until

__all__ = ["open_folder"]

PROBE = "tests.engine.warm_probe"
# As the module that Spark would name: only those that Spark starts for each query are forked.
ASK = f"import sys; from aurora.engine.spark.warm_start import ask; ask(sys.argv[1], ['{PROBE}', 'more'])"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """Where a warm process listens that ends with the test."""
    folder = tmp_path / "warm"
    folder.mkdir()
    found = str(folder / "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", warm.__name__, found],
        stdin=subprocess.PIPE,
        env={**os.environ, "A_STRANGER": "x"},
    )
    wait_until(lambda: is_loaded(found))
    yield found
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0
    assert not folder.exists()


def is_loaded(place: str) -> bool:
    """Whether somebody listens; then return when a fork has answered. Who asks for one waits for 20 seconds at most."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(place)
        except OSError:
            return False
        probe.shutdown(socket.SHUT_WR)
        return bool(probe.recv(1))


def ask(place: str, folder: Path) -> tuple["subprocess.Popen[bytes]", dict[str, Any]]:
    environment = {**os.environ, "A_WORD": "a=b", "PYTHONPATH": f"{os.getcwd()}{os.pathsep}/somewhere"}
    process = subprocess.Popen(
        [sys.executable, "-c", ASK, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def end(process: "subprocess.Popen[bytes]") -> int:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    return process.wait(30)


def test_a_fork_is_what_was_asked_for(place: str, tmp_path: Path) -> None:
    asked, told = ask(place, tmp_path)
    assert told["name"] == "__main__" and told["folder"] == str(tmp_path)
    assert told["word"] == "a=b" and told["strange"] is None
    assert "/somewhere" in told["path"] and told["arguments"] == ["more"]
    assert told["pid"] != asked.pid and is_there(told["pid"])
    assert end(asked) == 7
    wait_until(lambda: not is_there(told["pid"]))


def test_a_fork_ends_with_the_process_that_asked(place: str, tmp_path: Path) -> None:
    (first, one), (second, two) = ask(place, tmp_path), ask(place, tmp_path)
    first.terminate()
    wait_until(lambda: not is_there(one["pid"]))
    assert is_there(two["pid"])
    end(first)
    second.kill()
    wait_until(lambda: not is_there(two["pid"]))
    end(second)


def test_without_a_warm_process_python_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(warm_start.PLACE, str(tmp_path / "nothing"))
    starter = warm._write_starter(tmp_path)
    assert starter is not None and warm._write_starter(tmp_path) == starter
    for module in (PROBE, *warm_start.MODULES):
        code = "import sys; sys.exit('pyspark' in sys.modules)"
        assert subprocess.run([starter, "-c", code, "-m", module]).returncode == 0
    found = subprocess.run([starter, "-m", PROBE, "more"], input=b"\n", capture_output=True)
    assert found.returncode == 7 and json.loads(found.stdout)["arguments"] == ["more"]


def test_the_current_folder_is_behind_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyspark"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('of the current folder')\n")
    (tmp_path / "of_a_user.py").write_text("import json; print(json.__file__)\n")
    starter = warm._write_starter(tmp_path)
    assert starter is not None
    ran = subprocess.run([starter, "-m", "of_a_user"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout == f"{json.__file__}\n"
    imports = subprocess.run([starter, "-m", "pyspark.daemon_that_is_not"], cwd=tmp_path, capture_output=True)
    assert b"current folder" not in imports.stderr and b"daemon_that_is_not" in imports.stderr
    code = (
        "import sys; from aurora.engine.spark import warm; warm._start(); "
        "print(*warm._started[0].args, flush=True); sys.stdin.readline(); sys.exit(warm._started[0].poll() or 0)"
    )
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, stdin=-1, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        place = process.stdout.readline().split()[-1]
        wait_until(lambda: os.path.exists(place))
        _, said = process.communicate("\n")
    assert process.returncode == 0 and "current folder" not in said


def test_where_nothing_can_be_written_nothing_is_warm(tmp_path: Path) -> None:
    with warm.warm_python(tmp_path / "missing") as python:
        assert python is None and warm_start.PLACE not in os.environ
    with warm.warm_python(None) as python:
        assert python is None


def test_it_ends_with_the_process_that_started_it() -> None:
    code = (
        "import sys, pathlib; from aurora.engine.spark import warm;"
        "print(warm._start(), warm._started[0].pid, flush=True); sys.stdin.readline()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    where, number = process.stdout.readline().split()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    wait_until(lambda: not is_there(int(number)) and not os.path.exists(os.path.dirname(where)))


def test_what_a_killed_process_left_is_removed(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / f"{warm.FOLDER}left" / "socket"
    left.parent.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    (tmp_path / f"{warm.FOLDER}used").symlink_to(os.path.dirname(place))
    warm._sweep(left.stat().st_mtime - 1)
    assert left.exists()
    warm._sweep(left.stat().st_mtime + 1)
    assert not left.parent.exists() and os.path.exists(place)
    asked, _ = ask(place, tmp_path)
    assert end(asked) == 7


# A socket at which nobody is ever answered, because others wait there already.
DEAF = """
import os, socket, sys
os.makedirs(sys.argv[1], 0o755)
listener, first = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/socket")
os.chmod(sys.argv[1] + "/socket", 0o777)
listener.listen(0)
first.connect(sys.argv[1] + "/socket")
print("there", flush=True)
sys.stdin.read()
"""


def test_a_socket_of_another_user_stops_nobody(open_folder: Path) -> None:
    with start_a_stranger(DEAF, open_folder / f"{warm.FOLDER}deaf") as stranger:
        assert stranger.stdout is not None and stranger.stdout.readline() == "there\n"
        warm._sweep(time.time() + 60)
        assert (open_folder / f"{warm.FOLDER}deaf" / "socket").exists()
        stranger.communicate()


def test_who_is_too_busy_to_answer_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(warm, "ANSWER", 0.01)
    busy = tmp_path / f"{warm.FOLDER}busy" / "socket"
    busy.parent.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(busy))
        listener.listen(0)
        first.connect(str(busy))
        warm._sweep(time.time() + 60)
        assert busy.exists()


@pytest.mark.parametrize("planted", ["#!/bin/sh\necho planted\n", None])
def test_a_starter_that_somebody_else_could_have_written_is_replaced(
    tmp_path: Path, planted: str | None
) -> None:
    starter = warm._write_starter(tmp_path)
    assert starter is not None
    good = Path(starter).read_text()
    Path(starter).unlink()
    if planted is None:
        (tmp_path / "planted").write_text(good)
        Path(starter).symlink_to(tmp_path / "planted")
    else:
        Path(starter).write_text(planted)
    assert warm._write_starter(tmp_path) == starter and Path(starter).read_text() == good
    assert not Path(starter).is_symlink() and Path(starter).stat().st_mode & 0o777 == 0o700


def test_a_query_asks_its_source_from_a_fork(spark: SparkSession) -> None:
    network = Network("warm")
    network.output("out", network.input("r", "k int").filter("k > 1"))
    assert Path(spark.sparkContext.pythonExec).name.startswith("python-")
    assert os.environ["PYSPARK_PYTHON"] == sys.executable and warm_start.PLACE not in os.environ
    during = set[int]()
    source = {"r": Memory.of("k int", [{"k": 1}, {"k": 2}])}
    result = run(network, source, watch=lambda _: during.update(readers()))
    assert list(result["out"].to_pandas()["k"]) == [2]
    assert during
    # They end with their queries.
    wait_until(lambda: not during & readers())


def readers() -> set[int]:
    """The forks that ask the source of a query."""
    assert warm._started is not None
    number = warm._started[0].pid
    tasks = Path(f"/proc/{number}/task").iterdir()
    forks = {int(fork) for task in tasks for fork in (task / "children").read_text().split()}
    return {fork for fork in forks if _name(fork) == "python_streamin"}


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""
