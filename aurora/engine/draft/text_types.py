"""The types of columns of text: what all values of a sample can be read as."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP
from aurora.engine.sources.text.reasons import Unreadable
from aurora.engine.sources.text.times import read_times

__all__ = ["FEW", "find_odd", "money_type", "type_of_texts"]

WHOLE = r"^[+-]?(?:0|[1-9]\d*)$"
NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
# A number that is to be kept as it is written: 007 is a name.
CODE = r"^[+-]?0\d"
MOMENT = r"^\d{4}-\d\d-\d\d[ T]\d\d"
MONEY = r"^[+-]?\d{1,12}(?:\.\d{1,4})?$"
MONEY_DIGITS = 18
# One odd text among so many is a slip rather than another kind of value.
FEW = 20
DAY = r"^\d{4}-\d\d-\d\d$"


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


def find_odd(texts: Sequence[str]) -> tuple[pa.DataType, list[str]] | None:
    """Return the type of nearly all texts and the few that are of another, if that is so.

    >>> find_odd(["1.5"] * 99 + ["ERR"])
    (DataType(double), ['ERR'])
    >>> find_odd(["1.5"] * 9 + ["ERR"]) is None
    True
    """
    column = pa.array(texts, STRING)
    for pattern in (NUMBER, DAY, MOMENT):
        fits = pc.match_substring_regex(column, pattern)
        odd = column.filter(pc.invert(fits))
        if 0 < len(odd) <= len(column) // FEW:
            kind = type_of_texts(column.filter(fits).to_pylist())
            if kind != STRING:
                return kind, odd.to_pylist()
    return None


def money_type(texts: Sequence[str]) -> pa.DataType | None:
    """Return the decimal type that holds numbers exactly, if they are short enough to be money.

    >>> money_type(["1.50", "12"]), money_type(["1.23456"]) is None
    (Decimal128Type(decimal128(18, 2)), True)
    """
    column = pa.array(texts, STRING)
    if not _all(column, MONEY):
        return None
    return pa.decimal128(MONEY_DIGITS, max(2, *(len(text.partition(".")[2]) for text in texts)))


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
