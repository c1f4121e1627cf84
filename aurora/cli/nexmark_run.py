"""`aurora nexmark run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import open_bar
from aurora.cli.interrupts import stoppable
from aurora.cli.summary import check_read
from aurora.cli.telling import tell

if TYPE_CHECKING:
    from aurora.nexmark.progress import Progress
    from aurora.nexmark.run import RunReport

__all__ = ["run"]


def run(
    query: Annotated[str, typer.Option(help="q0 to q22; docs/nexmark.md describes them.")],
    data: Annotated[Path, typer.Option(help="A folder of aurora nexmark generate.")],
    out: Annotated[
        Path, typer.Option(help="The folder for result.jsonl, rejects.csv, report.json and the plots.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Evaluate the query again with DuckDB, and compare.")
    ] = False,
    rate: Annotated[float | None, typer.Option(help="Events a second; default: as fast as it can.")] = None,
    lose: Annotated[
        float,
        typer.Option(help="With --rate: the share of the events to lose, to see the effect."),
    ] = 0.0,
    profile: Annotated[str | None, typer.Option(help="standard or draft; default: that of the data.")] = None,
    lateness: Annotated[
        float | None, typer.Option(help="Seconds by which an event may be late; default: that of the data.")
    ] = None,
    dollars_to_euros: Annotated[float, typer.Option(help="q1 and q14: euros for a dollar.")] = 0.908,
    plots: Annotated[
        bool | None, typer.Option("--plots/--no-plots", help="Write report.png; default: with --rate.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark's master; default: all cores of this machine.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="The largest number of events in a batch.")] = None,
    partitions: Annotated[int | None, typer.Option(help="Buckets of the state; default: the cores.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, even if a run in --out is unfinished.")
    ] = False,
) -> None:
    """Run one query over a folder of events; the same command continues a killed run.

    \b
    Examples:
      aurora nexmark run --query q5 --data auctions --out hot --check
      aurora nexmark run --query q5 --data auctions --out hot --rate 50000
    """
    from aurora.nexmark.run import run_query

    with stoppable() as stop, open_bar() as bar:
        task = bar.add_task(f"{query}: starting", total=None)

        def watch(progress: "Progress") -> None:
            behind = f", {progress.behind:.1f} s behind" if progress.behind >= 1 else ""
            bar.update(
                task,
                completed=progress.events,
                total=progress.total,
                description=f"{query}: {progress.events:,} events{behind}",
            )

        measured = run_query(
            query,
            data,
            out,
            profile=profile,
            lateness=lateness,
            dollars_to_euros=dollars_to_euros,
            rate=rate,
            lose=lose,
            check=check,
            master=master,
            batch=batch,
            partitions=partitions,
            fresh=fresh,
            watch=watch,
            tell=tell,
            stop=stop,
        )
    if plots or (plots is None and rate is not None):
        from aurora.nexmark.plots import plot_run

        plot_run(measured, out / "report.png")
    typer.echo(shown(measured.report, out / "rejects.csv"))
    if measured.verdict:
        typer.echo(measured.verdict)
    if not measured.report.ended:
        tell("stopped before the end; the same command continues from here", "stopped")
        raise typer.Exit(stop.status if stop.is_set() else 1)
    check_read(measured.unread)
    if measured.report.agrees is False:
        raise typer.Exit(1)


def shown(report: "RunReport", rejects: Path) -> str:
    """All the metrics together."""
    latency = (
        " ".join(f"{name} {seconds:.2f}" for name, seconds in report.tuple_latency_s.items()) or "no rows"
    )
    matching = report.output_matching
    where = f": see {rejects}" if report.rejected else ""
    relative = f", {matching['relative']:.2%} of the mean result" if "relative" in matching else ""
    lines = [
        f"{report.query} {report.title} ({report.profile}): {report.events:,} events, {report.rows:,} rows",
        f"  input rate       {report.events_per_s:,.0f} events/s, {report.mb_per_s:,.1f} MB/s, "
        f"{report.events_per_s_and_core:,.0f} events/s a core",
        f"  tuple latency    {latency} s",
        f"  output matching  {matching['value']:,.4g} ({matching['kind']}){relative}",
        f"  left out         {report.late:,} late, {report.rejected:,} rejected{where}",
    ]
    if report.rate is not None:
        kept = "kept up" if report.rate["kept_up"] else "fell behind"
        lines.append(f"  asked            {report.rate['asked']:,.0f} events/s: {kept}, at most "
                     f"{report.rate['largest_lag_s']:.1f} s behind")  # fmt: skip
    return "\n".join(lines)
