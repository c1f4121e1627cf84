"""Runs of the real command in processes of their own, which can be killed, and how they go on in this process."""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from aurora import Running, Settings, start
from aurora.cli.bindings import read_bindings
from aurora.engine.durable import read_json
from aurora.network.text import read_network
from tests.thoroughness import THOROUGH

# Of one step, in seconds, also when all cores are busy.
PATIENCE = 400
# How often a run is killed before it may end.
KILLS = int(os.environ.get("AURORA_KILLS", "20" if THOROUGH else "1"))


def aurora(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    return in_background([sys.executable, "-c", "from aurora.cli.main import main; main()", *arguments], log)


def in_background(command: list[str], log: Path, **environment: str) -> subprocess.Popen[bytes]:
    """A process in a session of its own, which writes to the end of the log."""
    with log.open("ab") as told:
        return subprocess.Popen(
            command,
            stdout=told,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )


def start_here(arguments: list[str]) -> Running:
    """The same command in this process, on the Spark of the tests, which is there already."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    parser.add_argument("network", type=Path)
    for name in ("source", "sink"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("home", "checkpoint", "rejects"):
        parser.add_argument(f"--{name}")
    for name, default in (("batch", Settings.batch), ("partitions", None)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--follow", action="store_true")
    given = vars(parser.parse_args(arguments))
    del given["command"]
    network, sources, sinks = (given.pop(name) for name in ("network", "source", "sink"))
    bound = read_bindings(sources, "source"), read_bindings(sinks, "sink")
    return start(read_network(network).checked(), *bound, Settings(**given))


def kill(process: subprocess.Popen[bytes]) -> None:
    """As the operating system does when memory runs out: the whole run, Spark included, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
    """Returns when the condition holds; a process that ends before is a failure."""
    for _ in range(PATIENCE * 20):
        if reached():
            return
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the run ended with status {process.returncode} before it got there")
    raise AssertionError("the run did not get there in time")


def committed(checkpoint: Path) -> int:
    """The number of the last batch that a run has committed."""
    try:
        return int(read_json(checkpoint / "committed.json")["batch"])
    except FileNotFoundError:
        return -1


def free_port() -> int:
    """One that the system gives to nobody who asks for any port: a server that is killed finds it free again, and
    clients that look for the server meanwhile find nobody else there."""
    while True:
        port = random.SystemRandom().randrange(12_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def children(parent: int) -> list[int]:
    """The processes that another one has started and that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        # The name, in brackets, may hold anything.
        if int(text.rpartition(")")[2].split()[1]) == parent:
            found.append(int(status.parent.name))
    return sorted(found)
