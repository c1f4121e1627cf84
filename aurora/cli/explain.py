"""`aurora explain`: what a network is, how it would run, how it does, and what its outputs are worth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aurora.characters import printable
from aurora.cli.bindings import Parameters
from aurora.cli.networks import AllowedFiles, look_into
from aurora.errors import AuroraError

if TYPE_CHECKING:
    from aurora.network.network import Network

__all__ = ["explain"]


def explain(
    network: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NETWORK]", help="A network file or module:function; with --home not needed."
        ),
    ] = None,
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Also show Spark's plan (starts Spark).")
    ] = True,
    home: Annotated[
        Path | None, typer.Option(help="The home of a network: show it with its figures instead.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the QoS graphs of the outputs into this .png or .svg instead.")
    ] = None,
    parameters: Parameters = None,
    allow_file: AllowedFiles = None,
) -> None:
    """Show a network, the stages into which its boxes are fused, and Spark's plan.

    With --home it shows the network that runs or has run there, with its figures: tuples per second, what each box
    costs and gives, and what belongs to no box.

    \b
    Examples:
      aurora explain border.yaml
      aurora explain border.yaml --no-spark
      aurora explain --home border-home
      aurora explain border.yaml --plot graphs.png
    """
    read = None if network is None else look_into(network, allow_file, parameters)
    if plot is not None:
        from aurora.cli.qos_plot import plot_graphs

        plot_graphs(_given(read, "--plot"), plot)
    if home is not None:
        from aurora.adapt.drawing import describe_arcs, draw_figures
        from aurora.history.home import Home
        from aurora.history.last_status import find_status

        place = Home.of(home)
        place.check_there()
        drawn = place.read_network() if read is None else describe_arcs(read)
        if drawn is None and place.is_starting:
            raise place.fault_of_start()
        if drawn is None:
            raise AuroraError(
                f"the home does not record its network yet; name it: aurora explain NETWORK --home {home}"
            )
        typer.echo(printable(draw_figures(drawn, find_status(place))))
    if plot is not None or home is not None:
        return
    from aurora.cli.telling import warn
    from aurora.engine.plan.explain import describe_network, describe_stages
    from aurora.engine.plan.plan import plan_network
    from aurora.network.asof_races import find_races

    given = _given(read, "aurora explain")
    plan = plan_network(given)
    typer.echo(printable(describe_network(given)))
    typer.echo(printable(describe_stages(plan)))
    for race in find_races(given):
        warn(race.describe(known=False))
    if spark:
        from aurora.engine.query import explain_plan

        typer.echo(printable(explain_plan(plan)))


def _given(network: "Network | None", what: str) -> "Network":
    if network is None:
        raise AuroraError(f"{what} needs a network: aurora explain NETWORK")
    return network
