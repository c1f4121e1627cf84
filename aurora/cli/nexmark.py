"""`aurora nexmark ...`: the benchmark's tools."""

import typer

from aurora.cli.nexmark_compare import compare
from aurora.cli.nexmark_generate import generate
from aurora.cli.nexmark_run import run
from aurora.cli.nexmark_serve import serve

app = typer.Typer(no_args_is_help=True, help="The NEXMark benchmark, from the firehose to the comparison.")
app.command("generate")(generate)
app.command("serve")(serve)
app.command("run")(run)
app.command("compare")(compare)
