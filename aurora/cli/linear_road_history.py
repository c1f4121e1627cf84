"""`aurora linear-road history`."""

from pathlib import Path
from typing import Annotated

import typer

from aurora.cli.bars import steps

__all__ = ["history"]


def history(
    data: Annotated[Path, typer.Option(help="The data folder; toll_history/ and segment_history/ go there.")],
    expressways: Annotated[int, typer.Option(help="How many expressways (L) the history covers.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same content.")] = 1,
    form: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    today: Annotated[int, typer.Option(help="The weekday of the simulated day, 1 is Sunday.")] = 2,
    every_expressway: Annotated[
        bool,
        typer.Option(help="Write a toll row of each car and day for every expressway, not just for one."),
    ] = False,
) -> None:
    """Make ten weeks of history for the cars in the data; an older history is replaced.

    Example: aurora linear-road history --data traffic --expressways 1 --seed 1
    """
    from aurora.linear_road.history_generator import make_history

    with steps(3) as step:
        made = make_history(
            None,
            data,
            expressways,
            seed,
            form=form,
            today=today,
            every_expressway=every_expressway,
            progress=step,
        )
    typer.echo(f"{data}: {made.toll_rows:,} rows of toll history, {made.segment_rows:,} of segment history")
