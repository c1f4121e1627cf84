"""`aurora linear-road ...`: the benchmark's tools."""

import typer

app = typer.Typer(no_args_is_help=True, help="The Linear Road benchmark: simulate, history, drive, validate.")
