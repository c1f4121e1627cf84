"""`aurora nexmark compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import result_console, steps
from aurora.cli.telling import tell
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from rich.console import Console

    from aurora.nexmark.rivals.measurement import Comparison, Measurement

__all__ = ["compare", "show"]


def compare(
    out: Annotated[Path, typer.Option(help="The folder for comparison.json, comparison.png and the events.")],
    queries: Annotated[str, typer.Option(help="Which queries, q0 to q22.")] = "q0,q1,q2,q3,q4,q5,q6,q7,q8",
    events: Annotated[int, typer.Option(help="How many events to make.")] = 1_000_000,
    systems: Annotated[str, typer.Option(help="Which systems, aurora first.")] = "aurora,spark,flink",
    data: Annotated[
        Path | None, typer.Option(help="A folder of JSON events, instead of making them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same events.")] = 1,
    cores: Annotated[
        int | None, typer.Option(help="Cores for each system; default: all of this machine.")
    ] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each query, of which the median counts.")] = 1,
) -> None:
    """Run queries on this engine, hand-written Spark and Flink SQL, one after the other; compare the results.

    Flink is installed into its own environment when it is first used. The status is 1 if a result is wrong.

    \b
    Examples:
      aurora nexmark compare --queries q1,q5 --events 1000000 --out comparison
      aurora nexmark compare --systems aurora,spark --data auctions --out compared
    """
    # Loaded for a comparison alone: DuckDB and the plots take their time.
    from aurora.nexmark import compare as comparing

    asked = comparing.known(_names(queries))
    chosen = [comparing.system_of(name) for name in dict.fromkeys(_names(systems))]
    if not chosen:
        raise AuroraError(f"--systems is empty: give some of {','.join(comparing.SYSTEMS)}")
    for system in chosen:
        system.prepare(tell)
    with steps(1 + len(asked) * len(chosen) * repeat) as step:
        step(f"making {events:,} events" if data is None else "looking at the events")
        folder = data or comparing.data_folder(events, seed, out / "data")
        result = comparing.compare(asked, chosen, folder, out, cores=cores, repeat=repeat, step=step)
    show(result, result_console())
    typer.echo(f"{'right' if result.right else 'not right'}; in {out}: comparison.json, comparison.png")
    raise typer.Exit(0 if result.right else 1)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def show(result: "Comparison", console: "Console") -> None:
    """The table, then what went wrong."""
    from rich.table import Table

    first, *others = result.systems
    table = Table(
        title=f"events/s ({result.data['events']:,} events of JSON, {result.cores} cores); seconds to start beside"
    )
    table.add_column("query")
    table.add_column("rows", justify="right")
    for name in result.systems:
        table.add_column(name, justify="right")
    for name in others:
        table.add_column(f"{first} : {name}", justify="right")
    for query in result.queries:
        measured = [result.of(query, name) for name in result.systems]
        rows = {each.rows for each in measured if each.verdict == "agrees"}
        ratios = [result.ratio(query, name) for name in others]
        table.add_row(
            query,
            f"{rows.pop():,}" if rows else "-",
            *(_cell(each) for each in measured),
            *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
        )
    console.print(table)
    for each in result.measurements:
        if each.note:
            console.print(
                f"{each.query} on {each.system}, {each.verdict}: {each.note}", highlight=False, soft_wrap=True
            )


def _cell(measured: "Measurement") -> str:
    if measured.events_per_s is None:
        return measured.verdict
    wrong = "" if measured.verdict == "agrees" else " wrong"
    return f"{measured.events_per_s:,.0f}{wrong} +{measured.start_s:.1f} s"
