"""Flink in a virtual environment of its own, made once: it pins versions that this package cannot live with."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from aurora.cache import cache_folder
from aurora.errors import AuroraError

__all__ = ["VERSION", "interpreter"]

VERSION = "2.3.0"
JAVA = 17


def interpreter(say: Callable[[str], None]) -> Path:
    """Python of the environment; makes it if it is not there yet."""
    _check_java()
    home = cache_folder() / f"flink-{VERSION}"
    python, ready = home / "bin" / "python", home / "ready"
    if ready.exists() and python.exists():
        return python
    say(f"installing Flink {VERSION} into {home} (once; about a minute, 850 MB) ...")
    try:
        shutil.rmtree(home, ignore_errors=True)
        _do([sys.executable, "-m", "venv", str(home)])
        _do([str(python), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}"])
        _do([str(python), "-c", "import pyflink.table"])
        ready.touch()
    except OSError as fault:
        raise AuroraError(f"Flink cannot be installed: {fault}; leave flink out of --systems") from fault
    return python


def _do(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        raise AuroraError(
            f"Flink {VERSION} cannot be installed ({errors[-1].strip()[:200]}): "
            "it comes from PyPI and wants Python 3.9 to 3.12; install that, or leave flink out of --systems"
        )


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        told = ""
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < JAVA:
        found = f"version {version[1]}" if version else "none"
        raise AuroraError(f"Flink needs Java {JAVA} or later, found {found}: install it or set JAVA_HOME")
