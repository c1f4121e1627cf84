"""Where a fault came from, as its user knows the place: the last line that is in no installed package."""

import os
import site
import sysconfig
import traceback
from functools import cache
from pathlib import Path

__all__ = ["is_installed", "tell_with_place"]

# The folder of this package.
OWN = str(Path(__file__).resolve().parents[1])


def tell_with_place(fault: BaseException) -> str:
    """Return what a fault says, in one line, with the file and the line of the user's that led to it."""
    frames = traceback.extract_tb(fault.__traceback__)
    place = next((frame for frame in reversed(frames) if not is_installed(frame.filename)), frames[-1])
    told = " ".join(str(fault).split())
    where = f"{os.path.basename(place.filename)}, line {place.lineno}"
    return f"{type(fault).__name__}: {told} ({where})"


def is_installed(file: str) -> bool:
    """Whether every worker finds the module of a file by its name: Python's own, installed packages, and this one."""
    if file.startswith("<frozen ") or file.endswith((".pxi", ".pyx")):
        # What is compiled into a library names the file that it was made from.
        return True
    return any(os.path.abspath(file).startswith(path + os.sep) for path in _installed_in())


@cache
def _installed_in() -> tuple[str, ...]:
    known = (sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(map(os.path.abspath, (*known, *site.getsitepackages(), OWN)))
