"""Bars on stderr, for a person at a terminal; without one there are none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aurora.cli.telling import shows_progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["open_bar", "result_console", "steps"]

# Where there is no terminal, results are as wide as this.
WIDE = 120


def open_bar(percent: bool = True, width: int | None = 40) -> "Progress":
    """Text, a bar, how much of it is done, and the time; gone when it is over."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}", markup=False), BarColumn(bar_width=width)]
    columns += [TaskProgressColumn()] if percent else []
    shown = shows_progress()
    return Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True, disable=not shown
    )


@contextmanager
def steps(number: int) -> Iterator[Callable[[str], None]]:
    """For work that has a few named steps: yields what to call as each of them begins."""
    with open_bar(percent=False) as bar:
        task = bar.add_task("starting", total=number, completed=-1)
        yield lambda step: bar.update(task, advance=1, description=step)


def result_console() -> "Console":
    """Where results are printed: as wide as the terminal."""
    from rich.console import Console

    return Console(width=None if Console().is_terminal else WIDE)
