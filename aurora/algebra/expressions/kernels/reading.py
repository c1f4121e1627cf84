"""Text as values: what Spark accepts in a cast, null for the rest."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS
from aurora.algebra.expressions.kernels.columns import Kernel, Value, column
from aurora.algebra.expressions.kernels.zones import in_each_zone
from aurora.algebra.tuples.types import BIGINT, BOOLEAN, DATE, STRING, TIMESTAMP
from aurora.algebra.tuples.zones import Zone

__all__ = ["reader", "trimmed", "within"]

BLANKS = "".join(map(chr, (*range(0x21), *range(0x7F, 0xA0))))
TRUE_WORDS = ["t", "true", "y", "yes", "1"]
FALSE_WORDS = ["f", "false", "n", "no", "0"]
PLAIN = r"^-?\d{1,18}$"
WHOLE = r"^(?P<sign>[+-]?)(?P<digits>\d*)(?P<rest>\.\d*)?$"
FRACTION = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?$"
DAY_PATTERN = r"(?P<year>[+-]?\d{4,7})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
DATE_PATTERN = rf"^{DAY_PATTERN}(?:[ T].*)?)?)?$"
TIMESTAMP_PATTERN = (
    rf"^{DAY_PATTERN}(?:[ T](?P<hour>\d{{1,2}})(?::(?P<minute>\d{{1,2}})(?::(?P<second>\d{{1,2}})"
    r"(?:\.(?P<fraction>\d*))?(?P<zone>[\x00-\x20A-Za-z+-].*)?)?)?)?)?)?$"
)


def reader(target: pa.DataType) -> Kernel:
    if target in INTEGERS:
        return lambda value: whole_numbers(trimmed(value), target)
    if target in FRACTIONS:
        return lambda value: fractions(trimmed(value), target)
    if target == BOOLEAN:
        return lambda value: booleans(trimmed(value))
    if target == DATE:
        return lambda value: dates(trimmed(value))
    return lambda value: timestamps(trimmed(value))


def trimmed(value: Value) -> Any:
    return pc.utf8_trim(value, characters=BLANKS)


def booleans(words: pa.Array) -> pa.Array:
    lower = pc.utf8_lower(words)
    # Arrays are made here: Arrow loads pandas for the first one, and not every process needs any.
    true, false = (pc.is_in(lower, value_set=pa.array(chosen)) for chosen in (TRUE_WORDS, FALSE_WORDS))
    return pc.if_else(pc.or_(true, false), true, pa.scalar(None, BOOLEAN))


def whole_numbers(words: pa.Array, target: pa.DataType) -> pa.Array:
    if pc.all(pc.match_substring_regex(words, PLAIN), min_count=0).as_py():
        plain = pc.cast(words, BIGINT)
        return plain if target == BIGINT else within(plain, target)
    parts = pc.extract_regex(words, pattern=WHOLE)
    found = pc.and_(pc.is_valid(parts), pc.match_substring_regex(words, r"[\d.]"))
    negative = pc.equal(pc.struct_field(parts, "sign"), "-")
    digits = pc.utf8_ltrim(pc.struct_field(parts, "digits"), characters="0")
    length = pc.utf8_length(digits)
    # Nineteen digits can be too many for a bigint: as texts of one length they compare like numbers.
    limit = pc.if_else(pc.fill_null(negative, False), "9223372036854775808", "9223372036854775807")
    fits = pc.or_(pc.less(length, 19), pc.and_(pc.equal(length, 19), pc.less_equal(digits, limit)))
    valid = pc.fill_null(pc.and_(found, fits), False)
    safe = pc.if_else(pc.and_kleene(valid, pc.greater(length, 0)), digits, "0")
    magnitude = pc.cast(safe, pa.uint64()).to_numpy(zero_copy_only=False)
    minus = pc.fill_null(negative, False).to_numpy(zero_copy_only=False)
    numbers = np.where(minus, np.uint64(0) - magnitude, magnitude).astype(np.int64)
    limits = np.iinfo(target.to_pandas_dtype())
    inside = valid.to_numpy(zero_copy_only=False) & (numbers >= limits.min) & (numbers <= limits.max)
    return column(numbers.astype(target.to_pandas_dtype()), ~inside, target)


def within(numbers: pa.Array, target: pa.DataType) -> pa.Array:
    inside = pc.equal(pc.cast(pc.cast(numbers, target, safe=False), BIGINT), numbers)
    return pc.cast(pc.if_else(inside, numbers, pa.scalar(None, BIGINT)), target)


def fractions(words: pa.Array, target: pa.DataType) -> pa.Array:
    lower = pc.ascii_lower(words)
    plain = pc.match_substring_regex(words, FRACTION)
    texts = pc.utf8_ltrim(pc.utf8_rtrim(lower, characters="df"), characters="+")
    result = pc.cast(pc.if_else(plain, texts, pa.scalar(None, STRING)), target)
    for pattern, number in ((r"^\+?inf(inity)?$", np.inf), (r"^-inf(inity)?$", -np.inf), (r"^nan$", np.nan)):
        special = pc.fill_null(pc.match_substring_regex(lower, pattern), False)
        result = pc.if_else(special, pa.scalar(number, target), result)
    return result


def numbers_of(parts: pa.Array, name: str, default: int) -> Any:
    texts = pc.struct_field(parts, name)
    texts = pc.if_else(pc.equal(pc.fill_null(pc.utf8_length(texts), 0), 0), str(default), texts)
    texts = pc.utf8_ltrim(texts, characters="+")
    return pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)


def days_of(parts: pa.Array) -> tuple[Any, Any]:
    """Days since 1970 of the year, month and day that were found, and whether there is such a day."""
    year, month, day = (
        numbers_of(parts, name, default) for name, default in (("year", 1970), ("month", 1), ("day", 1))
    )
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    start = months.astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[D]").astype(np.int64)
    real = (month >= 1) & (month <= 12) & (day >= 1) & (day <= following - start)
    return start + day - 1, real & pc.is_valid(parts).to_numpy(zero_copy_only=False)


def dates(words: pa.Array) -> pa.Array:
    days, real = days_of(pc.extract_regex(words, pattern=DATE_PATTERN))
    return column(days, ~real, DATE)


def timestamps(words: pa.Array) -> pa.Array:
    parts = pc.extract_regex(words, pattern=TIMESTAMP_PATTERN)
    days, real = days_of(parts)
    hour, minute, second = (numbers_of(parts, name, 0) for name in ("hour", "minute", "second"))
    real &= (hour < 24) & (minute < 60) & (second < 60)
    fraction = pc.fill_null(pc.struct_field(parts, "fraction"), "")
    micros = pc.cast(pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, 6, padding="0"), 0, 6), pa.int64())
    minutes = (days * 24 + hour) * 60 + minute
    result = (minutes * 60 + second) * 1_000_000 + micros.to_numpy(zero_copy_only=False)
    zone = pc.fill_null(pc.struct_field(parts, "zone"), "")
    if pc.any(pc.not_equal(zone, "")).as_py():
        zone = pc.utf8_trim(pc.if_else(pc.equal(zone, ""), "UTC", zone), characters=BLANKS)
        result, unknown = in_each_zone(Zone.to_utc, np.where(real, result, 0), zone)
        real &= ~unknown
    return column(result, ~real, TIMESTAMP)
