"""`aurora` itself: help without waiting, the version, interrupts while it loads."""

import importlib
import inspect
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import aurora
from aurora.cli.commands import LINEAR_ROAD, NETWORKS, NEXMARK, _summary, app

MAIN = "from aurora.cli.main import main; main()"
# What takes its time to load: none of it for help.
SLOW = ("numpy", "pandas", "pyarrow", "pyspark", "numba", "sqlglot", "matplotlib", "duckdb", "rich", "yaml")
COMMANDS = [
    *([name] for name in NETWORKS),
    *(["linear-road", name] for name in LINEAR_ROAD),
    *(["nexmark", name] for name in NEXMARK),
]


def called(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *words], capture_output=True, text=True, timeout=60, check=False
    )


def test_help_loads_nothing_that_it_does_not_need() -> None:
    """That of aurora itself, and of every command."""
    script = f"""
import sys
from aurora.cli.main import main
for words in {[[], *COMMANDS]}:
    sys.argv = ["aurora", *words, "--help"]
    try:
        main()
    except SystemExit as ended:
        slow = [name for name in {SLOW} if name in sys.modules]
        assert (ended.code, slow) == (0, []), (words, slow)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "linear-road  Run the Linear Road benchmark." in done.stdout


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal_and_has_an_example(words: list[str]) -> None:
    told = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"}).stdout
    assert f"aurora {' '.join(words)}" in told[told.index("Example") :]
    assert [line for line in told.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_summary_tells_what_to_do(words: list[str]) -> None:
    """Run, not Runs: in one mood, one sentence or two."""
    told = _summary({**NETWORKS, **LINEAR_ROAD, **NEXMARK}[words[-1]] if len(words) == 1 else _place(words))
    first = told.split()[0].rstrip(":,")
    assert first[0].isupper() and not first.endswith("s") and first not in ("A", "An", "The")


def _place(words: list[str]) -> str:
    return (LINEAR_ROAD if words[0] == "linear-road" else NEXMARK)[words[1]]


def test_there_is_an_example_for_each_kind_of_source() -> None:
    told = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "80"}).stdout
    shown = told[told.index("Examples") : told.index("Arguments")]
    listed = re.findall(r"\b([a-z]+):", told[told.index("--source NAME=") : told.index("--sink NAME=")])
    assert {"csv", "json", "kafka"} <= set(listed)
    assert [kind for kind in listed if f"={kind}:" not in shown] == []


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
    assert (done.returncode, done.stdout) == (0, f"aurora {aurora.__version__}\n")
    noted = Path("CHANGELOG.md").read_text().split("\n## ")[1].split()[0]
    assert aurora.__version__.partition(".dev")[0] == noted


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
