"""The exit codes of docs/exit-codes.md: each is the end of a real command."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exit-codes.md").read_text()
MAIN = [sys.executable, "-c", "from aurora.cli.main import main; main()"]
BORDER = str(ROOT / "examples" / "05_border_watch" / "network.yaml")

# 143 is that of a run, see tests/cli/test_interrupts.py; 3 that of aurora capacity, see tests/cli/test_capacity.py.
TESTED_ELSEWHERE = {3, 143}
ENDS = [
    (0, ["check", BORDER], ""),
    (0, ["--help"], ""),
    (1, ["check", "nothing.yaml"], "error: cannot read network nothing.yaml: No such file or directory\n"),
    (1, ["status", "nowhere"], "error: "),
    (
        1,
        ["nexmark", "network", "q13", "--tables", "/dev/null/x"],
        "error: /dev/null/x: Not a directory; name another path, or fix the cause and give the same command again\n",
    ),
    (2, ["fly"], "error: No such command 'fly'; see aurora --help\n"),
    (
        2,
        ["check"],
        "error: Invalid value for NETWORK: give a network, --home DIR, or both; see aurora check --help\n",
    ),
    (2, ["check", "--fast", BORDER], "error: No such option: --fast"),
    (2, ["step", "home", "--batches", "many"], "error: Invalid value for '--batches': "),
]


def run(words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *words], stderr=subprocess.PIPE, text=True, timeout=60, **more)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("code", "words", "told"), ENDS)
def test_how_commands_end(code: int, words: list[str], told: str) -> None:
    done = run(words, stdout=subprocess.DEVNULL)
    assert done.returncode == code
    assert done.stderr.startswith(told) and done.stderr.count("\n") == (1 if code else 0)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["check", BORDER],
        ["completion", "bash"],
        ["explain", "--no-spark", BORDER],
        ["show", "many.csv"],
        ["status", "home"],
        ["status", "home", "--watch"],
    ],
)
def test_141_when_nobody_reads(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "many.csv").write_text("a\n1\n2\n")
    (tmp_path / "home" / "checkpoint").mkdir(parents=True)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = run(words, stdout=pipe, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (141, "")


def test_130_at_ctrl_c(tmp_path: Path) -> None:
    """While a command waits; what a run does with it is in test_interrupts.py."""
    (tmp_path / "checkpoint").mkdir()
    watching = subprocess.Popen(
        [*MAIN, "status", str(tmp_path), "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background lets them ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert watching.stdout is not None
    assert watching.stdout.readline().startswith("{")
    threading.Timer(0.1, watching.send_signal, [signal.SIGINT]).start()
    told = watching.communicate(timeout=60)[1]
    assert (watching.returncode, told) == (130, "stopped\n")


def test_the_page_has_all_of_them() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert listed == {code for code, *_ in ENDS} | {130, 141} | TESTED_ELSEWHERE
