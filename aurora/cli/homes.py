"""Commands that talk to a network in its home: status, pause, resume, step, stop, attach, detach, peek."""

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aurora.cli.bindings import Parameters, read_bindings, read_parameters
from aurora.cli.networks import AllowedHosts
from aurora.cli.telling import print_data, tell, warn
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from aurora.history.home import Home

__all__ = ["attach", "detach", "pause", "peek", "resume", "status", "step", "stop"]

HomeFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The home of a network, as given to aurora run --home.")
]
# Between two looks at a network that is watched, in seconds.
LOOK = 1.0
# For how many seconds peek waits for the first tuple of a stream before it says so.
SILENCE = 2.0


def status(
    home: HomeFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Update once a second, until Ctrl-C.")] = False,
) -> None:
    """Show how a running network is doing: inputs, boxes, outputs, points and queries.

    If no network is running, it shows the last figures; while Spark starts, it says that the network is starting.

    \b
    Examples:
      aurora status border-home
      aurora status border-home --watch
      aurora status border-home --json | jq .outputs
    """
    from rich.console import Console
    from rich.live import Live

    from aurora.cli.status_table import show_status
    from aurora.history.home import Home
    from aurora.history.last_status import find_status

    place = Home.of(home)
    place.check_there()
    if not watch:
        _print_status(find_status(place), as_json)
        return
    if as_json or not sys.stdout.isatty():
        while True:
            _print_status(find_status(place), as_json)
            time.sleep(LOOK)
    with Live(show_status(find_status(place)), auto_refresh=False, console=Console()) as live:
        while True:
            time.sleep(LOOK)
            live.update(show_status(find_status(place)), refresh=True)


def _print_status(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found), flush=True)
    else:
        from rich.console import Console

        from aurora.cli.status_table import show_status

        Console().print(show_status(found))


def _ask(home: Path, command: str, **more: Any) -> dict[str, Any]:
    from aurora.history.control import ask
    from aurora.history.home import Home

    return dict(ask(Home.of(home), command, **more))


def pause(home: HomeFolder) -> None:
    """Pause a network: the current batch ends, and the input waits at its source.

    Example: aurora pause border-home
    """
    answer = _ask(home, "pause")
    tell(f"paused after {_batches(answer['batch'])}; aurora resume {home} continues", "paused", **answer)


def _batches(number: int) -> str:
    return f"{number:,} {'batch' if number == 1 else 'batches'}"


def resume(
    home: HomeFolder,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="A failed query, to restart it.")
    ] = None,
) -> None:
    """Resume a paused network, or restart a failed query where it stopped.

    \b
    Examples:
      aurora resume border-home
      aurora resume border-home near
    """
    _ask(home, "resume", query=query)
    tell("resumed" if query is None else f"restarted {query}", "resumed", query=query)


def step(
    home: HomeFolder,
    batches: Annotated[int, typer.Option(help="How many batches to make.")] = 1,
) -> None:
    """Make a few batches, then pause.

    Example: aurora step border-home --batches 3
    """
    answer = _ask(home, "step", batches=batches)
    more = f"{_batches(batches)} as soon as there is input"
    tell(f"makes {more}, then pauses; aurora resume {home} continues", "stepped", batches=batches, **answer)


def stop(home: HomeFolder) -> None:
    """Stop a network and its queries; aurora run with the same home continues where they stopped.

    Example: aurora stop border-home
    """
    answer = _ask(home, "stop")
    tell(f"stopped after {_batches(answer['batch'])}", "stopped", **answer)


