"""Times and tables."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

__all__ = ["best_of", "show"]


def best_of(times: int, job: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def show(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = Table(*header, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)
