"""Another user of the machine, for tests that try what such a one can do."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

__all__ = ["NUMBER", "as_a_stranger", "open_folder", "start_a_stranger"]

# Of a user that no machine has.
NUMBER = 54321


def start_a_stranger(code: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start Python as another user, with the standard library alone; where that cannot be, the test is skipped."""
    if not _can_be_another():
        pytest.skip("to act as another user the tests must run as root, where there is setpriv")
    return subprocess.Popen(
        _command(code, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    )


def as_a_stranger(code: str, *arguments: object) -> str:
    """Return what another user's Python prints until it ends."""
    with start_a_stranger(code, *arguments) as process:
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return printed


@cache
def _can_be_another() -> bool:
    return (
        os.geteuid() == 0
        and shutil.which("setpriv") is not None
        and subprocess.run(_command("pass"), capture_output=True, check=False, cwd="/").returncode == 0
    )


def _command(code: str, *arguments: object) -> list[str]:
    given = ["setpriv", f"--reuid={NUMBER}", f"--regid={NUMBER}", "--clear-groups"]
    return [*given, sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder for this test: everybody may write there, as in that of the system; pytest's are closed."""
    with tempfile.TemporaryDirectory(prefix="open-folder-", dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        monkeypatch.setattr("tempfile.tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)
