"""`aurora linear-road drive`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from aurora.linear_road import drive as driver

__all__ = ["drive"]


def drive(
    data: Annotated[Path, typer.Option(help="A folder with xway-N.csv files, or one CSV file.")],
    to: Annotated[str, typer.Option(help="dir:PATH (one file a second) or tcp:HOST:PORT (listens there).")],
    speed: Annotated[float, typer.Option(help="2 is twice as fast as real time.")] = 1.0,
    replicate: Annotated[int, typer.Option(help="So many copies of each expressway, for load.")] = 1,
    start_at: Annotated[int, typer.Option(help="Begin with this second of the data.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Also write the report as JSON.")] = None,
) -> None:
    """Delivers the input at the second that each tuple's Time says, and reports how late it was.

    Over TCP the clock starts when a client has connected; the end of the data closes the connection.

    Example: aurora linear-road drive --data traffic --to tcp:127.0.0.1:7000 --speed 10
    """
    console = Console(stderr=True)
    receiver = driver.receiver_for(
        to, lambda port: console.print(f"waiting for a client on port {port}", highlight=False)
    )
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("driving", total=None)
        result = driver.drive(
            data,
            receiver,
            speed=speed,
            replicate=replicate,
            start_at=start_at,
            progress=lambda second, last: bar.update(
                task,
                completed=second - start_at + 1,
                total=last - start_at + 1,
                description=f"second {second}",
            ),
        )
    typer.echo(result.summary())
    if result.rejects:
        typer.echo(f"{result.rejects} lines are no tuples; delivered as they are")
    if report is not None:
        report.write_text(json.dumps(result.asdict(), indent=2) + "\n")
