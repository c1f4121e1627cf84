"""A Mosquitto for tests, with a password, in a process of its own, which can be stopped and started again."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine.processes import answers, free_port

# It may be nowhere but where a password belongs.
CANARY = "canary-5b20d4"
VARIABLE = "MOSQUITTO_WORD"
WORDS = {VARIABLE: CANARY}
SETTINGS = """listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/words
acl_file {folder}/rights
persistence true
persistence_location {folder}/
max_queued_messages 0
log_type none
"""
RIGHTS = """user aurora
topic readwrite #
topic deny closed/#
"""


def find_mosquitto() -> str | None:
    return shutil.which(
        "mosquitto", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])
    )


class Mosquitto:
    def __init__(self, folder: Path, program: str) -> None:
        self._program = program
        self._folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        own = f"user {'root' if os.geteuid() == 0 else os.environ.get('USER', 'nobody')}\n"
        (folder / "conf").write_text(own + SETTINGS.format(port=self.port, folder=folder))
        (folder / "words").write_text(f"aurora:{CANARY}\n")
        (folder / "rights").write_text(RIGHTS)
        for name in ("words", "rights"):
            (folder / name).chmod(0o600)
        subprocess.run(["mosquitto_passwd", "-U", str(folder / "words")], check=True, capture_output=True)
        self.start()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.port}"

    def address(self, topic: str, *options: str) -> str:
        words = "&".join([*options, "user=aurora", f"password=${VARIABLE}"])
        return f"mqtt:{self.server}/{topic}?{words}"

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program, "-c", str(self._folder / "conf")], stdout=log, stderr=log
            )
        until(lambda: answers(self.port))

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def client(self, id: str = "", **more: Any) -> Any:
        from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5

        client = Client(CallbackAPIVersion.VERSION2, id, protocol=MQTTv5, **more)
        client.username_pw_set("aurora", CANARY)
        return client

    def send(self, topic: str, payloads: Sequence[bytes], retain: bool = False) -> None:
        client = self.client()
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for told in [client.publish(topic, payload, 1, retain) for payload in payloads]:
            told.wait_for_publish(60)
        client.disconnect()
        client.loop_stop()

    @contextmanager
    def listening(self, topic: str) -> Iterator[list[tuple[str, bytes]]]:
        """What comes on a topic while this is held."""
        found: list[tuple[str, bytes]] = []
        ready: list[int] = []
        client = self.client()
        client.on_message = lambda *told: found.append((told[2].topic, bytes(told[2].payload)))
        client.on_connect = lambda *_: client.subscribe(topic, 1)
        client.on_subscribe = lambda *_: ready.append(1)
        # What comes while it looks for a broker that was away is lost to it.
        client.reconnect_delay_set(0.05, 0.1)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        until(lambda: bool(ready))
        try:
            yield found
        finally:
            client.disconnect()
            client.loop_stop()


def until(reached: Callable[[], bool], patience: float = 120) -> None:
    deadline = time.monotonic() + patience
    while not reached():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)


@contextmanager
def mosquitto_in(folder: Path) -> Iterator[Mosquitto]:
    """While it is there, the environment has its password. Skips the test, and says why, where there is none."""
    pytest.importorskip("paho.mqtt", reason="no Mosquitto: the package paho-mqtt is not installed")
    program = find_mosquitto()
    if program is None or shutil.which("mosquitto_passwd") is None:
        pytest.skip("no Mosquitto")
    patch = pytest.MonkeyPatch()
    patch.setenv(VARIABLE, CANARY)
    broker = Mosquitto(folder, program)
    try:
        yield broker
    finally:
        broker.stop()
        patch.undo()
