"""`aurora linear-road network`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["network"]


def network(
    history: Annotated[
        Path | None,
        typer.Option(help="The folder with toll_history and segment_history that the network asks."),
    ] = None,
    prepared: Annotated[
        Path, typer.Option(help="Gets the means of the segment history, which travel times need.")
    ] = Path("prepared-history"),
    today: Annotated[int, typer.Option(help="The weekday of the simulated day, 1 is Sunday.")] = 2,
    fused: Annotated[
        bool, typer.Option("--fused", help="Print the network of hand-written kernels instead.")
    ] = False,
) -> None:
    """Print the network of the benchmark in its text form, which aurora run takes.

    Without --history the queries of the past know of no tolls and of no traffic.

    Example: aurora linear-road network --history traffic > linear-road.yaml
    """
    from aurora import Network, to_text
    from aurora.linear_road.fused.queries import fused_linear_road
    from aurora.linear_road.network.prepared import Prepared, prepare
    from aurora.linear_road.network.queries import linear_road

    known = Prepared()
    if history is not None:
        from aurora.linear_road.stored_histories import find_histories

        known = prepare(find_histories(history, history), prepared.absolute(), today, fused=fused)
    made: Network = fused_linear_road(known) if fused else linear_road(known)
    typer.echo(to_text(made), nl=False)
