"""`aurora nexmark generate`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from aurora.cli.nexmark_options import (
    BidStreams,
    Categories,
    Events,
    Late,
    LateBy,
    Profile,
    Rate,
    ScaleLevel,
    Seed,
    asked_for,
)
from aurora.errors import AuroraError
from aurora.nexmark.firehose.folder import PER_FILE
from aurora.nexmark.firehose.folder import generate as make_folder

__all__ = ["generate"]


def generate(
    out: Annotated[Path, typer.Option(help="The folder for the events; made if need be.")],
    profile: Profile = "standard",
    events: Events = None,
    seed: Seed = 1,
    form: Annotated[str, typer.Option("--format", help="json, parquet, or in the draft also xml.")] = "json",
    scale: ScaleLevel = None,
    rate: Rate = None,
    late: Late = 0.0,
    late_by: LateBy = 3.0,
    bid_streams: BidStreams = None,
    categories: Categories = None,
    events_per_file: Annotated[int, typer.Option(help="A new file after so many events.")] = PER_FILE,
) -> None:
    """Writes the events of an auction house: events-NNNNN files, categories.csv and generation.json.

    Example: aurora nexmark generate --profile standard --events 1000000 --seed 1 --out auctions
    """
    settings, number = asked_for(profile, events, seed, scale, bid_streams, categories, rate, late, late_by)
    if number is None:
        raise AuroraError("how many events? Give --events, or a --scale")
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"generating {number:,} events", total=number)
        summary = make_folder(
            settings, number, out, form, events_per_file, lambda done: bar.update(task, completed=done)
        )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in summary["counts"].items() if count)
    typer.echo(f"{out}: {number:,} events ({counts})")
