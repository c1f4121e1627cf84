"""Runs of the real command in processes of their own, which can be killed."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

# Of one step, in seconds, also when all cores are busy.
PATIENCE = 400


def aurora(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from aurora.cli.main import main; main()", *arguments]
    return subprocess.Popen(command, stdout=log.open("ab"), stderr=subprocess.STDOUT, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """As the operating system does when memory runs out: the whole run, Spark included, at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(process: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
    """Returns when the condition holds; a process that ends before is a failure."""
    for _ in range(PATIENCE * 50):
        if reached():
            return
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the run ended with status {process.returncode} before it got there")
    raise AssertionError("the run did not get there in time")


def committed(checkpoint: Path) -> int:
    """The number of the last batch that a run has committed."""
    try:
        return int(json.loads((checkpoint / "committed.json").read_text())["batch"])
    except FileNotFoundError:
        return -1


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A standalone cluster of two workers, from the Spark that is installed."""
    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), *arguments]
        log = (folder / "cluster.log").open("ab")
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    url = f"spark://127.0.0.1:{port}"
    package = "org.apache.spark.deploy"
    options = ["--host", "127.0.0.1", "--webui-port", "0"]
    processes = [start(f"{package}.master.Master", *options, "--port", str(port))]
    wait_for(processes[0], lambda: answers(port))
    for number in range(2):
        memory = ["--cores", "1", "--memory", "1500m", "--work-dir", str(folder / f"worker{number}")]
        processes.append(start(f"{package}.worker.Worker", *options, *memory, url))
    try:
        yield url, processes[1:]
    finally:
        for process in processes:
            if process.poll() is None:
                kill(process)
