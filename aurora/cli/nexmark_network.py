"""`aurora nexmark network`."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["network"]


def network(
    query: Annotated[str, typer.Argument(help="q0 to q22.")],
    data: Annotated[
        Path | None, typer.Option(help="A folder of events, which says the profile and the lateness.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="standard or draft; default: that of --data, or standard.")
    ] = None,
    lateness: Annotated[
        float | None,
        typer.Option(help="Seconds by which an event may be late; default: that of --data, or 4."),
    ] = None,
    dollars_to_euros: Annotated[float, typer.Option(help="q1 and q14: euros for a dollar.")] = 0.908,
    tables: Annotated[
        Path | None, typer.Option(help="q13: a folder that gets side.csv, the table of its join.")
    ] = None,
) -> None:
    """Print a query as a network of boxes, to run it with `aurora run` or to change it.

    Example: aurora nexmark network q5 --data auctions > hot.yaml
    """
    from aurora.network.text import to_text
    from aurora.nexmark.data import EventFolder
    from aurora.nexmark.queries import QUERIES, Rules, query_network
    from aurora.nexmark.tables import write_tables

    rules = Rules() if data is None else EventFolder.of(data).rules
    rules = rules.but(profile, lateness, dollars_to_euros)
    typer.echo(to_text(query_network(query, rules)), nl=False)
    if tables is not None:
        write_tables(QUERIES[query].tables(), tables)
