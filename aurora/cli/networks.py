"""`aurora check` and `aurora run`: networks from the command line."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.characters import printable
from aurora.cli.bindings import Parameters, read_bindings, read_parameters
from aurora.cli.interrupts import close_output, stoppable
from aurora.cli.telling import tell, warn
from aurora.engine.settings import Settings

if TYPE_CHECKING:
    from aurora.algebra.tuples.schema import Schema
    from aurora.network.network import Network
    from aurora.network.wants import Wants

__all__ = ["AllowedFiles", "AllowedHosts", "NetworkFile", "check", "look_into", "run_network", "tell_wants"]

NetworkFile = Annotated[
    Path,
    typer.Argument(metavar="NETWORK", help="A network file, for example border.yaml, or module:function."),
]
AllowedFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-file",
        metavar="PATH",
        help="A file or folder outside of the folder of the network that may be opened to look at the fields of a "
        "stored set; once for each.",
    ),
]

AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST[:PORT]",
        help="A PostgreSQL server that only the network file names, and to which your user and password may go; once "
        "for each. A home remembers it.",
    ),
]


def tell_wants(path: Path) -> "Callable[[Wants], None]":
    """Return what says on stderr which modules a network file imports, which files it reads and where it connects."""

    def told(wants: "Wants") -> None:
        for line in wants.lines():
            tell(f"{path} {line}", "wants", network=str(path))

    return told


def look_into(
    network: Path,
    allow_file: list[Path] | None,
    parameters: list[str] | None,
    points: "Mapping[str, Schema] | None" = None,
) -> "Network":
    """Read a network to look at it: opened are its modules, and stored sets beside it or where it is allowed.

    `points` are those of a running network, if it is a query.
    """
    from aurora.network.text import read_network

    given = read_parameters(parameters)
    told = tell_wants(network)
    return read_network(network, points, parameters=given, files=allow_file or [], tell=told).checked()


def check(
    network: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NETWORK]",
            help="A network file, for example border.yaml, or module:function; not needed with --home.",
        ),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(
            help="The home of a network, running or stopped: check a query that is to be attached there, or show the "
            "points and streams of the network."
        ),
    ] = None,
    parameters: Parameters = None,
    allow_file: AllowedFiles = None,
) -> None:
    """Check a network: its schemas, its ports, and that it has no loops. Print its boxes.

    With --home it checks a query on the points of the network that runs, or has run, there; without a query it prints
    these points, and all streams of the network, with their fields.

    The modules of its own functions are imported. Files of stored sets that give no schema are opened, below the folder
    of the network only; --allow-file allows others.

    \b
    Examples:
      aurora check border.yaml
      aurora check border.yaml --allow-file /data/rates.parquet
      aurora check border.yaml --set least=40
      aurora check mymodule:make_network
      aurora check --home border-home
      aurora check near.yaml --home border-home
    """
    from aurora.adapt.obstacles import find_doubts
    from aurora.cli.summary import count
    from aurora.engine.plan.explain import describe_network
    from aurora.network.asof_races import find_races

    if home is None and network is None:
        raise typer.BadParameter("give a network, --home DIR, or both", param_hint="NETWORK")
    points = None if home is None else _read_points(home, shown=network is None)
    if network is None:
        return
    checked = look_into(network, allow_file, parameters, points)
    if points is not None:
        from aurora.history.query import check_query

        check_query(checked, points)
    typer.echo(printable(describe_network(checked)))
    for race in find_races(checked):
        warn(race.describe(known=False))
    typer.echo(
        f"ok: {count(len(checked.boxes), 'box', 'boxes')}, {count(len(checked.inputs), 'input', 'inputs')}, "
        f"{count(len(checked.outputs), 'output', 'outputs')}"
    )
    for doubt in find_doubts(checked):
        warn(doubt)


def _read_points(home: Path, shown: bool) -> "dict[str, Schema]":
    """Return the points of a home with their schemas; print them and the streams if they are to be `shown`."""
    from aurora.history.home import Home

    place = Home.of(home)
    place.check_there()
    points, streams = place.read_schemas()
    if shown:
        lines = [f"  point  {name} ({schema})" for name, schema in points.items()]
        lines += [f"  stream {name} ({schema})" for name, schema in streams.items()]
        typer.echo(printable("\n".join([f"network {(place.read_network() or {}).get('name')}", *lines])))
    return points


def run_network(
    network: NetworkFile,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="NAME=ADDRESS",
            help="Where an input comes from; once for each input. Addresses: csv:PATH, json:PATH, parquet:PATH, "
            "sqlite:FILE?table=T, tcp:HOST:PORT, kafka:HOST:PORT/TOPIC, mqtt:HOST:PORT/TOPIC, "
            "postgres:HOST:PORT/DATABASE/TABLE?by=COLUMN; csv:- and json:- read stdin.",
        ),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            metavar="NAME=ADDRESS",
            help="Where an output goes; an output without a sink is not computed. Addresses: csv:PATH, json:PATH, "
            "parquet:PATH, kafka:HOST:PORT/TOPIC, mqtt:HOST:PORT/TOPIC, postgres:HOST:PORT/DATABASE/TABLE, console.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(help="Where bad rows go, for example csv:bad.csv [rejects.csv beside the first sink]."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more rows after files and topics have been read.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(help="A Spark master, for example spark://host:7077 [all cores here].")
    ] = None,
    batch: Annotated[
        int, typer.Option(help="The largest number of rows that a batch takes from each input.")
    ] = Settings.batch,
    partitions: Annotated[
        int | None,
        typer.Option(help="Buckets for the keys [number of cores, of a cluster those of its executors]."),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Folder of the checkpoint [beside the first sink].")
    ] = None,
    home: Annotated[
        str | None,
        typer.Option(
            help="A folder for the run, through which aurora status, attach, peek and others talk to it."
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve figures for Prometheus, on this machine only unless a host is given; 0 takes a free port.",
        ),
    ] = None,
    no_shedding: Annotated[
        bool, typer.Option("--no-shedding", help="Drop nothing under overload, whatever the graphs say.")
    ] = False,
    no_deferring: Annotated[
        bool, typer.Option("--no-deferring", help="Let no output wait for a more urgent one.")
    ] = False,
    no_optimising: Annotated[
        bool, typer.Option("--no-optimising", help="Keep the boxes in the order in which they are written.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing an unfinished run.")
    ] = False,
    parameters: Parameters = None,
    allow_host: AllowedHosts = None,
    spark_log: Annotated[
        Path | None, typer.Option(help="Where Spark's log goes [kept only if a run fails].")
    ] = None,
) -> None:
    """Run a network on Spark until its input ends, or with --follow until Ctrl-C.

    A sink whose path has an ending, as .csv or .jsonl, is one file, with rows in the order of emission; any other path
    is a folder of parts. At most the last folder of a path is made.

    If a run is killed, the same command continues where it stopped. With --home, other terminals can talk to the run,
    and its connection points keep what passes.

    \b
    Examples, one for each kind of source:
      aurora run border.yaml --source reports=csv:r.csv --sink alarms=csv:out.csv
      aurora run border.yaml --source 'reports=csv:r.csv.gz?delimiter=;' \\
                             --sink alarms=console
      aurora run border.yaml --source reports=json:logs/ --sink alarms=parquet:out
      aurora run border.yaml --source reports=parquet:r.parquet \\
                             --sink alarms=json:out.jsonl
      aurora run border.yaml --source 'reports=sqlite:r.db?table=reports' \\
                             --sink alarms=console
      tail -f r.csv | aurora run border.yaml --source reports=csv:- \\
                             --sink alarms=console
      aurora run border.yaml --source reports=tcp:127.0.0.1:9000 --home watch \\
                             --sink alarms=csv:out.csv --metrics 9464
      aurora run border.yaml --source reports=kafka:127.0.0.1:9092/reports \\
                             --sink alarms=kafka:127.0.0.1:9092/alarms --follow
      aurora run border.yaml --source reports=mqtt:127.0.0.1:1883/reports \\
                             --sink alarms=csv:out.csv --home watch
      aurora run border.yaml --follow --home watch \\
                 --source "reports=postgres:127.0.0.1:5432/db/reports?by=id" \\
                 --sink alarms=postgres:127.0.0.1:5432/db/alarms
    """
    from aurora.cli.progress import RunWatch
    from aurora.cli.summary import check_read, summarise, tell_empty, tell_stopped
    from aurora.engine.outages import stop_waiting_at
    from aurora.engine.sinks.sink import Interrupted
    from aurora.history.running import start
    from aurora.network.text import read_network

    read = read_network(network, parameters=read_parameters(parameters), tell=tell_wants(network)).checked()
    settings = Settings(
        master,
        batch,
        partitions,
        follow,
        checkpoint,
        fresh,
        rejects=rejects,
        log=str(spark_log.absolute()) if spark_log else None,
        home=home,
        defer=not no_deferring,
        shed=not no_shedding,
        optimise=not no_optimising,
        metrics=metrics,
        allow_hosts=allow_host or [],
    )
    sources, sinks = read_bindings(source or [], "source"), read_bindings(sink or [], "sink")
    with stoppable() as stop:
        try:
            with RunWatch(list(read.outputs)) as watch:
                with stop_waiting_at(stop):
                    started = start(read, sources, sinks, settings, watch, watch.store)
                with started as running:
                    watch.running = running
                    tell(f"network {read.name} runs", "started", logging.DEBUG, network=read.name, home=home)
                    result = running.wait(stop)
        except BrokenPipeError:
            raise typer.Exit(close_output()) from None
        except Interrupted as fault:
            tell(str(fault), "stopped", network=read.name)
            raise typer.Exit(stop.status) from None
        summarise(result, list(read.outputs))
        if not result.ended:
            tell_stopped(result, fresh)
            raise typer.Exit(stop.status if stop.is_set() else 0)
        tell_empty(result, sources)
        check_read(result.totals.unread)
