"""`aurora check` and `aurora run`: networks from the command line."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from aurora.adapt.deferral import ARC
from aurora.cli.bindings import read_bindings
from aurora.cli.interrupts import close_output, stoppable
from aurora.cli.progress import RunWatch
from aurora.engine.drops import SHED
from aurora.engine.explain import describe_network
from aurora.engine.settings import Settings
from aurora.engine.spark_run import Result
from aurora.errors import AuroraError
from aurora.history.running import run
from aurora.network.text import read_network

__all__ = ["NetworkFile", "check", "run_network"]

NetworkFile = Annotated[
    Path,
    typer.Argument(metavar="NETWORK", help="A network file, for example border.yaml, or module:function."),
]


def check(network: NetworkFile) -> None:
    """Check a network: schemas, ports, loops. Prints its boxes.

    Example: aurora check examples/border.yaml
    """
    checked = read_network(network).checked()
    typer.echo(describe_network(checked))
    typer.echo(
        f"ok: {_number(len(checked.boxes), 'box', 'boxes')}, {_number(len(checked.inputs), 'input', 'inputs')}, "
        f"{_number(len(checked.outputs), 'output', 'outputs')}"
    )


def run_network(
    network: NetworkFile,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            help="NAME=csv:PATH, json:PATH, parquet:PATH, sqlite:FILE?table=T, tcp:HOST:PORT or "
            "kafka:HOST:PORT/TOPIC; once for each input.",
        ),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            help="NAME=csv:PATH, json:PATH, parquet:PATH, kafka:HOST:PORT/TOPIC or console; "
            "outputs without one are left out.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(help="Where bad rows go, for example csv:bad.csv [rejects.csv beside the first sink]."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on when the files and topics are read: wait for more.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="A Spark master, for example spark://host:7077 [all cores here].")
    ] = None,
    batch: Annotated[int, typer.Option(help="Rows of each input in a batch, at most.")] = Settings.batch,
    partitions: Annotated[int | None, typer.Option(help="Buckets for the keys [number of cores].")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder of the checkpoint [beside the first sink].")
    ] = None,
    home: Annotated[
        str | None,
        typer.Option(
            help="Folder for all of the run: aurora status, attach, peek and others talk to it there."
        ),
    ] = None,
    no_shedding: Annotated[
        bool, typer.Option("--no-shedding", help="Leave nothing out under overload, whatever the graphs say.")
    ] = False,
    no_deferring: Annotated[
        bool, typer.Option("--no-deferring", help="Let no output wait for a more urgent one.")
    ] = False,
    no_optimising: Annotated[
        bool, typer.Option("--no-optimising", help="Keep the boxes in the order in which they are written.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget an earlier, unfinished run.")] = False,
    log: Annotated[
        Path | None, typer.Option(help="Where Spark's log goes [kept only where a run fails].")
    ] = None,
) -> None:
    """Run a network on Spark until its input ends, or with --follow until Ctrl-C.

    A path that ends in .csv, .jsonl, .ndjson or .json is one file with the rows in the order of emission, any other a
    folder of parts.
    A run that was killed goes on where it stopped when the same command is given again. With --home other terminals
    can talk to it, and its connection points keep what passes.

    Example: aurora run border.yaml --source reports=csv:r.csv --source beats=csv:b.csv --sink alarms=csv:out.csv
    """
    read = read_network(network).checked()
    settings = Settings(
        master,
        batch,
        partitions,
        follow,
        checkpoint,
        fresh,
        rejects=rejects,
        log=str(log.absolute()) if log else None,
        home=home,
        defer=not no_deferring,
        shed=not no_shedding,
        optimise=not no_optimising,
    )
    sources, sinks = read_bindings(source or [], "source"), read_bindings(sink or [], "sink")
    with stoppable() as stop:
        try:
            with RunWatch() as watch:
                result = run(read, sources, sinks, settings, watch, stop, watch.store)
        except BrokenPipeError:
            raise typer.Exit(close_output()) from None
        _summarise(result, list(read.outputs))
        if stop.is_set() and not result.ended:
            typer.echo(_stopped(result, fresh), err=True)
            raise typer.Exit(130)
        if not result.ended:
            typer.echo(_stopped(result, fresh), err=True)
        if _nothing_was_read(result):
            raise AuroraError("no row could be read: check the schema of the input, and what the file holds")


def _stopped(result: Result, fresh: bool) -> str:
    if not result.goes_on:
        return "stopped: nothing is kept of it; with --checkpoint DIR a run goes on where it stopped"
    waiting = f"; {_number(result.waiting, 'tuple waits', 'tuples wait')} for it" if result.waiting else ""
    return f"stopped: the same command{' without --fresh' if fresh else ''} goes on where it stopped{waiting}"


def _summarise(result: Result, outputs: list[str]) -> None:
    """What a run did, on stderr: rows read and by output, what the boxes left out, and what could not be read."""
    totals = result.totals
    console = Console(file=sys.stderr)
    if result.already:
        console.print("finished before, and the input is the same: nothing to do; --fresh starts over")
    console.print(f"{_number(totals.batch + 1, 'batch', 'batches')} in {result.seconds:.1f} s")
    for first, counts in (
        ("input", {name: place["row"] for name, place in totals.places.items()}),
        ("output", {name: totals.rows.get(name, 0) for name in outputs}),
    ):
        if counts:
            table = Table(first, "rows", box=None, pad_edge=False)
            for name, rows in sorted(counts.items()):
                table.add_row(name, f"{rows:,}")
            console.print(table)
    for box, reasons in sorted(totals.discarded.items()):
        for reason, number in sorted(reasons.items()):
            told = _number(number, "tuple", "tuples")
            shed = f"load was shed: {told} of {box.removeprefix(ARC)}"
            console.print(shed if reason == SHED else f"box {box} left out {told}: {reason}")
    if totals.rejected:
        where = f"see {totals.rejects}" if totals.rejects else "add --rejects csv:PATH to see them"
        told = f"{_number(totals.rejected, 'row', 'rows')} could not be read: {where}"
        console.print(told, soft_wrap=True, highlight=False, markup=False)


def _number(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _nothing_was_read(result: Result) -> bool:
    """Whether every row was rejected."""
    # A file that cannot be read at all is one reject, and no row.
    return result.totals.rejected > 0 and result.totals.rejected >= result.totals.read
