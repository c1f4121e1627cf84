"""The options that `generate` and `serve` share: what the events are."""

from typing import TYPE_CHECKING, Annotated

import typer

from aurora.errors import AuroraError

if TYPE_CHECKING:
    from aurora.nexmark.firehose import Settings

__all__ = [
    "BidStreams",
    "Categories",
    "Events",
    "Late",
    "LateBy",
    "Profile",
    "Rate",
    "ScaleLevel",
    "Seed",
    "asked_for",
]

Profile = Annotated[str, typer.Option(help="standard (the suites in use) or draft (the paper).")]
Events = Annotated[int | None, typer.Option(help="How many events; with --scale those of its duration.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bytes.")]
ScaleLevel = Annotated[
    str | None,
    typer.Option(
        "--scale",
        help="small, medium or large: the rate and the events, in the draft also bid streams and categories.",
    ),
]
BidStreams = Annotated[int | None, typer.Option(help="draft: the number of bid streams [1].")]
Categories = Annotated[int | None, typer.Option(help="draft: the size of the static file [300].")]
Rate = Annotated[
    str | None,
    typer.Option(help="Events/s [10000], sine:LOW..HIGH:SECONDS or steps:RATE,RATE,..:SECONDS."),
]
Late = Annotated[float, typer.Option(help="The share of the events that come late.")]
LateBy = Annotated[float, typer.Option(help="The largest delay of late events, in seconds.")]


def asked_for(
    profile: str,
    events: int | None,
    seed: int,
    scale: str | None,
    bid_streams: int | None,
    categories: int | None,
    rate: str | None,
    late: float,
    late_by: float,
) -> "tuple[Settings, int | None]":
    """The settings and the number of events; what is given goes before what the scale says."""
    from aurora.nexmark.firehose import SCALES, Pace, Settings

    given: dict[str, object] = {"profile": profile, "seed": seed, "late": late, "late_by": late_by}
    if scale is not None:
        if scale not in SCALES:
            raise AuroraError(f"there is no scale {scale!r}: give {', '.join(SCALES)}")
        level = SCALES[scale]
        given["pace"] = level.pace(profile)
        if profile == "draft":
            given |= {"bid_streams": level.bid_streams, "categories": level.categories}
        events = level.events(profile) if events is None else events
    if rate is not None:
        given["pace"] = Pace.parse(rate)
    if bid_streams is not None:
        given["bid_streams"] = bid_streams
    if categories is not None:
        given["categories"] = categories
    return Settings(**given), events  # type: ignore[arg-type]
