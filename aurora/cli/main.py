"""The command `aurora`."""

import sys

import typer

from aurora.cli import linear_road, networks, nexmark, prepare
from aurora.errors import AuroraError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Aurora on Spark: a stream data manager, with the benchmarks that measure one.",
)
app.command("run")(networks.run_network)
app.command("check")(networks.check)
app.command("explain")(networks.explain)
app.command("prepare")(prepare.prepare_machine)
app.add_typer(linear_road.app, name="linear-road")
app.add_typer(nexmark.app, name="nexmark")


def main() -> None:
    """Runs a command; a fault the user can mend is one line on stderr and status 1, an interrupt status 130."""
    try:
        app(standalone_mode=True)
    except AuroraError as fault:
        print(f"error: {fault}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
