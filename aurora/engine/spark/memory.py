"""Memory that a Python worker has freed stays with it: the next train needs as much.

The allocators give large pieces back to the system at once and get them again a moment later, empty pages that the
kernel has to clear one by one: with Linear Road a tenth of the time, and more on virtual machines, whose host takes
back what is free.
"""

import ctypes

import pyarrow as pa

__all__ = ["keep_freed_memory"]

# What glibc calls these settings.
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX, ARENA_MAX = -1, -2, -4, -8
# So many free bytes stay with the process at most; it grows by so many.
KEPT, STEP = 1 << 29, 1 << 26


def keep_freed_memory() -> None:
    """For this process and those that it forks; does nothing where the system has another allocator."""
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    # Everything in one heap, that of numpy and that of Arrow, so that what one frees serves the other.
    for option, value in ((MMAP_MAX, 0), (ARENA_MAX, 1), (TRIM_THRESHOLD, KEPT), (TOP_PAD, STEP)):
        set_option(option, value)
    pa.set_memory_pool(pa.system_memory_pool())
