"""`aurora nexmark generate`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from aurora.nexmark.firehose.folder import generate as make_folder
from aurora.nexmark.firehose.pace import Pace
from aurora.nexmark.firehose.settings import Settings

__all__ = ["generate"]


def generate(
    out: Annotated[Path, typer.Option(help="The folder for the events; made if need be.")],
    events: Annotated[int, typer.Option(help="How many events.")],
    profile: Annotated[
        str, typer.Option(help="draft (the paper) or standard (the suites in use).")
    ] = "standard",
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    rate: Annotated[str, typer.Option(help="Events/s of event time.")] = "10000",
    late: Annotated[float, typer.Option(help="The share of events that come late.")] = 0.0,
    late_by: Annotated[float, typer.Option(help="How late, in seconds at most.")] = 3.0,
) -> None:
    """Writes the events of an auction house to files.

    Example: aurora nexmark generate --profile standard --events 1000000 --seed 1 --out auctions
    """
    settings = Settings(profile, seed, Pace.parse(rate), late, late_by)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("generating", total=events)
        summary = make_folder(settings, events, out, progress=lambda done: bar.update(task, completed=done))
    counts = summary["counts"]
    typer.echo(f"{out}: " + ", ".join(f"{count:,} {kind} events" for kind, count in counts.items() if count))
