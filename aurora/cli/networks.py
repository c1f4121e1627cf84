"""`aurora check`, `aurora explain`, `aurora run`: networks from the command line."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from aurora.engine.commit import BatchReport
from aurora.engine.explain import described, stages_described
from aurora.engine.plan import plan_network
from aurora.engine.query import explain_plan
from aurora.engine.running import Result, run
from aurora.engine.settings import Settings
from aurora.errors import AuroraError
from aurora.network.text import read_network

__all__ = ["check", "explain", "run_network"]

NetworkFile = Annotated[
    Path,
    typer.Argument(metavar="NETWORK", help="A network file, for example border.yaml, or module:function."),
]


def check(network: NetworkFile) -> None:
    """Check a network: schemas, ports, loops. Prints its boxes.

    Example: aurora check examples/border.yaml
    """
    checked = read_network(network).checked()
    typer.echo(described(checked))
    typer.echo(
        f"ok: {len(checked.boxes)} boxes, {len(checked.inputs)} inputs, {len(checked.outputs)} outputs"
    )


def explain(
    network: NetworkFile,
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Also show Spark's plan (starts Spark).")
    ] = True,
) -> None:
    """Show a network, the stages into which its boxes are fused, and Spark's plan.

    Example: aurora explain examples/border.yaml
    """
    read = read_network(network).checked()
    plan = plan_network(read)
    typer.echo(described(read))
    typer.echo(stages_described(plan))
    if spark:
        typer.echo(explain_plan(plan))


def run_network(
    network: NetworkFile,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source", help="NAME=csv:PATH, json:PATH, parquet:PATH or tcp:HOST:PORT; once for each input."
        ),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            help="NAME=csv:PATH, json:PATH, parquet:PATH or console; outputs without one are left out.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(help="Where bad rows go, for example csv:bad.csv [rejects.csv beside the first sink]."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on when the files are read: wait for more.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="A Spark master, for example spark://host:7077 [all cores here].")
    ] = None,
    batch: Annotated[int, typer.Option(help="Rows of each input in a batch, at most.")] = Settings.batch,
    partitions: Annotated[int | None, typer.Option(help="Buckets for the keys [number of cores].")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder of the checkpoint [beside the first sink].")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget an earlier, unfinished run.")] = False,
) -> None:
    """Run a network on Spark until its input ends, or with --follow until Ctrl-C.

    A path that ends in .csv, .jsonl, .ndjson or .json is one file with the rows in the order of emission, any other a
    folder of parts.
    A run that was killed goes on where it stopped when the same command is given again.

    Example: aurora run border.yaml --source reports=csv:r.csv --source beats=csv:b.csv --sink alarms=csv:out.csv
    """
    read = read_network(network).checked()
    settings = Settings(master, batch, partitions, follow, checkpoint, fresh, rejects=rejects)
    stop = threading.Event()
    with _stop_on_interrupt(stop), _Watch() as watch:
        result = run(
            read, _bindings(source or [], "source"), _bindings(sink or [], "sink"), settings, watch, stop
        )
    _summarise(result)
    if stop.is_set() and not result.ended:
        typer.echo("stopped", err=True)
        raise typer.Exit(130)


def _bindings(given: list[str], what: str) -> dict[str, str]:
    bound: dict[str, str] = {}
    for text in given:
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            raise AuroraError(f"--{what} {text}: write NAME=ADDRESS, for example alarms=csv:out.csv")
        if name in bound:
            raise AuroraError(f"--{what} {name} is given twice")
        bound[name] = address
    return bound


@contextmanager
def _stop_on_interrupt(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C ends the run after its batch, the second one at once."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Watch:
    """A line on the terminal that tells how far the run is."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True,
            disable=not console.is_terminal,
        )  # fmt: skip
        self._rows = 0
        self._started = time.monotonic()

    def __enter__(self) -> "_Watch":
        self._progress.start()
        self._task = self._progress.add_task("starting Spark", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, report: BatchReport) -> None:
        self._rows += sum(report.rows.values())
        rate = self._rows / max(time.monotonic() - self._started, 0.001)
        text = f"batch {report.batch}: {self._rows:,} rows out, {rate:,.0f} rows/s"
        self._progress.update(self._task, description=text)


def _summarise(result: Result) -> None:
    totals = result.totals
    table = Table("output", "rows", box=None, pad_edge=False)
    for name, rows in sorted(totals.rows.items()):
        table.add_row(name, f"{rows:,}")
    console = Console(file=sys.stderr)
    if result.already:
        console.print("finished before, and the input is the same: nothing to do; --fresh starts over")
    console.print(f"{totals.batch + 1} batches in {result.seconds:.1f} s")
    if totals.rows:
        console.print(table)
    for box, reasons in sorted(totals.discarded.items()):
        for reason, number in sorted(reasons.items()):
            console.print(f"box {box} left out {number:,} tuples: {reason}")
    if totals.rejected:
        console.print(
            f"{totals.rejected:,} rows could not be read: see {totals.rejects or 'above'}", soft_wrap=True
        )
