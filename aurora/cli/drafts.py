"""`aurora draft` and `aurora show`: a first network for a file, and the first rows of a file or of any stream."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.characters import printable
from aurora.cli.bindings import Parameters, read_bindings, read_parameters
from aurora.cli.interrupts import leaving_in_order
from aurora.cli.networks import AllowedHosts
from aurora.cli.telling import print_data, tell, warn
from aurora.errors import AuroraError

if TYPE_CHECKING:
    import pyarrow as pa

    from aurora.engine.draft.look import Shown
    from aurora.engine.draft.sample import Sample

__all__ = ["draft", "show"]

FORMATS = ("table", "csv", "json")
ADDRESSES = ("csv:", "json:", "lines:", "parquet:", "sqlite:", "tcp:", "kafka:", "mqtt:", "postgres:")


def draft(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="CSV, JSON lines or Parquet, compressed or not; or an address, csv:PATH?.."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where the network goes, for example first.yaml [the terminal].")
    ] = None,
) -> None:
    """Look at a file and write a first network for it.

    The network has the schema of the file and one box: counts and means for each minute, grouped by the
    field that suits best. It runs without changes. The command to run it is printed on stderr.

    \b
    Examples:
      aurora draft readings.csv --out readings.yaml
      aurora draft readings.jsonl.gz
      aurora draft readings.parquet
      aurora draft 'csv:readings.txt?delimiter=;&header=no'
      aurora draft 'sqlite:house.db?table=readings'
    """
    from aurora.engine.draft.propose import propose
    from aurora.engine.draft.sample import look_at

    with leaving_in_order():
        sample = look_at(file)
    made = propose(sample)
    if out is None:
        typer.echo(made.text, nl=False)
    else:
        try:
            with open(out, "x", encoding="utf-8") as target:
                target.write(made.text)
        except FileExistsError:
            raise AuroraError(f"{out} already exists: name another file, or remove it") from None
        except OSError as fault:
            raise AuroraError(f"{out} cannot be written: {fault.strerror}") from None
    _tell_rejects(sample)
    network = out or f"{made.name}.yaml"
    if out is None:
        tell(f"to keep it: aurora draft {_quoted(file)} --out {network}")
    command = f"aurora run {network} --source {_quoted(f'{made.name}={sample.address}')} --sink {made.output}=console"
    tell(f"to run it:  {command}")


def show(
    what: Annotated[
        str, typer.Argument(metavar="NETWORK|FILE", help="A network file, module:function, or a file.")
    ],
    stream: Annotated[
        str | None,
        typer.Argument(
            metavar="STREAM", help="For a network: an input, a box, BOX.PORT or an output [all outputs]."
        ),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option("--source", help="For a network: NAME=ADDRESS; once for each input.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many rows to show, at most.", min=1)] = 10,
    sample: Annotated[
        int, typer.Option(help="For a network: how many rows of each input to take.", min=1)
    ] = 1000,
    format: Annotated[str, typer.Option(help="table, csv or json.")] = "table",
    parameters: Parameters = None,
    allow_host: AllowedHosts = None,
) -> None:
    """Show the first rows of a file, or of any stream of a network on a sample.

    This runs a network on the first rows of its sources, without Spark, and writes nothing. All windows close at the
    end of the sample. Rows that cannot be read, and tuples that boxes leave out, are counted on stderr. Of a pipe
    (csv:- is stdin) only the lines are taken that are needed.

    \b
    Examples:
      aurora show readings.csv
      aurora show 'sqlite:house.db?table=readings' --rows 3 --format json
      aurora show border.yaml --source reports=csv:reports.csv
      aurora show border.yaml over --source reports=json:reports.jsonl
    """
    from tempfile import TemporaryDirectory

    from aurora.engine.draft.look import first_rows
    from aurora.engine.draft.piped import keep_beginning
    from aurora.engine.draft.sample import look_at
    from aurora.network.text import read_network

    if format not in FORMATS:
        raise AuroraError(f"--format {format}: write {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    with leaving_in_order(), TemporaryDirectory(prefix="aurora-show-") as folder:
        if not _is_network(what):
            if stream is not None or source or parameters:
                raise AuroraError(f"{what} is a file: a stream, --source and --set go with a network")
            found = look_at(keep_beginning("file", what, rows, Path(folder)), rows, "show")
            _print(found.rows, rows, format)
            _tell_rejects(found)
            return
        values = read_parameters(parameters)
        network = read_network(Path(what), parameters=values).checked()
        given = read_bindings(source or [], "source")
        bound = {name: keep_beginning(name, address, sample, Path(folder)) for name, address in given.items()}
        streams = [stream] if stream is not None else list(network.outputs)
        looks = []
        for number, name in enumerate(streams):
            if len(streams) > 1:
                typer.echo(("\n" if number else "") + f"{name}:")
            # Read again for each stream, because showing it adds an output to the network.
            looks.append(
                first_rows(read_network(Path(what), parameters=values), name, bound, sample, allow_host or [])
            )
            _print(looks[-1].rows, rows, format)
    _tell_missing(looks)


def _is_network(what: str) -> bool:
    if what.startswith(ADDRESSES):
        return False
    return what.endswith((".yaml", ".yml")) or (
        ":" in what and "://" not in what and not os.path.exists(what)
    )


def _print(batch: "pa.RecordBatch", most: int, form: str) -> None:
    import pyarrow as pa
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from aurora.algebra.tuples.types import type_name
    from aurora.engine.sinks.encode import csv_header, to_csv, to_json

    shown = batch.slice(0, most)
    if form == "csv":
        print_data((csv_header(shown.schema) + to_csv(shown)).decode())
        return
    if form == "json":
        print_data(to_json(shown).decode())
        return
    terminal = Console()
    # A file or a pipe has no edge to wrap at.
    console = terminal if terminal.is_terminal else Console(width=10_000)
    table = Table(box=None, pad_edge=False)
    for field in shown.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        table.add_column(
            Text.assemble(printable(field.name), "\n", (type_name(field.type), "dim")),
            justify="right" if number else "left",
        )
    cells = [_cells(shown.column(name)) for name in shown.schema.names]
    for row in zip(*cells, strict=True):
        table.add_row(*map(Text, row))
    with console.capture() as drawn:
        console.print(table)
        if batch.num_rows > most:
            console.print(f"[dim].. {batch.num_rows - most:,} more[/dim]")
    for line in drawn.get().splitlines():
        typer.echo(line.rstrip())


def _cells(column: "pa.Array") -> list[str]:
    """The values as they are written into a CSV file, without quotes; an empty text is told from a null."""
    import pyarrow as pa

    from aurora.engine.sinks.encode import to_csv

    if pa.types.is_string(column.type):
        return [_plain("" if value is None else value or '""') for value in column.to_pylist()]
    lines = to_csv(pa.RecordBatch.from_arrays([column], names=["x"])).decode().splitlines()
    return [_plain(line[1:-1].replace('""', '"') if line.startswith('"') else line) for line in lines]


def _plain(text: str) -> str:
    return printable(text.replace("\n", "⏎"))


def _tell_missing(looks: list["Shown"]) -> None:
    """What is missing in the streams shown, each once, although several of them may lack it."""
    from aurora.cli.summary import count, tell_left_out

    for notice in dict.fromkeys(notice for look in looks for notice in look.notices):
        warn(notice)
    left_out = {box: reasons for look in looks for box, reasons in look.left_out.items()}
    for line in tell_left_out(left_out):
        tell(line, "discards", discarded=left_out)
    rejects = {(name, bad.file, bad.line): bad for look in looks for name, bad in look.rejects}
    if rejects:
        first = next(iter(rejects.values()))
        rows = count(len(rejects), "row", "rows")
        told = f"{rows} could not be read; {first.file}, line {first.line}: {first.reason}"
        warn(told, "rejects", rejected=len(rejects))


def _tell_rejects(sample: "Sample") -> None:
    count = len(sample.rejects)
    if count:
        first = sample.rejects[0]
        lines = "1 line" if count == 1 else f"{count:,} lines"
        warn(f"{lines} cannot be read; line {first.line}: {first.reason}", "rejects", rejected=count)


def _quoted(text: str) -> str:
    return text if all(character.isalnum() or character in "_./:=-,+" for character in text) else f"'{text}'"
