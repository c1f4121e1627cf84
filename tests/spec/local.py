"""Windows by the clocks of a place, found by looking at the clocks every quarter of an hour."""

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

__all__ = ["HOUR", "end_of", "shown", "starts_of"]

HOUR = 3_600_000_000
QUARTER = HOUR // 4
# The clocks are less than that away from UTC, also on a day that comes twice or never.
AWAY = 39 * HOUR
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def shown(zone: str, moment: int) -> int:
    """What the clocks show, in microseconds."""
    local = (EPOCH + dt.timedelta(microseconds=moment)).astimezone(ZoneInfo(zone))
    return (local.replace(tzinfo=dt.UTC) - EPOCH) // dt.timedelta(microseconds=1)


@cache
def first_shown(zone: str, wanted: int) -> int:
    """When the clocks first show this, or more."""
    return next(
        moment for moment in range(wanted - AWAY, wanted + AWAY, QUARTER) if shown(zone, moment) >= wanted
    )


def starts_of(zone: str, size: int, advance: int, value: int) -> list[int]:
    """The windows that hold the value; of those that begin together only the last is there."""
    found = []
    for number in range((value - AWAY - size) // advance, (value + AWAY) // advance + 1):
        start, end, following = (first_shown(zone, number * advance + more) for more in (0, size, advance))
        if start <= value < end and start < following:
            found.append(start)
    return found


@cache
def end_of(zone: str, size: int, advance: int, start: int) -> int:
    """Where the window ends that begins there."""
    number = next(
        number
        for number in range((start + AWAY) // advance, (start - AWAY) // advance - 1, -1)
        if first_shown(zone, number * advance) == start
    )
    return first_shown(zone, number * advance + size)
