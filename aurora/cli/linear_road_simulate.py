"""`aurora linear-road simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from aurora.cli.bars import open_bar

__all__ = ["simulate"]


def simulate(
    out: Annotated[
        Path, typer.Option(help="The folder for xway-N.csv and simulation.json; created if necessary.")
    ],
    expressways: Annotated[int, typer.Option(help="How many expressways (L).")] = 1,
    minutes: Annotated[
        int, typer.Option(help="How many minutes to simulate, starting with empty roads.")
    ] = 180,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    last: Annotated[
        int | None, typer.Option(help="Keep only this many minutes at the end; their times start at 0.")
    ] = None,
    queries: Annotated[
        float, typer.Option(help="How many queries of the same car follow a report, on average.")
    ] = 0.01,
    plots: Annotated[
        bool, typer.Option("--plots", help="Also draw plots of the traffic, traffic-N.png.")
    ] = False,
) -> None:
    """Simulate the traffic of L expressways and write the benchmark's input.

    Example: aurora linear-road simulate --expressways 1 --out traffic --plots
    """
    from aurora.engine.spark.session import spark_session
    from aurora.linear_road.simulator import Settings, spread
    from aurora.linear_road.simulator import simulate as run_simulation

    settings = Settings(expressways, minutes, seed, last, queries)
    runner = spread(spark_session("linear-road simulate").sparkContext)
    with open_bar() as bar:
        task = bar.add_task(f"simulating {minutes} minutes of {expressways} expressway(s)", total=1.0)
        result = run_simulation(settings, out, runner, plots, lambda share: bar.update(task, completed=share))
    counts, traffic = result["counts"], result["traffic"]
    asked = sum(counts["queries"].values())
    typer.echo(
        f"{out}: {counts['reports']:,} reports of {counts['cars']:,} cars, {asked:,} queries,"
        f" {len(result['accidents'])} accidents; mean speed of the last half hour"
        f" {traffic['mean_speed_last_half_hour']} mph"
    )
