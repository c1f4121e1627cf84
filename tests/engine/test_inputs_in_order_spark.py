"""Inputs in the order of a field in whole runs: one that is killed while an input is silent, and one over sockets."""

import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engine.processes import KILLS, aurora, committed, kill, start_here, wait_for
from tests.history.attached import wait_until
from tests.thoroughness import draw_chance

NETWORK = """
network: two in order
inputs:
  a: {schema: "t int, n int", order: t}
  b: {schema: "t int, n int", order: t%s}
boxes:
  both: {union: [a, b]}
  sums: {aggregate: {c: "count(*)", s: "sum(n)"}, from: both, order: {on: t, clock: stream}, size: 10}
  pairs: {join: "left.n = right.n", left: a, right: b, asof: {left: t, right: t}, outer: left}
outputs:
  both: {from: both}
  sums: {from: sums}
  pairs: {from: pairs}
"""
OUTPUTS = ("both", "sums", "pairs")


def lines(first: int, stop: int, late: int = 0) -> str:
    """Two rows of each value."""
    return "".join(f"{n // 2 + late},{n}\n" for n in range(first, stop))


# The second input falls silent before the first one has ended.
FIRST, SECOND, LATER = lines(0, 240), lines(0, 100, 1), "500,900\n"


def arguments(folder: Path, source: Callable[[str], str], more: str = "") -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "net.yaml").write_text(NETWORK % more)
    sources = [f"--source={name}={source(name)}" for name in "ab"]
    sinks = [f"--sink={name}=csv:{folder}/{name}.csv" for name in OUTPUTS]
    options = [f"--checkpoint={folder}/checkpoint", "--batch=20", "--partitions=2"]
    return ["run", f"{folder}/net.yaml", *sources, *sinks, *options]


def read(folder: Path, name: str = "both") -> bytes:
    with suppress(FileNotFoundError):
        return (folder / f"{name}.csv").read_bytes()
    return b""


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves that has all rows from the beginning."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "a-in.csv").write_text(FIRST)
    (folder / "b-in.csv").write_text(SECOND + LATER)
    with start_here(arguments(folder, lambda name: f"csv:{folder}/{name}-in.csv")) as running:
        assert running.wait().ended
    return folder


def test_killed_while_others_go_on_without_a_silent_input(whole: Path, tmp_path: Path) -> None:
    """At random moments, before and behind the one at which the silent input is waited for no longer."""
    chance, checkpoint = draw_chance(), tmp_path / "checkpoint"
    (tmp_path / "in").mkdir()
    (tmp_path / "a-in.csv").write_text(FIRST)
    (tmp_path / "in" / "1.csv").write_text(SECOND)
    places = {"a": f"csv:{tmp_path}/a-in.csv", "b": f"csv:{tmp_path}/in?end=end"}
    command = arguments(tmp_path, lambda name: places[name], ", idle: 200ms")
    for _ in range(KILLS):
        process, reached = aurora(command, tmp_path / "log"), committed(checkpoint) + chance.randrange(1, 12)
        # There are 17 batches of what is there.
        wait_for(process, lambda reached=reached: committed(checkpoint) >= min(reached, 16))  # type: ignore[misc]
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.random())
        kill(process)
    with start_here(command) as running:
        wait_until(lambda: read(tmp_path).count(b"\n") == 1 + (FIRST + SECOND).count("\n"))
        (tmp_path / "in" / "2.csv").write_text(f"50,901\n{LATER}")
        (tmp_path / "in" / "end").touch()
        result = running.wait()
    assert result.ended and result.totals.rejected == 1
    assert "t 50 comes after 119" in (tmp_path / "rejects.csv").read_text()
    for name in OUTPUTS:
        assert read(tmp_path, name) == read(whole, name), name


def test_inputs_over_sockets_wait_for_each_other(whole: Path, tmp_path: Path) -> None:
    """Lines come in pieces; what one socket gives waits for the other."""
    servers = {name: socket.create_server(("127.0.0.1", 0)) for name in "ab"}
    more = threading.Event()

    def send(name: str, parts: list[str]) -> None:
        with servers[name] as server, server.accept()[0] as connection:
            for number, part in enumerate(parts):
                if number:
                    more.wait()
                connection.sendall(part.encode())

    # The second one stands still in the middle of a line, behind the value 20.
    cut = SECOND.index("21,") + 1
    parts = {"a": [FIRST], "b": [SECOND[:cut], SECOND[cut:] + LATER]}
    senders = [threading.Thread(target=send, args=(name, parts[name]), daemon=True) for name in "ab"]
    for sender in senders:
        sender.start()
    places = {name: f"tcp:127.0.0.1:{server.getsockname()[1]}" for name, server in servers.items()}
    with start_here(arguments(tmp_path, lambda name: places[name])) as running:
        # Of equal values, those of the first input come first.
        held = read(whole)[: read(whole).index(b"21,")]
        try:
            wait_until(lambda: len(read(tmp_path)) >= len(held))
            assert read(tmp_path) == held
        finally:
            more.set()
        result = running.wait()
    for sender in senders:
        sender.join()
    assert result.ended and not result.totals.rejected
    for name in OUTPUTS:
        assert read(tmp_path, name) == read(whole, name), name
