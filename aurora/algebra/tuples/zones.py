"""Time zones by name: from UTC to what the clocks of a place show, and back, as Java and so Spark do it."""

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from aurora.errors import did_you_mean

__all__ = ["Zone", "find_zone", "near_zones"]

Ints = npt.NDArray[np.int64]

SECOND = 1_000_000
DAY = 86_400 * SECOND
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# The calendar, days of the week included, comes again after so many years; rules go on for ever.
CYCLE = 400
CYCLE_DAYS = 146_097
# Before this year no clock was changed, and Python knows no year behind the last.
FIRST, LAST = 1800, 9600
# Java's names for places, from when they were short.
SHORT = {
    "EST": "-05:00", "MST": "-07:00", "HST": "-10:00", "ACT": "Australia/Darwin", "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo", "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+")
OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})|(\d{1,2}):(\d{1,2})(?::(\d\d))?|(\d\d)(\d\d)(\d\d)?)")
FARTHEST = 18 * 3600
# Files of the database that are no place.
NO_PLACES = ("posix", "right/", "Factory", "localtime")


@dataclass(frozen=True)
class Zone:
    """A place, or an offset of so many seconds. Moments are microseconds since 1970, in UTC or as its clocks show."""

    name: str
    fixed: int | None = None

    def to_local(self, moments: Ints) -> Ints:
        """Return what the clocks show at these moments.

        >>> berlin = find_zone("Europe/Berlin")
        >>> int(berlin.to_local(np.array([0]))[0]) // 3_600_000_000
        1
        """
        if self.fixed is not None:
            return moments + self.fixed * SECOND
        starts, offsets = self.find_offsets(moments)
        return moments + offsets[np.searchsorted(starts, moments, side="right") - 1]

    def to_utc(self, shown: Ints) -> Ints:
        """Return when the clocks show this, of two moments the first.

        A time that they leave out is as far behind the change as if there had been none.
        """
        if self.fixed is not None:
            return shown - self.fixed * SECOND
        starts, offsets = self.find_offsets(shown)
        changed = starts[1:] + np.maximum(offsets[1:], offsets[:-1])
        return shown - offsets[np.searchsorted(changed, shown, side="right")]

    def find_offsets(self, moments: Ints) -> tuple[Ints, Ints]:
        """Return from when on the clocks are how far ahead of UTC, for all moments less than a year from one of these.

        The first of all offsets holds before the first start, too.
        """
        years = np.unique(moments.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)) + 1970
        years = np.unique(np.concatenate([years - 1, years, years + 1]))
        parts = [_offsets_of_year(self.name, year) for year in years.tolist()]
        if not parts:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        starts, offsets = (np.concatenate(column) for column in zip(*parts, strict=True))
        return starts, offsets

    @cached_property
    def rules(self) -> zoneinfo.ZoneInfo:
        return zoneinfo.ZoneInfo(self.name)


@lru_cache(maxsize=512)
def find_zone(text: str) -> Zone | None:
    """Return the zone that Spark finds by this name; None where it finds none.

    >>> find_zone("+02:30").fixed, find_zone("PST").name, find_zone("europe/berlin")
    (9000, 'America/Los_Angeles', None)
    """
    text = SHORT.get(text, text)
    if text in ("Z", "UTC", "GMT", "UT"):
        return Zone(text, 0)
    offset = OFFSET.fullmatch(text)
    if offset is not None:
        sign, *parts = offset.groups()
        hours, minutes, seconds = (
            int(next((part for part in some if part), 0))
            for some in ((parts[0], parts[1], parts[4]), (parts[2], parts[5]), (parts[3], parts[6]))
        )
        ahead = hours * 3600 + minutes * 60 + seconds
        if minutes > 59 or seconds > 59 or ahead > FARTHEST:
            return None
        return Zone(text, -ahead if sign == "-" else ahead)
    if REGION.fullmatch(text) is None or text.startswith(NO_PLACES):
        return None
    zone = Zone(text)
    try:
        found = zone.rules
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
    return zone if found.key == text else None


def near_zones(text: str) -> str:
    """Return a hint with a name that the text may mean, or none."""
    # Of hundreds of names none would be looked for.
    near = (name for name in sorted(zoneinfo.available_timezones()) if name[:1].lower() == text[:1].lower())
    return did_you_mean(text, near)


@lru_cache(maxsize=4096)
def _offsets_of_year(name: str, year: int) -> tuple[Ints, Ints]:
    """Return the offset with which a year begins, and those that follow in it, each with its moment."""
    cycles = max(-(-(year - LAST) // CYCLE), 0)
    alike = max(year - cycles * CYCLE, FIRST)
    rules = Zone(name).rules
    first = int(dt.datetime(alike, 1, 1, tzinfo=dt.UTC).timestamp())
    past = int(dt.datetime(alike + 1, 1, 1, tzinfo=dt.UTC).timestamp())
    starts, offsets = [first], [_offset(rules, first)]
    # What is changed twice in a day no clock shows.
    for day in range(first, past, 86_400) if year >= FIRST else ():
        after = _offset(rules, day + 86_400)
        if after == offsets[-1]:
            continue
        low, high = day, day + 86_400
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(rules, middle) == offsets[-1] else (low, middle)
        if high < past:
            starts.append(high)
            offsets.append(after)
    begins = (
        (np.datetime64(0, "Y") + np.timedelta64(year - 1970, "Y")).astype("datetime64[s]").astype(np.int64)
    )
    return (np.array(starts) - first + int(begins)) * SECOND, np.array(offsets) * SECOND


def _offset(rules: zoneinfo.ZoneInfo, second: int) -> int:
    shown = (EPOCH + dt.timedelta(seconds=second)).astimezone(rules).utcoffset()
    assert shown is not None
    return int(shown.total_seconds())
