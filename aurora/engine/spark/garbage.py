"""Keeps the collection of garbage cheap that Spark asks for after each task.

It walks over every object that the worker's process holds, so it costs as much as there is loaded: with Numba, a
quarter of the time of Linear Road's workers. What a task leaves behind in great number are modules and compiled
kernels, which stay for the life of the process: they are set aside once, and no collection looks at them again.
"""

import gc

__all__ = ["set_loaded_aside"]

# A task that loads nothing leaves fewer objects.
MANY = 20_000


def set_loaded_aside() -> None:
    """Call it at the end of a task."""
    if len(gc.get_objects()) > MANY:
        gc.collect()
        gc.freeze()
