"""Patterns by which texts are times: the usual ones, and which of them fits."""

import re
from collections.abc import Sequence

import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import STRING

__all__ = ["PATTERNS", "are_read_by", "find_pattern", "has_hours", "swap_days"]

# The ways to write times that are tried, the more common ones of those that look alike first.
PATTERNS = (
    "dd.MM.yyyy HH:mm:ss", "dd.MM.yyyy HH:mm", "dd.MM.yyyy", "d.M.yyyy H:mm:ss", "d.M.yyyy H:mm", "d.M.yyyy",
    "MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy HH:mm", "MM/dd/yyyy", "dd/MM/yyyy HH:mm:ss", "dd/MM/yyyy HH:mm", "dd/MM/yyyy",
    "M/d/yyyy H:mm:ss", "M/d/yyyy H:mm", "M/d/yyyy h:mm:ss a", "M/d/yyyy h:mm a", "M/d/yyyy",
    "yyyy/MM/dd HH:mm:ss", "yyyy/MM/dd HH:mm", "yyyy/MM/dd", "yyyyMMdd HH:mm:ss", "MMM d yyyy HH:mm:ss", "d MMM yyyy",
)  # fmt: skip
ONE = Schema.parse("x string")


def find_pattern(texts: Sequence[str]) -> str | None:
    """Return a pattern by which all of them are times, if there is one."""
    if not texts or not all(re.search(r"\d", text) for text in texts[:10]):
        return None
    column = pa.array(texts, STRING)
    return next((pattern for pattern in PATTERNS if are_read_by(column, pattern)), None)


def swap_days(pattern: str) -> str | None:
    """Return the pattern with day and month exchanged, where both are written as numbers between slashes.

    >>> swap_days("MM/dd/yyyy HH:mm"), swap_days("dd.MM.yyyy")
    ('dd/MM/yyyy HH:mm', None)
    """
    for first, second in (("MM/dd/", "dd/MM/"), ("M/d/", "d/M/")):
        if pattern.startswith(first):
            return second + pattern.removeprefix(first)
    return None


def are_read_by(texts: pa.Array, pattern: str) -> bool:
    """Whether all texts are times by a pattern."""
    read = Expression.parse(f"to_timestamp(x, '{pattern}')", ONE).evaluate(pa.record_batch({"x": texts}))
    return bool(read.null_count == texts.null_count)


def has_hours(pattern: str) -> bool:
    """Whether a pattern tells more than a day."""
    return "h" in pattern.lower()
