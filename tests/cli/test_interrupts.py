"""Ctrl-C, a closed pipe, a Java that was killed: how the command ends."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from pyspark.sql import SparkSession

from aurora import AuroraError
from aurora.cli.interrupts import stoppable
from tests.engine.processes import PATIENCE, committed, wait_for
from tests.history.attached import wait_until
from tests.test_docs import call

NETWORK = """
network: far
inputs:
  r: {schema: "Sid int, Time int, Pos int"}
boxes:
  over: {filter: ["Pos >= 30"], from: r}
outputs:
  far: {from: over}
"""
# On a slow machine a run tells of its progress, too.
PROGRESS = re.compile(r"^\d+ s: |\"event\": \"(?:starting|progress)\"")
MAIN = [sys.executable, "-c", "from aurora.cli.main import main; main()"]
FOLLOWED = ["run", "net.yaml", "--source", "r=csv:r.csv", "--sink", "far=csv:out/far.csv", "--follow"]

# Two interrupts, the second before the first has led to an end.
TWICE = """
import os, signal, threading
from aurora.cli.interrupts import stoppable
with stoppable() as stop:
    os.kill(os.getpid(), signal.SIGINT)
    assert stop.is_set()
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
"""


def test_the_second_interrupt_ends_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, "stopped at once\n")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "net.yaml").write_text(NETWORK)
    (tmp_path / "r.csv").write_text("Sid,Time,Pos\n1,1,34\n2,1,24\n3,2,35\nx,3,40\n")
    return tmp_path


def followed(files: Path, then: Callable[[int], None]) -> tuple[int, list[str]]:
    """A run with --follow to which something happens after its first batch; its status, and what it said."""
    process = subprocess.Popen(
        [*MAIN, *FOLLOWED], cwd=files, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(process, lambda: committed(files / "out" / ".far.csv.checkpoint") >= 0)  # type: ignore[arg-type]
    then(process.pid)
    told = process.communicate(timeout=PATIENCE)[1].splitlines()
    return process.returncode, [line for line in told if not PROGRESS.search(line)]


def test_an_interrupt_tells_what_the_run_did(files: Path) -> None:
    """As the terminal does it: to all processes of the group."""
    status, told = followed(files, lambda pid: os.killpg(pid, signal.SIGINT))
    assert status == 130
    assert told[0].startswith("1 batch in ") and told[2] == "r         4" and told[4] == "far        2"
    assert told[-2:] == [
        f"1 row could not be read: see {files / 'out' / 'rejects.csv'}",
        "stopped: the same command continues where it stopped",
    ]


def test_a_service_manager_ends_a_run_in_order(
    spark: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `KillMode=mixed` does it: to the command alone, which is this process."""
    monkeypatch.chdir(files)
    # This process is not to end where the start still has something to do after the first batch.
    monkeypatch.setattr("aurora.cli.interrupts.START", PATIENCE)

    def terminate() -> None:
        # The handler is there before the first batch is.
        wait_until(lambda: committed(files / "out" / ".far.csv.checkpoint") >= 0)
        os.kill(os.getpid(), signal.SIGTERM)

    manager = threading.Thread(target=terminate)
    manager.start()
    status, printed, told = call([*FOLLOWED, "--log", "json"])
    manager.join()
    assert (status, printed) == (143, "")
    events = [json.loads(line) for line in told.splitlines() if not PROGRESS.search(line)]
    assert [each["event"] for each in events] == ["summary", "rejects", "stopped"]
    assert events[0]["inputs"] == {"r": 4} and events[2]["goes_on"]


def test_a_java_that_was_killed_is_one_line(files: Path) -> None:
    status, told = followed(files, lambda pid: os.kill(java_of(pid), signal.SIGKILL))
    assert status == 1 and len(told) == 1
    assert told[0].startswith("error: Spark's Java process ended before the run did (more in ")
    log = Path(told[0].partition("(more in ")[2].rstrip(")"))
    assert log.exists()
    log.unlink()


def test_a_signal_to_the_whole_group_while_spark_starts(files: Path) -> None:
    """As `KillMode=control-group` does it: Java ends as well, and is not to blame."""
    process = subprocess.Popen(
        [*MAIN, *FOLLOWED], cwd=files, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(process, lambda: has_java(process.pid))  # type: ignore[arg-type]
    os.killpg(process.pid, signal.SIGTERM)
    told = process.communicate(timeout=PATIENCE)[1].splitlines()
    assert process.returncode == 143
    assert [line for line in told if not PROGRESS.search(line)] == ["stopped"]


# A start in which Java does not answer, interrupted once.
STUCK = """
import os, signal, threading
from aurora.cli import interrupts
from aurora.engine.outages import stop_waiting_at
interrupts.START = 0.1
with interrupts.stoppable() as stop, stop_waiting_at(stop):
    os.kill(os.getpid(), signal.SIGTERM)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    threading.Event().wait()
"""


def test_a_start_that_does_not_end_in_order_ends_all_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False
    )
    told = "stopped while the run started: the same command starts it again\n"
    assert (done.returncode, done.stderr) == (143, told)


def test_an_interrupt_while_spark_starts_leaves_no_java(files: Path) -> None:
    process = subprocess.Popen(
        [*MAIN, *FOLLOWED], cwd=files, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(process, lambda: has_java(process.pid))  # type: ignore[arg-type]
    java = java_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    told = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130 and "stopped" in told
    # It ends by itself when the command has ended.
    wait_until(lambda: has_ended(java))


def has_ended(pid: int) -> bool:
    """Nobody may be there to take note of it."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def test_a_fault_stays_one_unless_a_signal_has_ended_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aurora.cli.interrupts._spark_runs", lambda: True)
    with pytest.raises(AuroraError, match="the disk is full"), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
        raise AuroraError("the disk is full")
    monkeypatch.setattr("aurora.cli.interrupts._spark_runs", lambda: False)
    with pytest.raises(AuroraError, match="Spark did not start"), stoppable():
        raise AuroraError("Spark did not start")
    with pytest.raises(typer.Exit) as ended, stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
        raise ConnectionRefusedError
    assert ended.value.exit_code == 143


def has_java(group: int) -> bool:
    try:
        return java_of(group) > 0
    except StopIteration:
        return False


def java_of(group: int) -> int:
    listed = subprocess.run(["ps", "-eo", "pid,pgid,comm"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()[1:]]
    return next(int(row[0]) for row in rows if row[1] == str(group) and row[2] == "java")


def test_a_closed_pipe_ends_the_run_without_a_word(
    spark: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `aurora run ... | head -1`."""
    monkeypatch.chdir(files)
    (files / "long.csv").write_text("".join(f"{i},{i},40\n" for i in range(2000)))
    arguments = ["run", "net.yaml", "--source", "r=csv:long.csv", "--sink", "far=console", "--batch", "500"]
    reading, writing = os.pipe()
    read: list[str] = []

    def read_a_line() -> None:
        with open(reading) as pipe:
            read.append(pipe.readline())

    head = threading.Thread(target=read_a_line)
    head.start()
    with open(writing, "w") as pipe:
        status, _, told = call(arguments, pipe)
    head.join()
    assert read == ["far: 0,0,40\n"]
    assert (status, [line for line in told.splitlines() if not PROGRESS.search(line)]) == (141, [])
