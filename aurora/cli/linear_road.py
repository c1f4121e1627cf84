"""`aurora linear-road ...`: the benchmark's tools."""

import typer

from aurora.cli.linear_road_compare import compare
from aurora.cli.linear_road_demo import demo
from aurora.cli.linear_road_drive import drive
from aurora.cli.linear_road_history import history
from aurora.cli.linear_road_rate import rate
from aurora.cli.linear_road_run import run
from aurora.cli.linear_road_simulate import simulate
from aurora.cli.linear_road_validate import validate

app = typer.Typer(no_args_is_help=True, help="The Linear Road benchmark, from traffic to rating.")
app.command("demo")(demo)
app.command("simulate")(simulate)
app.command("history")(history)
app.command("drive")(drive)
app.command("run")(run)
app.command("validate")(validate)
app.command("rate")(rate)
app.command("compare")(compare)
