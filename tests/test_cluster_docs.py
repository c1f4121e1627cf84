"""The page on clusters: its standalone cluster is started, and its commands are given, by a shell as a reader's."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.engine.processes import answers, free_port, kill, wait_for
from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text()


def test_the_page(tmp_path: Path) -> None:
    """With the settings of the page, which arrive at the executors."""
    for name, text in re.findall(r"^```(?:csv|yaml|text) (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "aurora").write_text(
        f'#!/bin/sh\nSPARK_CONF_DIR=conf exec {sys.executable} -c "from aurora.cli.main import main; main()" "$@"\n'
    )
    (tmp_path / "aurora").chmod(0o755)
    port = free_port()
    (console,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = commands(console.replace("7077", str(port)).replace("8080", "0"))
    first = 1 + next(index for index, line in enumerate(lines) if "Master" in line)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    log = tmp_path / "shell.log"
    with log.open("wb") as told:
        shell = subprocess.Popen(
            ["bash", "-e"],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "SPARK_WORKER_DIR": str(tmp_path / "work")},
            stdin=subprocess.PIPE,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
        assert shell.stdin is not None
        with shell.stdin as typed:
            try:
                typed.write("".join(lines[:first]).encode())
                typed.flush()
                # As a reader does, before the workers are started.
                wait_for(shell, lambda: answers(port))
                typed.write("".join([*lines[first:], "touch done\n"]).encode())
                typed.flush()
                wait_for(shell, lambda: (tmp_path / "done").exists())
            except AssertionError as fault:
                raise AssertionError(log.read_text()[-4000:]) from fault
            finally:
                kill(shell)
    assert '"-Xmx900M"' in log.read_text()


def commands(console: str) -> list[str]:
    """The commands without their prompts; what `cat` must show is compared."""
    lines = []
    for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE):
        if command.startswith("cat "):
            lines.append(f"diff {command.removeprefix('cat ')} - <<'END'\n{shown}END\n")
        else:
            lines.append(f"{command}\n")
    return lines
