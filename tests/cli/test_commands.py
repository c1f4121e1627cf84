"""`aurora` itself: help without waiting, the version, interrupts while it loads."""

import importlib
import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from aurora.cli.commands import LINEAR_ROAD, NETWORKS, NEXMARK, _summary, app

MAIN = "from aurora.cli.main import main; main()"
# What takes its time to load: none of it for help.
SLOW = ("numpy", "pandas", "pyarrow", "pyspark", "numba", "sqlglot", "matplotlib", "duckdb", "rich.progress")


def called(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_loads_nothing_that_it_does_not_need() -> None:
    script = f"""
import sys
sys.argv = ["aurora", "--help"]
from aurora.cli.main import main
try:
    main()
except SystemExit:
    print([name for name in {SLOW} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "[]\n"
    assert "linear-road  The Linear Road benchmark" in done.stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_both_ways_to_ask_for_help(option: str) -> None:
    done = called(option)
    assert done.returncode == 0 and "Usage: " in done.stdout
    for words in (["check"], ["nexmark"], ["linear-road", "drive"]):
        told = CliRunner().invoke(app, [*words, option])
        assert told.exit_code == 0 and "Usage: " in told.stdout, words


@pytest.mark.parametrize("words", [["--help"], ["check", "examples/border.yaml"]])
def test_a_closed_pipe_is_no_fault(words: list[str]) -> None:
    """As with `| true`: nobody reads a line."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *words], stdout=pipe, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_version() -> None:
    done = called("--version")
    assert done.returncode == 0 and done.stdout.startswith("aurora ") and done.stdout[7].isdigit()


@pytest.mark.parametrize("place", [*NETWORKS.values(), *LINEAR_ROAD.values(), *NEXMARK.values()])
def test_a_summary_is_the_first_sentence_of_the_command(place: str) -> None:
    module, _, name = place.partition(":")
    told = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    assert _summary(place) and told.replace("\n", " ").startswith(_summary(place))


def test_every_command_can_be_loaded() -> None:
    commands = typer.main.get_command(app)
    for name in NETWORKS:
        assert commands.get_command(None, name).name == name
    for group, names in (("linear-road", LINEAR_ROAD), ("nexmark", NEXMARK)):
        for name in names:
            assert commands.get_command(None, group).get_command(None, name).name == name


def test_an_interrupt_while_it_loads_is_no_traceback(tmp_path: Path) -> None:
    """What loads last is interrupted, as Ctrl-C would, and the command says one word."""
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # Whoever runs the tests in the background lets them ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")
