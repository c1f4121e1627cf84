"""Aurora as a user has it: a wheel that was built from a copy of the sources, in an environment of its own.

The packages below it are those of the environment that runs the tests: only what is missing in the wheel is missing.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What a wheel is made of.
SOURCES = ("pyproject.toml", "README.md", "LICENSE")
Give = Callable[[list[str], Path], subprocess.CompletedProcess[str]]
# Reads commands, and writes their statuses and what they print.
COMMANDS = """
import contextlib, io, json, os, sys
from aurora.cli.main import main

answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    folder, sys.argv = json.loads(line)
    os.chdir(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
    print(json.dumps([status, *(text.buffer.getvalue().decode() for text in (out, err))]), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Installed:
    wheel: Path
    environment: Path

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    def call(self, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment as its user would, in a folder."""
        return subprocess.run(
            command,
            cwd=folder,
            env=self._variables(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def _variables(self) -> dict[str, str]:
        # Nothing of the sources may be found.
        given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return {**given, "PATH": f"{self.environment / 'bin'}{os.pathsep}{given['PATH']}"}

    @contextmanager
    def give_commands(self, folder: Path, first: str = "") -> Iterator[Give]:
        """Gives commands, all in one process that begins with `first`: what they load is loaded once, Spark too."""
        with subprocess.Popen(
            [self.python, "-c", first + COMMANDS],
            cwd=folder,
            env=self._variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            asked, told = process.stdin, process.stdout
            assert asked is not None and told is not None

            def give(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
                print(json.dumps([str(folder), words]), file=asked, flush=True)
                return subprocess.CompletedProcess(words, *json.loads(told.readline()))

            try:
                yield give
            finally:
                os.killpg(process.pid, signal.SIGKILL)


def build(folder: Path) -> Path:
    """The wheel, made from the source distribution as `python -m build` does it."""
    copy = folder / "sources"
    shutil.copytree(
        ROOT / "aurora", copy / "aurora", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    )
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    # Without isolation, so that nothing is downloaded: setuptools is in the lock file.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", copy]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Installed:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], timeout=300, check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        environment / "bin" / "python",
        "--disable-pip-version-check",
    ]
    options = ["install", "--quiet", "--no-index", "--no-deps"]
    done = subprocess.run([*pip, *options, wheel], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (own,) = (environment / "lib").glob("python*/site-packages")
    # Behind its own packages come those of the tests, wherever they are; what is in there is not looked for .pth files.
    below = {sysconfig.get_path("purelib"), *(path for path in sys.path if path.endswith("site-packages"))}
    (own / "below.pth").write_text("".join(f"{path}\n" for path in sorted(below)))
    return Installed(wheel, environment)
