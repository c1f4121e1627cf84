"""`aurora linear-road drive`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from aurora.cli.bars import open_bar
from aurora.cli.telling import tell

__all__ = ["drive"]


def drive(
    data: Annotated[Path, typer.Option(help="A folder with xway-N.csv files, or one CSV file.")],
    to: Annotated[str, typer.Option(help="dir:PATH (one file a second) or tcp:HOST:PORT (listens there).")],
    speed: Annotated[float, typer.Option(help="How fast to deliver: 2 is twice as fast as real time.")] = 1.0,
    replicate: Annotated[int, typer.Option(help="How many copies of each expressway, for more load.")] = 1,
    start_at: Annotated[int, typer.Option(help="Begin with this second of the data.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Also write the report as JSON.")] = None,
) -> None:
    """Deliver each tuple of the input at its Time, and report how late it was.

    Over TCP the clock starts when a client has connected; the end of the data closes the connection.

    \b
    Examples:
      aurora linear-road drive --data traffic --to tcp:127.0.0.1:7000 --speed 10
      aurora linear-road drive --data traffic --to dir:incoming
    """
    from aurora.linear_road import drive as driver
    from aurora.linear_road.reading import check_apart, input_files

    if report is not None:
        check_apart("--report", report, input_files(data))
    receiver = driver.receiver_for(
        to, lambda port: tell(f"waiting for a client on port {port}", "waiting", port=port)
    )
    with open_bar(percent=False) as bar:
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
