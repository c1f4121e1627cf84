"""`aurora linear-road validate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.cli.bars import result_console, steps

if TYPE_CHECKING:
    from rich.console import Console

    from aurora.linear_road.validate import Verdict

__all__ = ["show", "validate"]


def show(verdict: "Verdict", console: "Console") -> None:
    """The verdict as a table, then the first faults in words."""
    from rich.table import Table

    from aurora.linear_road.judge import FAULTS

    table = Table()
    for column in ("output", "expected", "given", *FAULTS, "p99 s", "max s"):
        table.add_column(column, justify="left" if column == "output" else "right")
    for name, output in verdict.outputs.items():
        numbers = [f"{getattr(output, column):,}" for column in ("expected", "given", *FAULTS)]
        times = [output.response[key] for key in ("p99", "max")]
        table.add_row(name, *numbers, *("-" if value is None else f"{value:.3f}" for value in times))
    console.print(table)
    for name, output in verdict.outputs.items():
        for fault, lines in output.examples.items():
            console.print(f"{name}, {fault}:", highlight=False)
            for line in lines:
                console.print(f"  {line}", highlight=False, soft_wrap=True)
    if verdict.unreadable:
        console.print(f"unreadable lines in the output: {verdict.unreadable}", highlight=False)
        for line in verdict.unreadable_examples:
            console.print(f"  {line}", highlight=False, soft_wrap=True)
    for note in verdict.notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)


def validate(
    data: Annotated[Path, typer.Option(help="A folder with xway-N.csv files, or one CSV file.")],
    output: Annotated[
        list[Path], typer.Option(help="The CSV file that the system under test wrote; may be repeated.")
    ],
    history: Annotated[
        Path | None, typer.Option(help="The folder with toll_history and segment_history [the data folder].")
    ] = None,
    dialect: Annotated[str, typer.Option(help="native, original or walmart.")] = "native",
    edition: Annotated[str, typer.Option(help="The edition of the rules.")] = "2004",
    replicate: Annotated[int, typer.Option(help="How many copies of each expressway the run got.")] = 1,
    today: Annotated[int, typer.Option(help="The weekday of the simulated day, 1 is Sunday.")] = 2,
    report: Annotated[
        Path | None, typer.Option(help="Where the JSON report goes [beside the output].")
    ] = None,
) -> None:
    """Compare an output with the reference answers; status 1 if anything is wrong.

    Lines of the input that are not tuples go to a rejects file beside the report.

    \b
    Examples:
      aurora linear-road validate --data traffic --output run/output.csv
      aurora linear-road validate --data datafile3hours.dat --dialect original \\
                                  --output out.csv
    """
    from aurora.linear_road import validate as validator
    from aurora.linear_road.reading import check_apart, input_files

    report = report or output[0].with_suffix(".validation.json")
    rejects = report.with_suffix(".rejects.csv")
    for what, path in (("the report", report), ("the file of rejects", rejects)):
        # What is not there is told by the validator.
        check_apart(what, path, [*(input_files(data) if data.exists() else []), *output])
    with steps(5) as step:
        verdict = validator.validate(
            None,
            data,
            output[0],
            also=output[1:],
            history=history,
            dialect=dialect,
            edition=edition,
            replicate=replicate,
            today=today,
            rejects=rejects,
            progress=step,
        )
    verdict.write(report)
    show(verdict, result_console())
    typer.echo(f"{'right' if verdict.right else 'not right'}; report in {report}")
    raise typer.Exit(0 if verdict.right else 1)
