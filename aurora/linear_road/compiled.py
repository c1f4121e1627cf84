"""The compiler of the benchmark's kernels, with their types kept for the reader and the checker."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["cached_kernel", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled into the kernels that call it."""
    compiled: Function = numba.njit(nogil=True)(function)
    return compiled


def cached_kernel(function: Function) -> Function:
    """Compiled once for this machine. Only its own file and closure tell whether it has changed."""
    compiled: Function = numba.njit(nogil=True, cache=True)(function)
    return compiled
