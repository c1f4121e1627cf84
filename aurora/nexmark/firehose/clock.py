"""Times as text."""

from typing import Any

from aurora.nexmark.firehose.kernel import kernel

__all__ = ["put_time"]

DAY = 86_400_000


@kernel
def _put_two(out: Any, at: Any, value: Any, before: Any) -> Any:
    out[at], out[at + 1], out[at + 2] = before, 48 + value // 10, 48 + value % 10
    return at + 3


@kernel
def put_time(out: Any, at: Any, milliseconds: Any) -> Any:
    """YYYY-MM-DD HH:MM:SS.mmm, in UTC."""
    # The calendar of 400 years, counted from a first of March.
    days = milliseconds // DAY + 719_468
    era, day = days // 146_097, days % 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    year += era * 400 + (1 if month >= 10 else 0)
    month += -9 if month >= 10 else 3
    rest = milliseconds % DAY
    out[at], out[at + 1] = 48 + year // 1000, 48 + year // 100 % 10
    at = _put_two(out, at + 1, year % 100, out[at + 1])
    at = _put_two(out, at, month, 45)
    at = _put_two(out, at, day, 45)
    at = _put_two(out, at, rest // 3_600_000, 32)
    at = _put_two(out, at, rest // 60_000 % 60, 58)
    at = _put_two(out, at, rest // 1000 % 60, 58)
    out[at], out[at + 1] = 46, 48 + rest // 100 % 10
    out[at + 2], out[at + 3] = 48 + rest // 10 % 10, 48 + rest % 10
    return at + 4
