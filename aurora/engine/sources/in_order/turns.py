"""The turns that inputs take in a batch, where some of them are merged and take one together."""

from collections.abc import Mapping
from typing import Any

from aurora.engine.sources.source import Cursor, Source

__all__ = ["count_turns", "find_room", "find_stopping"]


def _merged(source: Source) -> Any:
    """Return what a source is merged with, None for a source by itself; asked so that nothing more is loaded."""
    return getattr(source, "merged", None)


def count_turns(sources: Mapping[str, Source], moved: Mapping[str, int]) -> int:
    """Return how many turns the inputs take that move by so many rows."""
    together = sum(rows for name, rows in moved.items() if _merged(sources[name]) is not None)
    return max(together, *moved.values())


def find_room(
    sources: Mapping[str, Source], name: str, places: Mapping[str, Cursor], limits: Mapping[str, int]
) -> int | None:
    """Return how many rows an input may advance if it stops at a limit; those that are merged stop together."""
    merged = _merged(sources[name])
    names = [name] if merged is None else merged.names
    found = [limits[each] - int(places[each]["row"]) for each in names if each in limits]
    return sum(found) if found else None


def find_stopping(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the sources with limits in a run that takes what there is now: live ones, and those merged with one."""
    held = any(_merged(source) is not None and source.live for source in sources.values())
    return {
        name: source
        for name, source in sources.items()
        if source.live or (held and _merged(source) is not None)
    }
