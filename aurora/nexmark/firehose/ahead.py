"""Work in order, done by all cores a little ahead of who takes it."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["CHUNK", "chunks", "in_order"]

# Events that are made at once: enough to make the rest cheap, few enough for memory and for progress.
CHUNK = 50_000

Given = TypeVar("Given")
Made = TypeVar("Made")


def chunks(start: int, stop: int) -> list[tuple[int, int]]:
    return [(first, min(first + CHUNK, stop)) for first in range(start, stop, CHUNK)]


def in_order(job: Callable[[Given], Made], given: Iterable[Given]) -> Iterator[Made]:
    """In threads, one for each core: the kernels do not hold the interpreter."""
    threads = os.cpu_count() or 1
    pending: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for each in given:
                pending.append(pool.submit(job, each))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
