"""Sizes, advances, slacks and timeouts as people write them: 60, 10s, 1h, {value: 10}."""

import math
import re
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa

from aurora.algebra.tuples.types import type_name
from aurora.errors import AuroraError

__all__ = ["distance", "duration", "is_span", "slack"]

MILLISECONDS = {
    "ms": 1, "millisecond": 1, "milliseconds": 1,
    "s": 1000, "sec": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}  # fmt: skip
IN_DAYS = {"week": 7, "month": 30, "quarter": 91, "year": 365}
Amount = TypeVar("Amount", int, float, int | float)
# Milliseconds that fit a timestamp, and by far enough of anything else.
LARGEST = (1 << 63) // 1000 - 1
DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def duration(text: Any, where: str) -> int:
    """Milliseconds: `5s`, `250ms`, `1.5h`."""
    found = _duration(text)
    if found is None:
        raise AuroraError(
            f"{where}: '{text}' is not a span of time; write for example 5s, 250ms or 1h{_in_days(text)}"
        )
    return _bounded(found, text, where)


def is_span(text: Any) -> bool:
    return _duration(text) is not None


def _in_days(text: Any) -> str:
    """Return how a span is written that is in units without a length of their own, or in weeks."""
    match = DURATION.fullmatch(text) if isinstance(text, str) else None
    for unit, days in IN_DAYS.items():
        if match is not None and match[2].removesuffix("s") == unit:
            return f"; a {unit} is written in days, such as {days}d"
    return ""


def _duration(text: Any) -> int | None:
    match = DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in MILLISECONDS:
        return None
    return round(Decimal(match[1]) * MILLISECONDS[match[2]])


def _bounded(amount: Amount, given: Any, where: str) -> Amount:
    if abs(amount) > LARGEST:
        raise AuroraError(f"{where}: '{given}' is too large")
    return amount


def distance(amount: Any, kind: pa.DataType, where: str) -> int | float:
    """A distance between two values of an order field, in its own unit (microseconds, days)."""
    span = _duration(amount)
    if pa.types.is_timestamp(kind):
        if span is None:
            raise AuroraError(
                f"{where}: '{amount}' on a timestamp; write a span of time such as 60s{_in_days(amount)}"
            )
        return _bounded(span, amount, where) * 1000
    if pa.types.is_date(kind):
        if span is not None and span % MILLISECONDS["d"]:
            raise AuroraError(f"{where}: '{amount}' on a date; write whole days such as 1d")
        if span is not None:
            return _bounded(span, amount, where) // MILLISECONDS["d"]
        if isinstance(amount, str):
            raise AuroraError(f"{where}: '{amount}' on a date; write whole days such as 1d{_in_days(amount)}")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not math.isfinite(amount):
        raise AuroraError(f"{where}: '{amount}' on a field of type {type_name(kind)}; write a number")
    return _bounded(amount, amount, where)


def slack(given: Any, kind: pa.DataType, where: str) -> tuple[int, int | float | None]:
    """(number of tuples, None) or (0, distance): a number counts tuples, a span or {value: x} measures distance."""
    if isinstance(given, dict):
        if set(given) != {"value"}:
            raise AuroraError(f"{where}: slack is a number of tuples, a span such as 10s, or {{value: 10}}")
        span = distance(given["value"], kind, where)
        if span < 0 or (span != int(span) and not pa.types.is_floating(kind)):
            what = "number" if pa.types.is_floating(kind) else "whole number"
            raise AuroraError(f"{where}: slack {{value: {given['value']}}}: write a {what} of 0 or more")
        return 0, span
    if isinstance(given, str):
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            raise AuroraError(
                f"{where}: slack '{given}' on a field of type {type_name(kind)}; write {{value: 10}} for a distance"
            )
        return 0, distance(given, kind, where)
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise AuroraError(f"{where}: slack '{given}' is not a number of tuples; write 0, 1, 2, ..")
    return _bounded(given, given, where), None
