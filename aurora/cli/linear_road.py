"""`aurora linear-road ...`: the benchmark's tools."""

import typer

from aurora.cli.linear_road_simulate import simulate

app = typer.Typer(no_args_is_help=True, help="The Linear Road benchmark: simulate, history, drive, validate.")
app.command("simulate")(simulate)
