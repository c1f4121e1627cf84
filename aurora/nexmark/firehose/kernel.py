"""The compiler of the firehose's kernels, with their types kept for the reader and the checker."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

__all__ = ["cached_kernel", "constants", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled into the kernels that call it."""
    compiled: Function = numba.njit(nogil=True, no_cpython_wrapper=True)(function)
    return compiled


def cached_kernel(function: Function) -> Function:
    """Compiled once for this machine. Only its own file and closure tell whether it has changed."""
    compiled: Function = numba.njit(nogil=True, cache=True)(function)
    return compiled


def constants(*numbers: int) -> tuple[Any, ...]:
    """Numbers to call kernels with: those of Python are literals, and for each a kernel is compiled anew."""
    return tuple(np.array(numbers, np.int64))
