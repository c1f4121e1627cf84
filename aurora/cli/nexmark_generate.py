"""`aurora nexmark generate`."""

from pathlib import Path
from typing import Annotated

import typer

from aurora.cli.bars import open_bar
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

__all__ = ["generate"]


def generate(
    out: Annotated[Path, typer.Option(help="The folder for the events; created if necessary.")],
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
    events_per_file: Annotated[int | None, typer.Option(help="Events per file [1000000].")] = None,
) -> None:
    """Write the events of an auction house: events-NNNNN files, categories.csv and generation.json.

    \b
    Examples:
      aurora nexmark generate --events 1000000 --out auctions
      aurora nexmark generate --profile draft --scale small --format xml --out old
    """
    from aurora.nexmark.firehose.folder import PER_FILE
    from aurora.nexmark.firehose.folder import generate as make_folder

    settings, number = asked_for(profile, events, seed, scale, bid_streams, categories, rate, late, late_by)
    if number is None:
        raise AuroraError("how many events? Give --events, or a --scale")
    with open_bar() as bar:
        task = bar.add_task(f"generating {number:,} events", total=number)
        summary = make_folder(
            settings,
            number,
            out,
            form,
            PER_FILE if events_per_file is None else events_per_file,
            lambda done: bar.update(task, completed=done),
        )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in summary["counts"].items() if count)
    typer.echo(f"{out}: {number:,} events ({counts})")
