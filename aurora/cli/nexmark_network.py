"""`aurora nexmark network`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["network"]


def network(
    query: Annotated[str, typer.Argument(help="q0 to q22.")],
    profile: Annotated[
        str, typer.Option(help="standard (the suites in use) or draft (the paper).")
    ] = "standard",
    lateness: Annotated[float, typer.Option(help="Seconds by which an event may be late.")] = 4.0,
    dollars_to_euros: Annotated[float, typer.Option(help="q1 and q14: euros for a dollar.")] = 0.908,
    tables: Annotated[
        Path | None, typer.Option(help="q13: a folder that gets side.csv, the table of its join.")
    ] = None,
) -> None:
    """Print a query as a network of boxes, to run it with `aurora run` or to change it.

    Example: aurora nexmark network q5 > hot.yaml
    """
    from aurora.network.text import to_text
    from aurora.nexmark.queries import QUERIES, Rules, query_network
    from aurora.nexmark.tables import write_tables

    rules = Rules(profile, dollars_to_euros, round(lateness * 1000))
    typer.echo(to_text(query_network(query, rules)), nl=False)
    if tables is not None:
        write_tables(QUERIES[query].tables(), tables)
