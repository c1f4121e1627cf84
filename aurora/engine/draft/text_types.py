"""The types of columns of text: what all values of a sample can be read as."""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP
from aurora.engine.sources.text.parse import read_times
from aurora.engine.sources.text.reasons import Unreadable

__all__ = ["are_read_by", "find_pattern", "swap_days", "type_of_texts"]

WHOLE = r"^[+-]?(?:0|[1-9]\d*)$"
NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
# A number that is to be kept as it is written: 007 is a name.
CODE = r"^[+-]?0\d"
MOMENT = r"^\d{4}-\d\d-\d\d[ T]\d\d"
DAY = r"^\d{4}-\d\d-\d\d$"
# The ways to write times that are tried, the more common ones of those that look alike first.
PATTERNS = (
    "dd.MM.yyyy HH:mm:ss", "dd.MM.yyyy HH:mm", "dd.MM.yyyy", "d.M.yyyy H:mm", "MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy HH:mm",
    "MM/dd/yyyy", "dd/MM/yyyy HH:mm:ss", "dd/MM/yyyy HH:mm", "dd/MM/yyyy", "M/d/yyyy H:mm", "M/d/yyyy h:mm a",
    "yyyy/MM/dd HH:mm:ss", "yyyy/MM/dd HH:mm", "yyyy/MM/dd", "yyyyMMdd HH:mm:ss", "MMM d yyyy HH:mm:ss", "d MMM yyyy",
)  # fmt: skip
ONE = Schema.parse("x string")


def type_of_texts(texts: Sequence[str]) -> pa.DataType:
    """The narrowest type that holds them all; string where there are none.

    >>> type_of_texts(["1", "-20"]), type_of_texts(["1", "2.5"]), type_of_texts(["007", "1"])
    (DataType(int64), DataType(double), DataType(string))
    """
    if not texts:
        return STRING
    column = pa.array(texts, STRING)
    if _all(column, WHOLE) and _fits(column, BIGINT):
        return BIGINT
    if _all(column, NUMBER) and not pc.any(pc.match_substring_regex(column, CODE)).as_py():
        return DOUBLE
    if {text.lower() for text in set(texts)} <= {"true", "false"}:
        return BOOLEAN
    if _all(column, DAY) and _fits(column, DATE):
        return DATE
    if _all(column, MOMENT) and _are_times(column):
        return TIMESTAMP
    return STRING


def find_pattern(texts: Sequence[str]) -> str | None:
    """A pattern by which all of them are times."""
    if not texts or not all(re.search(r"\d", text) for text in texts[:10]):
        return None
    column = pa.array(texts, STRING)
    return next((pattern for pattern in PATTERNS if are_read_by(column, pattern)), None)


def swap_days(pattern: str) -> str | None:
    """The pattern with day and month exchanged, where both are written as numbers between slashes.

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


def _all(column: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(column, pattern)).as_py())


def _fits(column: pa.Array, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _are_times(column: pa.Array) -> bool:
    try:
        read_times(pa.chunked_array([column]), "x")
    except (Unreadable, pa.ArrowException):
        return False
    return True
