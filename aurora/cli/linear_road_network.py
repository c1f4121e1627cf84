"""`aurora linear-road network`."""

from typing import Annotated

import typer

from aurora import to_text
from aurora.linear_road.fused.queries import fused_linear_road
from aurora.linear_road.network.queries import linear_road

__all__ = ["network"]


def network(
    fused: Annotated[
        bool, typer.Option("--fused", help="The network with superboxes compiled by hand, not that of boxes.")
    ] = False,
) -> None:
    """Prints the network of the benchmark in its text form; its queries of the past know of no history there.

    Example: aurora linear-road network > linear-road.yaml
    """
    typer.echo(to_text(fused_linear_road() if fused else linear_road()), nl=False)
