"""A cluster of two workers, started as the page on clusters says: its commands, and runs that lose a worker."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora.history.control import ask
from aurora.linear_road.validate import validate
from tests.engine import test_faults
from tests.engine.networks import written
from tests.engine.processes import PATIENCE, answers, aurora, children, committed, free_port, kill, wait_for
from tests.engine.rpc import REFUSED, ask_spark, listening
from tests.engine.test_faults import data, undisturbed
from tests.history.test_killed import COUNT, Command
from tests.linear_road import test_run
from tests.linear_road.test_run import road
from tests.test_docs import ROOT, call

__all__ = ["data", "road", "undisturbed"]

PAGE = (ROOT / "docs" / "cluster.md").read_text()
# As the command has it on one machine: a Java that compiles little starts sooner.
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass
class Cluster:
    folder: Path
    shell: subprocess.Popen[bytes]
    port: int
    lost: bool = False

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "shell.log").read_text()

    def give(self, *lines: str) -> None:
        """Types the lines, and returns when all of them are done."""
        assert self.shell.stdin is not None
        done = self.folder / "done"
        done.unlink(missing_ok=True)
        self.shell.stdin.write("".join([*lines, "touch done\n"]).encode())
        self.shell.stdin.flush()
        try:
            wait_for(self.shell, done.exists)
        except AssertionError as fault:
            raise AssertionError(self.log[-4000:]) from fault

    def lose_a_worker(self) -> None:
        """With what it has started; another one takes its place when the next test begins."""
        self.lost = True
        lost = next(pid for pid in children(self.shell.pid) if ".Worker" in named(pid))
        for pid in (lost, *children(lost)):
            os.kill(pid, signal.SIGKILL)

    def make_whole(self) -> None:
        if self.lost:
            self.give(next(line for line in commands(self.port) if ".Worker" in line))
            self.lost = False


def named(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def commands(port: int) -> list[str]:
    """Those of the page without their prompts; what `cat` must show is compared."""
    (console,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    console = console.replace("7077", str(port)).replace("8080", "0")
    lines = []
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE):
        if command.startswith("cat "):
            lines.append(f"diff {command.removeprefix('cat ')} - <<'END'\n{shown}END\n")
        else:
            lines.append(f"{command}\n")
    return lines


def write_files(folder: Path) -> None:
    """Those of the page."""
    for name, text in re.findall(r"^```(?:csv|yaml|text) (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With the files and the settings of the page, which arrive at the executors."""
    folder = tmp_path_factory.mktemp("cluster")
    write_files(folder)
    with (folder / "conf" / "spark-defaults.conf").open("a") as settings:
        settings.write(f"spark.executor.extraJavaOptions  {LIGHT}\n")
    (folder / "aurora").write_text(
        f'#!/bin/sh\nSPARK_CONF_DIR=conf exec {sys.executable} -c "from aurora.cli.main import main; main()" "$@"\n'
    )
    (folder / "aurora").chmod(0o755)
    port = free_port()
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    more = {"PATH": path, "SPARK_WORKER_DIR": str(folder / "work"), "SPARK_DAEMON_JAVA_OPTS": LIGHT}
    with (folder / "shell.log").open("wb") as told:
        shell = subprocess.Popen(
            ["bash", "-e"],
            cwd=folder,
            env={**os.environ, **more},
            stdin=subprocess.PIPE,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
    started = Cluster(folder, shell, port)
    lines = commands(port)
    first = 1 + next(index for index, line in enumerate(lines) if ".Master" in line)
    run = next(index for index, line in enumerate(lines) if line.startswith("aurora "))
    try:
        started.give(*lines[:first])
        # As a reader does, before the workers are started.
        wait_for(shell, lambda: answers(port))
        started.give(*lines[first:run])
        yield started
    finally:
        kill(shell)
        assert shell.stdin is not None
        shell.stdin.close()


@pytest.mark.thorough
def test_the_page(cluster: Cluster) -> None:
    """What is on it behind the commands that start the cluster."""
    lines = commands(cluster.port)
    run = next(index for index, line in enumerate(lines) if line.startswith("aurora "))
    assert run == len(lines) - 2
    cluster.give(*lines[run:])
    assert '"-Xmx900M"' in cluster.log


def test_the_network_of_the_page(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine: its rows are those of the page. That a cluster gives the same is what the tests below hold."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    command, shown = re.findall(
        r"^\$ aurora (run .+) --master \S+\n\$ cat crowds.csv\n((?:.+\n)+)```", PAGE, re.M
    )[0]
    status, _, told = call(shlex.split(command))
    assert status == 0, told
    assert Path("crowds.csv").read_text() == shown


@pytest.fixture
def configured(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("SPARK_CONF_DIR", str(cluster.folder / "conf"))
    cluster.make_whole()
    return cluster


def test_nobody_is_heard_without_the_secret_of_the_page(cluster: Cluster) -> None:
    """Neither by the master nor by its workers; and nobody else can read the secret."""
    workers = [pid for pid in children(cluster.shell.pid) if ".Worker" in named(pid)]
    wait_for(cluster.shell, lambda: all(map(listening, workers)))
    assert len(workers) == 2
    for ports in ([cluster.port], *map(listening, workers)):
        assert any(REFUSED in ask_spark("127.0.0.1", port) for port in ports)
    assert (cluster.folder / "conf" / "spark-defaults.conf").stat().st_mode & 0o077 == 0


def test_a_network_and_its_queries_lose_a_worker(configured: Cluster, tmp_path: Path) -> None:
    """Its state moves to the other one, and nothing is lost or doubled."""
    command = Command(tmp_path, f"--master={configured.url}")
    command.grow(COUNT // 2)
    command.start()
    command.until(lambda: bool(command.status()))
    command.attach("pairs")
    (checkpoint,) = command.home.query("pairs").glob("checkpoint-*")
    command.until(lambda: committed(checkpoint) >= 0)
    configured.lose_a_worker()
    command.grow(COUNT)
    try:
        command.until(command.caught_up)
    except AssertionError:
        # Spark gives up where a worker is lost at the wrong moment: a query is resumed, and for a network that has
        # ended the same command goes on.
        failed = [name for name, query in command.status().get("queries", {}).items() if query["fault"]]
        for name in failed:
            ask(command.home, "resume", query=name)
        if not failed:
            command.start()
        command.until(command.caught_up)
    ask(command.home, "stop")
    assert command.process is not None and command.process.wait(PATIENCE) == 0
    command.check()
    assert '"-Xmx900M"' in configured.log, "the settings of the page"


@pytest.mark.thorough
def test_every_kind_of_box_loses_a_worker(
    configured: Cluster, data: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    options = ("--batch=40", "--partitions=2", f"--master={configured.url}")
    process = aurora(test_faults.command(data, out, *options), log)
    wait_for(process, lambda: committed(out / ".each.csv.checkpoint") >= 3)
    configured.lose_a_worker()
    assert process.wait(PATIENCE) == 0, log.read_text()
    assert written(out) == undisturbed


@pytest.mark.thorough
def test_linear_road_loses_a_worker(
    configured: Cluster, spark: SparkSession, road: Path, tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    options = ("--batch=1500", "--partitions=2", f"--master={configured.url}")
    process = aurora(test_run.command(road, out, *options), log)
    wait_for(process, lambda: committed(out / ".run" / "checkpoint") >= 3)
    configured.lose_a_worker()
    assert process.wait(PATIENCE) == 0, log.read_text()
    test_run.check(validate(spark, road, out / "output.csv"), road, out)
