"""Things that travel through Spark unopened.

A query starts half a dozen processes, and Spark hands its source and its stages to each of them; most only pass them
on. What is inside, a whole network, is loaded where it is needed, and once in a process.
"""

from functools import lru_cache
from typing import Any, Generic, TypeVar

from pyspark import cloudpickle

__all__ = ["LazyPickle"]

T = TypeVar("T")


class LazyPickle(Generic[T]):
    def __init__(self, content: T) -> None:
        self._data: bytes = cloudpickle.dumps(content)

    def open(self) -> T:
        """The same object for all of them with the same content, so nothing in it may change."""
        found: T = _unpack(self._data)
        return found


@lru_cache(maxsize=8)
def _unpack(data: bytes) -> Any:
    return cloudpickle.loads(data)
