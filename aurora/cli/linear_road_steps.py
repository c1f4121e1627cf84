"""A bar on stderr for work that has a few named steps; nothing where stderr is no terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["steps"]


@contextmanager
def steps(number: int) -> Iterator[Callable[[str], None]]:
    """Yields what to call as each of the steps begins."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=number, completed=-1)
        yield lambda step: bar.update(task, advance=1, description=step)
