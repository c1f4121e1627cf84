"""`aurora linear-road network`."""

from typing import Annotated

import typer

__all__ = ["network"]


def network(
    fused: Annotated[
        bool, typer.Option("--fused", help="Print the network of hand-written kernels instead.")
    ] = False,
) -> None:
    """Print the network of the benchmark in its text form, without the history.

    Example: aurora linear-road network > linear-road.yaml
    """
    from aurora import to_text

    if fused:
        from aurora.linear_road.fused.queries import fused_linear_road as make
    else:
        from aurora.linear_road.network.queries import linear_road as make
    typer.echo(to_text(make()), nl=False)
