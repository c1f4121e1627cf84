"""A network and its queries, killed at any moment and started again by the same command; and on a cluster."""

import os
import random
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError
from aurora.engine.sinks.encode import csv_header, to_csv
from aurora.history.control import ask
from aurora.history.home import Home
from tests.engine.processes import KILLS, aurora, committed, kill, start_here, wait_for
from tests.history.attached import (
    BORDER,
    QUERIES,
    answers,
    query,
    read,
    reports,
    streams,
    wait_until,
    yielding,
)
from tests.thoroughness import draw_chance

COUNT = 240


def lines(first: int, stop: int) -> str:
    return "".join(",".join(map(str, row.values())) + "\n" for row in reports(COUNT)[first:stop])


class Command:
    """`aurora run --home --follow` on a file that grows."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder, self.home, self.log = folder, Home.of(folder / "home"), folder / "log"
        (folder / "border.yaml").write_text(BORDER)
        (folder / "reports.csv").touch()
        self.arguments = [
            "run", f"{folder}/border.yaml", f"--source=reports=csv:{folder}/reports.csv",
            f"--sink=crowds=csv:{folder}/crowds.csv", f"--home={folder}/home", "--follow", "--batch=40",
            "--partitions=2", *more,
        ]  # fmt: skip
        self.written = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        self.process = aurora(self.arguments, self.log)
        return self.process

    def kill(self) -> None:
        assert self.process is not None
        kill(self.process)
        self.process = None

    def grow(self, to: int) -> None:
        with (self.folder / "reports.csv").open("a") as file:
            file.write(lines(self.written, to))
        self.written = to

    def until(self, reached: Any) -> None:
        if self.process is None:
            wait_until(reached)
            return
        try:
            wait_for(self.process, reached)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {self.log.read_text()}") from None

    def status(self) -> dict[str, Any]:
        """What it tells, or nothing as long as it does not answer."""
        try:
            found: dict[str, Any] = ask(self.home, "status")
        except AuroraError:
            return {}
        return found

    def attach(self, name: str) -> None:
        """A query of that kind, or of what stands before the hyphen, to a network that answers."""
        sinks = {"out": f"csv:{self.folder}/{name}.csv"}
        path, text = str(self.folder / f"{name}.yaml"), QUERIES[name.partition("-")[0]]
        ask(self.home, "attach", text=text, path=path, sinks=sinks, name=name, since=None)

    def caught_up(self) -> bool:
        """Whether all that was written has passed, at the network and at its queries."""
        found = self.status()
        if not found or found["boxes"]["over"]["taken"] < self.written:
            return False
        assert not [query["fault"] for query in found["queries"].values() if query["fault"]]
        return all(query["behind"] == 0 for query in found["queries"].values())

    def check(self) -> None:
        passed = streams(COUNT)
        notes = {note.name: note for note in self.home.notes()}
        for name, note in notes.items():
            kind = query(name.partition("-")[0])
            assert read(self.folder / f"{name}.csv") == answers(kind, note.starts, passed), name
        crowds = passed["crowds"].rows
        whole = csv_header(crowds.schema) + to_csv(crowds)
        found = read(self.folder / "crowds.csv")
        # The last windows are open still.
        assert whole.startswith(found) and found.count(b"\n") > 5


class Moves:
    """What an operator does, one thing after the other, until the network is killed, whatever is under way then."""

    def __init__(self, command: Command, chance: random.Random, number: int) -> None:
        self.command = command
        self.starts: dict[str, Any] = {}
        first, second = f"one-{number}", f"pairs-{number}"
        pausing = [("pause", {}), ("step", {"batches": 1}), ("resume", {})]
        moves = [("attach", second), ("detach", first), *(pausing if chance.random() < 0.7 else pausing[:2])]
        chance.shuffle(moves)
        self.moves: list[tuple[str, Any]] = [("attach", first), *moves]
        self.done: list[str] = []
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def play(self) -> None:
        # When it is killed, there is no answer.
        with suppress(AuroraError, OSError):
            for move, what in self.moves:
                if move == "attach":
                    self.command.attach(what)
                    self.starts |= {note.name: note.starts for note in self.command.home.notes()}
                elif move == "detach":
                    ask(self.command.home, "detach", name=what)
                else:
                    ask(self.command.home, move, **what)
                self.done.append(move)


def test_killed_while_queries_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    """At random moments, paused or not, and sometimes a moment after one of the processes of its queries. Nothing is
    lost or doubled; a query that was detached has a part of its answers."""
    chance, command = draw_chance(), Command(tmp_path)
    starts: dict[str, Any] = {}
    for number in range(KILLS):
        made = committed(command.home.checkpoint)
        command.grow((number + 1) * COUNT // (KILLS + 1))
        process = command.start()
        command.until(lambda: bool(command.status()))
        if number == 0:
            command.attach("pairs")
            (checkpoint,) = command.home.query("pairs").glob("checkpoint-*")
            # There is something of the query that may be lost.
            command.until(lambda checkpoint=checkpoint: committed(checkpoint) >= 0)  # type: ignore[misc]
        command.until(lambda made=made: committed(command.home.checkpoint) > made)  # type: ignore[misc]
        moves = Moves(command, chance, number)
        command.until(lambda moves=moves: bool(moves.done))  # type: ignore[misc]
        with suppress(subprocess.TimeoutExpired):
            process.wait(3 * chance.random())
        if (own := yielding(process.pid)) and chance.random() < 0.5:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(own), signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.random())
        command.kill()
        moves.thread.join()
        starts |= moves.starts
    with pytest.raises(AuroraError, match="no network runs in"):
        ask(command.home, "status")
    with start_here(command.arguments) as running:
        assert running.state == "running", "a pause ends with the run"
        command.grow(COUNT)
        command.until(command.caught_up)
        check_in_use(command)
        assert ask(command.home, "stop")["rows"]["crowds"] > 0
        assert not running.wait().ended
    command.check()
    attached = {note.name for note in command.home.notes()}
    assert "pairs" in attached and len(starts) > KILLS
    for name in starts.keys() - attached:
        found = read(tmp_path / f"{name}.csv")
        assert answers(query(name.partition("-")[0]), starts[name], streams(COUNT)).startswith(found), name


def check_in_use(command: Command) -> None:
    """The same command once more, while the network runs."""
    told = command.folder / "second"
    assert aurora(command.arguments, told).wait(180) == 1
    in_use = f"error: home {command.folder}/home is in use by another run"
    assert told.read_text().startswith(in_use) and told.read_text().count("\n") == 1


@pytest.mark.thorough
def test_killed_while_queries_catch_up(tmp_path: Path) -> None:
    """Again and again, by the command alone."""
    command = Command(tmp_path)
    command.grow(COUNT // 2)
    command.start()
    command.until(lambda: bool(command.status()))
    command.attach("pairs")
    command.attach("one")
    (checkpoint,) = command.home.query("pairs").glob("checkpoint-*")
    for number in range(KILLS):
        made = committed(command.home.checkpoint)
        command.grow(COUNT // 2 + (number + 1) * COUNT // 2 // KILLS)
        command.until(lambda made=made: committed(command.home.checkpoint) > made)  # type: ignore[misc]
        command.until(lambda: committed(checkpoint) >= 0)
        command.kill()
        command.start()
    command.until(command.caught_up)
    ask(command.home, "stop")
    assert command.process is not None and command.process.wait(180) == 0
    command.check()
