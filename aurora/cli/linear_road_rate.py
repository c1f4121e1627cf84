"""`aurora linear-road rate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import result_console
from aurora.cli.interrupts import stoppable
from aurora.cli.linear_road_run import watching
from aurora.cli.telling import tell

if TYPE_CHECKING:
    from rich.console import Console

    from aurora.linear_road.rate import Rating, Trial

__all__ = ["rate"]


def rate(
    out: Annotated[
        Path, typer.Option(help="The folder for rating.json, rating.png, and a folder for each L.")
    ],
    start: Annotated[int, typer.Option("--from", help="The first L to try; doubled while it passes.")] = 20,
    up_to: Annotated[int | None, typer.Option(help="Try no larger L.")] = None,
    step: Annotated[
        int, typer.Option(help="The search ends when it knows the largest L up to this step.")
    ] = 10,
    minutes: Annotated[
        int, typer.Option(help="The length of the slice: the last minutes of three hours.")
    ] = 5,
    full: Annotated[bool, typer.Option("--full", help="Run the whole three hours for each L.")] = False,
    data: Annotated[Path | None, typer.Option(help="Use this data of one expressway instead.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of the simulated data.")] = 1,
    fused: Annotated[
        bool, typer.Option("--fused", help="Use the hand-written kernels instead of the network of boxes.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="Spark's master; default: all cores of this machine.")
    ] = None,
) -> None:
    """Search for the largest number of expressways that the system answers in time and without errors.

    Example: aurora linear-road rate --from 40 --minutes 5 --out rating
    """
    from aurora.linear_road.peak import HOURS
    from aurora.linear_road.rate import plot_rating
    from aurora.linear_road.rate import rate as search

    out.mkdir(parents=True, exist_ok=True)
    with stoppable() as stop, watching() as watch:
        rating = search(
            out,
            start=start,
            up_to=up_to,
            minutes=HOURS if full else minutes,
            step=step,
            data=data,
            seed=seed,
            tell=tell,
            tried=lambda trial: tell(_told(trial), "tried"),
            master=master,
            fused=fused,
            watch=watch,
            stop=stop,
        )
    if not rating.trials:
        raise typer.Exit(stop.status)
    plot_rating(rating, out / "rating.png")
    _show(rating, result_console())
    best = rating.best
    typer.echo(
        f"L = {best.expressways if best else 0} ({best.tuples_per_s if best else 0:,.0f} tuples/s); "
        f"{out / 'rating.json'}, {out / 'rating.png'}"
    )
    if stop.is_set():
        raise typer.Exit(stop.status)


def _told(trial: "Trial") -> str:
    verdict = (
        "passed" if trial.passed else "failed: " + ", ".join(f"{n:,} {k}" for k, n in trial.faults.items())
    )
    return f"L = {trial.expressways}: {trial.tuples_per_s:,.0f} tuples/s, {verdict}"


def _show(rating: "Rating", console: "Console") -> None:
    """The paper's Table 8: maximum response times, here with p99 before them."""
    from rich.table import Table

    from aurora.linear_road.records import OUTPUT_NAMES

    table = Table(title="response times in seconds, p99 / max")
    for column in ("L", "tuples/s", *OUTPUT_NAMES.values(), "verdict"):
        table.add_column(column, justify="left" if column == "verdict" else "right")
    for trial in sorted(rating.trials, key=lambda trial: trial.expressways):
        times = []
        for kind in OUTPUT_NAMES.values():
            p99, largest = trial.slowest(kind, "p99"), trial.slowest(kind)
            times.append("-" if p99 is None or largest is None else f"{p99:.2f} / {largest:.2f}")
        table.add_row(
            str(trial.expressways),
            f"{trial.tuples_per_s:,.0f}",
            *times,
            "right" if trial.passed else "failed",
        )
    console.print(table)
