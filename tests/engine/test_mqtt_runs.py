"""Runs of the real command from and into topics of a real Mosquitto: killed, cut off, started again."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora.engine.mqtt.client import IN_FLIGHT
from aurora.history.control import ask
from aurora.history.home import Home
from tests.engine.mosquitto_broker import CANARY, VARIABLE, Mosquitto, mosquitto_in, until
from tests.engine.processes import aurora, committed, kill, start_here, wait_for
from tests.test_docs import blocks, call


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto_in(tmp_path_factory.mktemp("mosquitto")) as started:
        yield started


NETWORK = """network: trips
inputs:
  trips: {schema: "id bigint, km double"}
outputs:
  all: {from: trips}
  sent: {from: trips}
"""


def lines(start: int, stop: int) -> list[bytes]:
    return [b'{"id": %d, "km": 1.5}' % number for number in range(start, stop)]


def hears(broker: Mosquitto, sent: list[tuple[str, bytes]]) -> bool:
    """Whether who listens is connected again."""
    broker.send("sent/hello", [b""])
    return any(topic == "sent/hello" for topic, _ in sent)


def test_a_run_through_kills_of_broker_and_run(
    broker: Mosquitto, spark: SparkSession, tmp_path: Path
) -> None:
    """No message is lost, though the broker is stopped, and the run is killed while messages come."""
    network, log, copy = tmp_path / "net.yaml", tmp_path / "log", tmp_path / "copy.jsonl"
    network.write_text(NETWORK)
    command = [
        "run", str(network), "--source", f"trips={broker.address('came/#')}", "--sink", f"all=json:{copy}",
        "--sink", f"sent={broker.address('sent/{id}', 'qos=1')}", "--home", str(tmp_path / "home"),
    ]  # fmt: skip

    def copied() -> set[int]:
        text = copy.read_text() if copy.exists() else ""
        return {json.loads(line)["id"] for line in text[: text.rfind("\n") + 1].splitlines()}

    def rejected() -> list[str]:
        path = tmp_path / "home" / "rejects.csv"
        return path.read_text().splitlines()[1:] if path.exists() else []

    with broker.listening("sent/#") as sent:
        run = aurora(command, log)
        try:
            wait_for(run, lambda: committed(tmp_path / "home" / "checkpoint") == 0)
            broker.send("came/a", [*lines(0, 100), b"poison"])
            wait_for(run, lambda: len(copied()) == 100 and len(rejected()) == 1)
            broker.stop()
            wait_for(run, lambda: b"does not answer" in log.read_bytes())
            broker.start()
            wait_for(run, lambda: b"answers again; the run continues" in log.read_bytes())
            wait_for(run, lambda: hears(broker, sent))
            broker.send("came/b", lines(100, 2000))
            wait_for(run, lambda: len(copied()) > 100)
            kill(run)
            broker.send("came/c", lines(2000, 2100))
            with start_here(command) as again:
                until(lambda: len(copied()) == 2100)
                until(lambda: len({topic for topic, _ in sent} - {"sent/hello"}) >= 2000)
                # It holds no secret, as no other file does.
                (tmp_path / "status").write_text(json.dumps(ask(Home.of(tmp_path / "home"), "status")))
                again.stop()
        finally:
            if run.poll() is None:
                kill(run)
    rows = [json.loads(line)["id"] for line in copy.read_text().splitlines()]
    # What was under way when a connection ended may come twice.
    assert set(rows) == set(range(2100)) and len(rows) <= 2100 + 2 * IN_FLIGHT
    bad = rejected()
    assert bad[0].startswith("trips,came/a,101,") and len(bad) <= 2
    assert all(each.endswith("not a JSON object,poison") for each in bad)
    files = [Path(place) / name for place, _, names in os.walk(tmp_path) for name in names]
    assert [path for path in files if path.is_file() and CANARY.encode() in path.read_bytes()] == []


def test_the_page(
    broker: Mosquitto, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of docs/mqtt.md in their order, with this broker for the one of the page."""
    monkeypatch.chdir(tmp_path)
    done = 0
    for block in blocks("docs/mqtt.md"):
        if block.file is not None:
            Path(block.file).write_text(block.text)
        for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            place = rf"mqtt:{broker.server}/\1?user=aurora&password=${VARIABLE}&"
            first, *arguments = shlex.split(re.sub(r"mqtt:localhost:1883/([^?]+)\?", place, command))
            if first == "cat":
                assert Path(arguments[0]).read_text() == shown
            else:
                assert first == "aurora", command
                status, _, told = call(arguments)
                assert status == 0, told
            done += 1
    assert done == 3
