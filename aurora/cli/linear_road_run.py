"""`aurora linear-road run`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import open_bar, result_console
from aurora.cli.interrupts import stoppable
from aurora.cli.summary import check_read
from aurora.cli.telling import tell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from aurora.linear_road.run import Progress, RunReport

__all__ = ["run", "show", "watching"]


@contextmanager
def watching(label: str = "") -> Iterator["Watch"]:
    with open_bar(percent=False, width=24) as bar:
        yield Watch(bar, label)


class Watch:
    """A line that follows a run: simulated time, tuples/s, the latest response times, how far it is behind."""

    def __init__(self, bar: "Bar", label: str) -> None:
        self._bar = bar
        self._label = label
        self._task = bar.add_task(f"{label}starting", total=None)

    def __call__(self, progress: "Progress") -> None:
        hours, rest = divmod(progress.second, 3600)
        latest = " ".join(f"{name} {seconds:.1f}" for name, seconds in progress.responses.items())
        behind = f", {progress.behind:.1f} s behind" if progress.behind >= 1 else ""
        self._bar.update(
            self._task,
            completed=progress.second,
            total=progress.last_second + 1,
            description=(
                f"{self._label}{hours}:{rest // 60:02d}:{rest % 60:02d}  {progress.rate:,.0f} tuples/s  "
                f"s: {latest}{behind}"
            ),
        )


def show(report: "RunReport", console: "Console") -> None:
    """The report as a table."""
    from rich.table import Table

    table = Table()
    for column in ("answers", "number", "p50 s", "p99 s", "max s"):
        table.add_column(column, justify="left" if column == "answers" else "right")
    for name, times in report.responses.items():
        row = [f"{times[key]:.3f}" for key in ("p50", "p99", "max")]
        table.add_row(name, f"{times['answers']:,.0f}", *row)
    console.print(table)


def run(
    data: Annotated[Path, typer.Option(help="A folder with xway-N.csv files, or one CSV file.")],
    out: Annotated[Path, typer.Option(help="Gets output.csv, rejects.csv and report.json.")],
    history: Annotated[
        Path | None, typer.Option(help="The folder with toll_history and segment_history; else the data's.")
    ] = None,
    pace: Annotated[str, typer.Option(help="fast (as fast as it can) or realtime (by the clock).")] = "fast",
    replicate: Annotated[int, typer.Option(help="How many copies of each expressway, for more load.")] = 1,
    master: Annotated[
        str | None, typer.Option(help="Spark's master; default: all cores of this machine.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="The most tuples in a batch.")] = None,
    partitions: Annotated[int | None, typer.Option(help="Buckets of the state; default: the cores.")] = None,
    today: Annotated[int, typer.Option(help="The weekday of the simulated day, 1 is Sunday.")] = 2,
    fused: Annotated[
        bool, typer.Option("--fused", help="Use the hand-written kernels instead of the network of boxes.")
    ] = False,
    home: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the run, through which aurora status, attach, peek and others talk to it."
        ),
    ] = None,
    graphs: Annotated[
        bool,
        typer.Option(
            "--graphs",
            help="Under overload, delay requests, then drop some; their answers go to requests.csv.",
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, even if a run in --out is unfinished.")
    ] = False,
) -> None:
    """Run the Linear Road network on Spark; the same command continues a killed run.

    With --pace realtime a driver delivers each second when it is due, and Emit is the simulation clock.

    Example: aurora linear-road run --data traffic --out run --pace realtime --replicate 10
    """
    from aurora.linear_road.run import run_benchmark

    with stoppable() as stop, watching() as watch:
        report = run_benchmark(
            data,
            out,
            history=history,
            pace=pace,
            replicate=replicate,
            master=master,
            batch=batch,
            partitions=partitions,
            today=today,
            fresh=fresh,
            fused=fused,
            home=home,
            graphs=graphs,
            watch=watch,
            tell=tell,
            stop=stop,
        )
    show(report, result_console())
    where = f" (see {out / 'rejects.csv'})" if report.rejected else ""
    typer.echo(
        f"{report.tuples:,} tuples in {report.seconds:.1f} s ({report.tuples_per_s:,.0f}/s), "
        f"{report.rejected} rejected{where}; {out / 'output.csv'}"
    )
    if not report.ended:
        tell("stopped before the end; the same command continues from here", "stopped")
        raise typer.Exit(stop.status if stop.is_set() else 1)
    check_read(["traffic"] if report.rejected and not report.tuples else [])
