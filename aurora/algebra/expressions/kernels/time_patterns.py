"""Times written and read by a pattern, all of a column at once."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions.kernels.columns import Kernel, Maker, Value, column, plain
from aurora.algebra.expressions.kernels.far_years import bring_near, padded, year_text
from aurora.algebra.expressions.kernels.reading import days_of, numbers_of
from aurora.algebra.expressions.kernels.text import constant
from aurora.algebra.expressions.time_patterns import Letters, read_pattern, regular_expression
from aurora.algebra.expressions.tree import Call
from aurora.algebra.tuples.types import STRING, TIMESTAMP

__all__ = ["KERNELS"]

LOCAL = pa.timestamp("us")
SECOND, DAY = 1_000_000, 86_400_000_000
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def date_format(node: Call) -> Kernel:
    parts = read_pattern(constant(node, 1))

    def kernel(value: Value, _: Value) -> pa.Array:
        pieces = [part if isinstance(part, str) else written(part, value) for part in parts]
        # Text alone says nothing of the nulls.
        first = pc.if_else(pc.is_null(value), pa.scalar(None, STRING), "")
        return pc.binary_join_element_wise(first, *pieces, "")

    return kernel


def written(part: Letters, value: pa.Array) -> pa.Array:
    near, taken = bring_near(value)
    local = near.view(LOCAL)
    letter, count = part.letter, part.count
    if letter == "y":
        years = pc.year(local)
        return year_text(years if taken is None else pc.add(years, pa.array(taken)), count)
    if letter == "M" and count > 2:
        return named(MONTHS, count == 4, pc.subtract(pc.month(local), 1))
    if letter == "E":
        return named(DAYS, count == 4, pc.day_of_week(local))
    if letter == "S":
        micros = np.mod(plain(value), SECOND) * 1000
        return pc.utf8_slice_codeunits(padded(pa.array(micros), 9), 0, count)
    if letter in "XxZ":
        return zone(letter, count)
    hour = pc.hour(local)
    if letter == "a":
        return pc.if_else(pc.less(hour, 12), "AM", "PM")
    numbers = {
        "M": pc.month, "d": pc.day, "D": pc.day_of_year, "m": pc.minute, "s": pc.second,
    }  # fmt: skip
    if letter in numbers:
        return padded(numbers[letter](local), count)
    hours = np.asarray(pc.fill_null(hour, 0))
    of_day = {"H": hours, "k": (hours + 23) % 24 + 1, "K": hours % 12, "h": (hours + 11) % 12 + 1}
    return padded(pa.array(of_day[letter]), count)


def named(names: list[str], whole: bool, place: pa.Array) -> pa.Array:
    return pa.array(names if whole else [name[:3] for name in names]).take(place)


def zone(letter: str, count: int) -> str:
    if letter == "Z":
        return "+0000"
    return "Z" if letter == "X" else {1: "+00", 2: "+0000", 3: "+00:00"}[count]


def to_timestamp(node: Call) -> Kernel:
    parts = read_pattern(constant(node, 1), to_read=True)
    pattern = regular_expression(parts)
    letters = {part.letter: part.count for part in parts if isinstance(part, Letters)}

    def kernel(value: Value, _: Value) -> pa.Array:
        if not letters:
            return pa.nulls(len(value), TIMESTAMP)
        found = pc.extract_regex(value, pattern=pattern)
        return moments(found, letters)

    return kernel


def moments(found: pa.Array, letters: dict[str, int]) -> pa.Array:
    """The moments of what was found; null where there is no such moment."""
    fields = {field.name: pc.struct_field(found, field.name) for field in found.type}
    rows = len(found)
    if letters.get("y") == 2:
        fields["year"] = pc.binary_join_element_wise("20", fields["year"], "")
    if letters.get("M", 0) > 2:
        short = pc.utf8_slice_codeunits(pc.ascii_lower(fields["month"]), 0, 3)
        names = pa.array([name[:3].lower() for name in MONTHS])
        fields["month"] = pc.cast(pc.add(pc.index_in(short, value_set=names), 1), STRING)
    for name in ("year", "month", "day", "hour", "minute", "second", "fraction", "zone", "half"):
        fields.setdefault(name, pa.nulls(rows, STRING))
    missing = pc.is_null(found)
    parts = pa.StructArray.from_arrays(list(fields.values()), names=list(fields), mask=missing)
    days, real = days_of(parts)
    hour, minute, second = (numbers_of(parts, name, 0) for name in ("hour", "minute", "second"))
    if "h" in letters:
        half = pc.equal(pc.ascii_lower(pc.fill_null(fields["half"], "am")), "pm").to_numpy(
            zero_copy_only=False
        )
        real &= (hour >= 1) & (hour <= 12)
        hour = hour % 12 + 12 * half
    real &= (hour < 24) & (minute < 60) & (second < 60)
    fraction = pc.utf8_slice_codeunits(
        pc.utf8_rpad(pc.fill_null(fields["fraction"], ""), 6, padding="0"), 0, 6
    )
    ahead, sane = offsets(pc.fill_null(fields["zone"], ""))
    seconds = ((days * 24 + hour) * 60 + minute - ahead) * 60 + second
    micros = pc.cast(fraction, pa.int64()).to_numpy(zero_copy_only=False)
    return column(seconds * SECOND + micros, ~(real & sane), TIMESTAMP)


def offsets(zones: pa.Array) -> tuple[Any, Any]:
    """Minutes ahead of UTC, and whether there is such a zone."""
    digits = pc.replace_substring_regex(zones, pattern="[^0-9]", replacement="")
    digits = pc.cast(pc.utf8_rpad(digits, 4, padding="0"), pa.int64()).to_numpy(zero_copy_only=False)
    minutes = digits // 100 * 60 + digits % 100
    behind = pc.starts_with(zones, "-").to_numpy(zero_copy_only=False)
    return np.where(behind, -minutes, minutes), (minutes <= 18 * 60) & (digits % 100 < 60)


KERNELS: dict[str, Maker] = {"date_format": date_format, "to_timestamp": to_timestamp}
