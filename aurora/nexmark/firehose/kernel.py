"""The compiler of the firehose's kernels, with their types kept for the reader and the checker."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

__all__ = ["cached_kernel", "constants", "forget_older", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled into the kernels that call it."""
    compiled: Function = numba.njit(nogil=True, no_cpython_wrapper=True)(function)
    return compiled


def cached_kernel(function: Function) -> Function:
    """Compiled once for this machine."""
    compiled: Function = numba.njit(nogil=True, cache=True)(function)
    return compiled


def constants(*numbers: int) -> tuple[Any, ...]:
    """Numbers to call kernels with: those of Python are literals, and for each a kernel is compiled anew."""
    return tuple(np.array(numbers, np.int64))


def forget_older(folder: Path) -> None:
    """Forgets what was compiled before the newest module of the folder was written.

    Numba looks at the module of a cached kernel alone, not at those of the kernels that are compiled into it.
    """
    newest = max((path.stat().st_mtime for path in folder.glob("*.py")), default=0.0)
    for index in (folder / "__pycache__").glob("*.nbi"):
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()


forget_older(Path(__file__).parent)
