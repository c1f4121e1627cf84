"""`aurora nexmark serve`."""

from typing import Annotated

import typer

from aurora.cli.bars import open_bar
from aurora.cli.nexmark_options import (
    BidStreams,
    Categories,
    Events,
    Late,
    LateBy,
    Profile,
    Rate,
    ScaleLevel,
    Seed,
    asked_for,
)
from aurora.cli.telling import tell
from aurora.errors import AuroraError

__all__ = ["serve"]


def serve(
    to: Annotated[str, typer.Option(help="tcp:HOST:PORT, where it listens.")],
    profile: Profile = "standard",
    events: Events = None,
    seed: Seed = 1,
    scale: ScaleLevel = None,
    rate: Rate = None,
    pace: Annotated[
        str, typer.Option(help="realtime (each event when it is due), or fast (as fast as the client reads).")
    ] = "realtime",
    late: Late = 0.0,
    late_by: LateBy = 3.0,
    bid_streams: BidStreams = None,
    categories: Categories = None,
) -> None:
    """Serve JSON lines to a client at a rate, and report how late they were; without --events, until it disconnects.

    Each of several bid streams has its own port, after that of the other events. The clock starts when all clients have
    connected.

    \b
    Examples:
      aurora nexmark serve --to tcp:127.0.0.1:7000 --rate 50000 --events 1000000
      aurora nexmark serve --to tcp:127.0.0.1:7000 --rate sine:1000..50000:600
    """
    from aurora.nexmark.firehose.serve import serve as run_server
    from aurora.nexmark.firehose.serve import taps_for

    settings, number = asked_for(profile, events, seed, scale, bid_streams, categories, rate, late, late_by)
    if pace not in ("realtime", "fast"):
        raise AuroraError(f"there is no pace {pace!r}: give realtime or fast")
    taps = taps_for(to, settings)

    def ready() -> None:
        ports = ", ".join(f"{tap.port} ({tap.stream})" for tap in taps)
        tell(f"waiting for a client on port {ports}", "waiting")

    with open_bar(percent=False) as bar:
        task = bar.add_task("serving", total=number)
        report = run_server(
            settings,
            number,
            taps,
            paced=pace == "realtime",
            ready=ready,
            progress=lambda done: bar.update(task, completed=done),
        )
    typer.echo(report.summary())
