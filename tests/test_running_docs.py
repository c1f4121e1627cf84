"""The page on running networks: its commands in order, in one folder, with a network in the background.

A command that only looks is given again until it shows what the page shows, as a reader would do.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import Running
from tests.engine.processes import PATIENCE, start_here
from tests.engine.processes import aurora as in_background
from tests.test_docs import ROOT, aurora, blocks

PAGE = "docs/running-networks.md"
# Columns that depend on the machine and on the moment.
VOLATILE = {"rows/s", "us/tuple", "state bytes", "p50 s", "p99 s", "bytes"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Wide enough for every line.
    monkeypatch.setenv("COLUMNS", "500")
    return tmp_path


def test_the_page(desk: Path, spark: SparkSession) -> None:
    with Background(desk, to_be_killed=True) as background:
        for block in blocks(PAGE):
            if block.file is not None:
                Path(block.file).write_text(block.text)
            elif block.language == "console":
                for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
                    do(command, shown, background)


def test_the_readme_shows_commands_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text()
    part = readme[readme.index("## Ask a network while it runs") :]
    shown = re.search(r"```\n(.*?)```", part, re.DOTALL)
    assert shown is not None and len(shown[1].splitlines()) == 4
    page = (ROOT / PAGE).read_text().splitlines()
    assert [line for line in shown[1].splitlines() if f"$ {line}" not in page] == []


class Background:
    """The network of the page: on the Spark of the tests, or until it is killed in a process of its own."""

    def __init__(self, desk: Path, to_be_killed: bool = False) -> None:
        self._log = desk / "run.log"
        self._to_be_killed = to_be_killed
        self._run: subprocess.Popen[bytes] | None = None
        self._here: Running | None = None

    def start(self, arguments: list[str]) -> None:
        if self._to_be_killed:
            self._run = in_background(arguments, self._log)
        else:
            self._here = start_here(arguments)

    def kill(self) -> None:
        """The command alone, as its user would: what it has started must end by itself."""
        assert self._run is not None
        self._run.kill()
        self._run.wait()
        self._to_be_killed = False

    def check(self) -> None:
        if self._run is not None and self._run.poll() not in (None, 0, -signal.SIGKILL):
            raise AssertionError(self._log.read_text())

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, *_: object) -> None:
        if self._here is not None:
            self._here.stop()
        if self._run is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._run.pid, signal.SIGKILL)
            self._run.wait()


def do(command: str, shown: str, background: Background) -> None:
    first, *rest = shlex.split(command)
    if rest and rest[-1] == "&":
        background.start(rest[:-1])
    elif command == "kill -9 %1":
        background.kill()
    elif command.startswith("aurora status"):
        until(lambda: tables(asked(rest)), tables(shown), background)
    elif command.startswith(("aurora peek", "aurora check")):
        until(lambda: asked(rest), shown, background)
    elif first == "aurora":
        aurora(rest)
    elif first == "cat":
        until(lambda: read(rest[0]), shown, background)
    else:
        assert first in ("printf", "mv"), command
        subprocess.run(["bash", "-c", command], check=True)


def asked(arguments: list[str]) -> str:
    """What a command shows, or nothing where it cannot yet."""
    try:
        return aurora(arguments)
    except AssertionError:
        return ""


def read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def until(look: Callable[[], object], right: object, background: Background) -> None:
    """Returns when a look shows what is right; never is a failure that shows what it was last."""
    end = time.monotonic() + PATIENCE
    while (found := look()) != right:
        background.check()
        if time.monotonic() > end:
            assert found == right
        time.sleep(0.2)


def tables(text: str) -> dict[str, object]:
    """What `aurora status` prints, without the figures that may differ."""
    first, *paragraphs = re.split(r"\n\s*\n", text.replace(os.getcwd(), "/data").strip())
    found: dict[str, object] = {"state": first.split(",")[0]}
    for paragraph in paragraphs:
        table, *faults = re.split(r"^(?=query [^ ]+:)", paragraph, flags=re.MULTILINE)
        found |= rows(table.splitlines()) | {" ".join(fault.split()): None for fault in faults}
    return found


def rows(lines: list[str]) -> dict[str, object]:
    title, *columns = re.split(r" {2,}", lines[0].strip())
    found: dict[str, object] = {}
    for line in lines[1:]:
        name, *values = re.split(r" {2,}", line.strip())
        stable = {
            column: value for column, value in zip(columns, values, strict=True) if column not in VOLATILE
        }
        found[f"{title} {name}"] = stable
    return found