def attach(
    home: HomeFolder,
    query: Annotated[Path, typer.Argument(metavar="QUERY", help="A network whose inputs are points.")],
    sink: Annotated[
        list[str] | None,
        typer.Option(
            "--sink",
            help="NAME=csv:PATH, json:PATH or parquet:PATH; an output without a sink is not computed.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name for the query [the name of its network].")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Where to begin: a span such as 1h, a number, all, or now [everything kept]. A number counts "
            "tuples, or units of the field by which the point keeps."
        ),
    ] = None,
    parameters: Parameters = None,
    allow_host: AllowedHosts = None,
) -> None:
    """Attach a query to a running network: the history of its points first, then live tuples, without a gap.

    It stays attached until you detach it, even if the network is stopped and started again.

    \b
    Examples:
      aurora attach border-home near.yaml --sink near=csv:near.csv --since 1h
      aurora attach border-home near.yaml --sink near=parquet:near --since now
    """
    from aurora.engine.sinks.address import absolute_address

    sinks = {slot: absolute_address(address) for slot, address in read_bindings(sink or [], "sink").items()}
    for slot, address in sinks.items():
        if address == "console":
            raise AuroraError(
                f"--sink {slot}=console: a query writes to files; aurora peek shows what passes in this terminal"
            )
    answer = _ask(
        home,
        "attach",
        text=_text(query, parameters),
        parameters=read_parameters(parameters),
        path=str(query.absolute()),
        sinks=sinks,
        name=name,
        since=since,
        allow_hosts=allow_host or [],
    )
    tell(f"attached {answer['name']}; aurora detach {home} {answer['name']} ends it", "attached", **answer)


def _text(query: Path, parameters: list[str] | None) -> str:
    """The text of a query; a function that makes one is called here."""
    from aurora.network.text import is_function, read_network, read_text, to_text

    if is_function(query):
        return to_text(read_network(query, parameters=read_parameters(parameters)))
    return read_text(query, "query")


def detach(
    home: HomeFolder, name: Annotated[str, typer.Argument(metavar="QUERY", help="The name of the query.")]
) -> None:
    """Detach a query: it ends and its output stays; the network continues.

    Example: aurora detach border-home near
    """
    _ask(home, "detach", name=name)


def peek(
    home: HomeFolder,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A point, a view, or any stream of the network.")
    ],
    where: Annotated[str | None, typer.Option(help="A condition in SQL, for example 'Pos >= 30'.")] = None,
    last: Annotated[int, typer.Option(help="How many rows to show.", min=0)] = 10,
    follow: Annotated[bool, typer.Option("--follow", help="Continue with new rows.")] = False,
    format: Annotated[str, typer.Option(help="csv or json.")] = "csv",
) -> None:
    """Show rows: the last ones in a point or view, or live ones from any stream.

    For a point or view, these are its stored rows. On any other stream, the command waits for rows that pass, and sees
    at most a hundred of each batch.

    \b
    Examples:
      aurora peek border-home recent --where 'Pos >= 30' --last 5
      aurora peek border-home over --follow --format json
    """
    if format not in ("csv", "json"):
        raise AuroraError(f"--format {format}: write csv or json")
    from aurora.history.home import Home
    from aurora.history.peek import is_point

    place = Home.of(home)
    if is_point(place, name):
        _peek_point(place, name, where, last, follow, format)
    else:
        _peek_stream(place, name, where, last, follow, format)


def _peek_point(home: "Home", name: str, where: str | None, last: int, follow: bool, form: str) -> None:
    from aurora.engine.sinks.encode import csv_header, to_csv, to_json
    from aurora.history.control import is_running
    from aurora.history.peek import open_point

    point = open_point(home, name)
    rows, behind = point.last(last, where)
    encode = to_json if form == "json" else to_csv
    header = b"" if form == "json" else csv_header(rows.schema)
    print_data((header + encode(rows)).decode())
    if follow:
        if not point.ended and not is_running(home):
            warn(f"{home.folder} is not running; waiting for rows of its next run")
        for more in point.follow(behind, where):
            print_data(encode(more).decode())


def _peek_stream(
    home: "Home",
    name: str,
    where: str | None,
    last: int,
    follow: bool,
    form: str,
    clock: Callable[[], float] = time.monotonic,
    rest: Callable[[float], None] = time.sleep,
) -> None:
    from aurora.history.control import ask

    number, told, shown = 0, False, 0
    silent_until = clock() + SILENCE
    while True:
        most = None if follow else last - shown
        answer = ask(home, "look", stream=name, after=number, where=where, format=form, most=most)
        number = answer["number"]
        if answer["header"] and not told:
            print_data(answer["header"])
            told = True
        print_data(answer["rows"])
        shown += answer["count"]
        if not follow and shown >= last:
            return
        if shown:
            silent_until = math.inf
        elif clock() > silent_until:
            meeting = "" if where is None else " that meet the condition"
            warn(f"waiting for tuples of {name}{meeting}: none has passed since this command began")
            silent_until = math.inf
        rest(LOOK / 4)
