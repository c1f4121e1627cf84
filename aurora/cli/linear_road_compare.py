"""`aurora linear-road compare`."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import result_console
from aurora.cli.interrupts import stoppable
from aurora.cli.linear_road_run import watching
from aurora.cli.telling import tell
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from rich.console import Console

    from aurora.linear_road.compare import Comparison, Outcome

__all__ = ["compare"]


def compare(
    out: Annotated[Path, typer.Option(help="The folder for comparison.json, comparison.png, and each run.")],
    expressways: Annotated[str, typer.Option(help="The Ls to try, such as 0.5,1,2.")] = "1,10",
    systems: Annotated[
        str, typer.Option(help="Which systems, of aurora, duckdb and postgres.")
    ] = "aurora,duckdb,postgres",
    minutes: Annotated[int, typer.Option(help="The length of the slice: the last minutes of the data.")] = 5,
    data: Annotated[
        Path | None, typer.Option(help="Use this data instead of simulating one expressway.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the simulated data.")] = 1,
) -> None:
    """Run Linear Road on this system and on relational ones that poll; print the paper's Tables 7 and 8.

    Each run is in real time and is validated; a system that fails on one L is not tried on a larger one. PostgreSQL
    is installed if there is none and the machine allows it. An L below 1 is a share of the cars (0.5, 0.25, ...).

    \b
    Examples:
      aurora linear-road compare --out comparison
      aurora linear-road compare --expressways 1,10,50 --systems aurora,duckdb \\
                                 --out comparison
    """
    from aurora.linear_road.compare import compare as run_comparison
    from aurora.linear_road.compare import plot_comparison
    from aurora.linear_road.rivals.systems import Telling

    with watching() as watch:
        telling = Telling(tell, watch, stoppable)
        comparison = run_comparison(
            out,
            [_number(word) for word in expressways.split(",")],
            [word.strip() for word in systems.split(",") if word.strip()],
            minutes=minutes,
            data=data,
            seed=seed,
            telling=telling,
            tried=lambda outcome: tell(_told(outcome), "tried"),
        )
    plot_comparison(comparison, out / "comparison.png")
    _show(comparison, result_console())
    typer.echo(f"{out / 'comparison.json'}, {out / 'comparison.png'}")


def _number(word: str) -> Fraction:
    try:
        return Fraction(word.strip())
    except (ValueError, ZeroDivisionError):
        raise AuroraError(
            f"--expressways has {word.strip()!r}: give numbers with commas between them, such as 0.5,1,2"
        ) from None


def _told(outcome: "Outcome") -> str:
    faults = ", ".join(f"{number:,} {kind}" for kind, number in outcome.faults.items())
    verdict = "passed" if outcome.passed else "failed: " + "; ".join([faults, *outcome.notes])
    return f"{outcome.system}, L = {outcome.expressways:g}: {outcome.tuples_per_s:,.0f} tuples/s, {verdict}"


def _show(comparison: "Comparison", console: "Console") -> None:
    from rich.table import Table

    from aurora.linear_road.records import OUTPUT_NAMES

    ratings = Table(title="Table 7: L-ratings")
    for column in ("system", "L", "tuples/s"):
        ratings.add_column(column, justify="left" if column == "system" else "right")
    for system in comparison.systems:
        best = comparison.best(system)
        ratings.add_row(
            system, f"{best.expressways:g}" if best else "-", f"{best.tuples_per_s:,.0f}" if best else "-"
        )
    console.print(ratings)
    times = Table(title="Table 8: maximum response times in seconds (* failed, - not tried or no answer)")
    for column in ("L", "output", *comparison.systems):
        times.add_column(column, justify="left" if column == "output" else "right")
    for size in comparison.sizes():
        for kind in OUTPUT_NAMES.values():
            cells = [_cell(comparison.outcome(system, size), kind) for system in comparison.systems]
            last = kind == list(OUTPUT_NAMES.values())[-1]
            times.add_row(f"{size:g}", kind, *cells, end_section=last)
    console.print(times)
    console.print(comparison.protocol(), highlight=False)


def _cell(outcome: "Outcome | None", kind: str) -> str:
    slowest = outcome.slowest(kind) if outcome else None
    if outcome is None or slowest is None:
        return "-"
    return f"{slowest:.2f}" + ("" if outcome.passed else " *")
