"""A first network for what is in a file: counts and means for each minute, by the field that groups best."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    backquoted,
    is_decimal,
)
from aurora.engine.draft.names import is_timely, looks_like_attribute, looks_like_key
from aurora.engine.draft.sample import Sample
from aurora.engine.draft.text_types import type_of_texts
from aurora.engine.sources.text.time_patterns import are_read_by, has_hours, swap_days
from aurora.errors import AuroraError
from aurora.network.network import Network
from aurora.network.text import to_text

__all__ = ["Draft", "propose"]

UNITS = {"seconds": (10**8, 4 * 10**9), "millis": (10**11, 4 * 10**12), "micros": (10**14, 4 * 10**15)}
MOST_GROUPS, MOST_VALUES = 200, 3
CLOCK = r"^\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: [AaPp][Mm])?$"
CLOCK_PATTERNS = ("HH:mm:ss", "HH:mm", "H:mm:ss", "H:mm", "h:mm:ss a", "h:mm a", "HH:mm:ss.SSS")
SPANS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@dataclass(frozen=True)
class Draft:
    """The text of a network, and how its input is called."""

    text: str
    name: str
    output: str


@dataclass(frozen=True)
class _Time:
    """A field that is a time, or the expression that makes one from another field; values in microseconds, if known."""

    field: str
    made: str | None
    values: pa.Array | None
    days: bool = False
    sources: tuple[str, ...] = ()


def propose(sample: Sample) -> Draft:
    time = _time(sample)
    name = _name(sample.address)
    output = "per_day" if time.days else "per_minute"
    name = name if name != output else f"{name}_rows"
    network = Network(name)
    stream = network.input(name, sample.schema)
    if time.made is not None:
        stream = stream.map({"*": "*", time.field: time.made}, name="timed")
    group = _group(sample, time)
    order = {"on": time.field, **_slack(time), **({"group_by": [group]} if group else {}), "clock": "stream"}
    functions = _functions(sample, {time.field, group or time.field})
    size = "1d" if time.days else "1m"
    counted = stream.aggregate(functions, order=order, size=size, align=True, name=output)
    network.output(output, counted)
    text = re.sub(r"from: (\S+)\.1\b", r"from: \1", to_text(network.checked()))
    return Draft(_comments(sample, time) + text, name, output)


def _comments(sample: Sample, time: _Time) -> str:
    """What the drafter saw, and what it could not know."""
    place = sample.address.partition(":")[2].partition("?")[0]
    count = sample.rows.num_rows
    seen = "only row" if count == 1 else f"first {count:,} rows"
    lines = [f"A first network for {Path(place).name}, drafted from its {seen}."]
    if time.values is None:
        lines.append("No field is a time, so the windows follow the time at which rows arrive.")
    elif _slack(time):
        lines.append("slack is how late rows came in the sample; later rows are left out and counted.")
    for name, pattern in sample.patterns.items():
        swapped = swap_days(pattern)
        if swapped is not None and are_read_by(sample.rows.column(name), swapped):
            lines.append(
                f"{name} is read with the month first; where the day comes first, write '{swapped}'."
            )
    lines += sample.notes
    if sample.left_out:
        lines.append(f"Left out, because they are null or of several types: {', '.join(sample.left_out)}.")
    return "".join(f"# {line}\n" for line in lines)


def _name(address: str) -> str:
    place = address.partition(":")[2].partition("?")[0]
    stem = Path(place).name.partition(".")[0] if "*" not in place else "rows"
    plain = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_")
    return plain if re.match(r"[A-Za-z]", plain) else f"rows_{plain}".rstrip("_")


def _time(sample: Sample) -> _Time:
    """The field that is most likely the time: a timestamp, a text or number that means one, a date."""
    schema, rows = sample.schema, sample.rows
    named = sorted(schema.names, key=lambda name: not is_timely(name))
    for name in named:
        if schema[name] == TIMESTAMP and rows.column(name).null_count < max(rows.num_rows, 1):
            return _Time(name, None, rows.column(name))
    whole = [name for name in named if has_hours(sample.patterns.get(name, ""))]
    both = None if whole else _date_and_clock(sample, named)
    free = next(name for name in ("Time", "Moment", "time_", "moment_") if name not in schema)
    if both is not None:
        return _made(sample, free, *both)
    for name in [*whole, *named]:
        if name in sample.patterns:
            text = f"to_timestamp({_written(name, sample)}, '{sample.patterns[name]}')"
            return _made(sample, free, text, name, days=name not in whole)
        unit = _unit(rows.column(name)) if schema[name] == BIGINT and is_timely(name) else None
        if unit is not None:
            return _made(sample, free, f"timestamp_{unit}({_written(name, sample)})", name)
    for name in named:
        if schema[name] == DATE:
            return _Time(name, None, rows.column(name).cast(TIMESTAMP), days=True)
    return _Time(free, "arrival_time()", None)


def _made(sample: Sample, name: str, text: str, *sources: str, days: bool = False) -> _Time:
    return _Time(name, text, _values(text, sample), days, sources)


def _values(text: str, sample: Sample) -> pa.Array:
    return Expression.parse(text, sample.schema).evaluate(sample.rows)


def _date_and_clock(sample: Sample, named: list[str]) -> tuple[str, str, str] | None:
    """Return what makes a time of a date and the time of day in another field, and the two fields."""
    schema = sample.schema
    dates = [name for name in named if schema[name] == DATE or name in sample.patterns]
    for date in dates:
        # A length of time looks like a time of day: the name tells, or the place behind the date.
        next_to = schema.names[schema.names.index(date) + 1 :][:1]
        for clock in named:
            if not _is_clock(sample, clock) or not (is_timely(clock) or clock in next_to):
                continue
            text = f"concat({_written(date, sample)}, ' ', {_written(clock, sample)})"
            texts = _values(text, sample)
            if schema[date] == DATE and type_of_texts(texts.drop_null().to_pylist()) == TIMESTAMP:
                return f"CAST({text} AS timestamp)", date, clock
            day = sample.patterns.get(date, "yyyy-MM-dd")
            for pattern in CLOCK_PATTERNS:
                if are_read_by(texts, f"{day} {pattern}"):
                    return f"to_timestamp({text}, '{day} {pattern}')", date, clock
    return None


def _is_clock(sample: Sample, name: str) -> bool:
    """Whether a field is a time of day."""
    if sample.schema[name] != STRING:
        return False
    texts = sample.rows.column(name)
    return texts.null_count < len(texts) and bool(pc.all(pc.match_substring_regex(texts, CLOCK)).as_py())


def _unit(column: pa.Array) -> str | None:
    low, high = pc.min_max(column).values()
    for unit, (least, most) in UNITS.items():
        if low.is_valid and least <= low.as_py() and high.as_py() <= most:
            return unit
    return None


def _slack(time: _Time) -> dict[str, str]:
    """How far rows came behind later ones, in whole units."""
    if time.values is None:
        return {}
    micros = time.values.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
    late = int((np.maximum.accumulate(micros) - micros).max(initial=0))
    if late == 0:
        return {}
    seconds = -(-late // 1_000_000)
    if time.days:
        return {"slack": f"{-(-seconds // 86_400)}d"}
    size = next(size for size, _ in SPANS if seconds >= 2 * size or seconds % size == 0)
    seconds = -(-seconds // size) * size
    size, unit = next(span for span in SPANS if seconds % span[0] == 0)
    return {"slack": f"{seconds // size}{unit}"}


def _group(sample: Sample, time: _Time) -> str | None:
    """Return the field that most likely names what the rows are about, if several of them have the same value.

    That is one with the name of a key; text rather than a number; one that settles what other fields are, as a sensor
    settles its unit; and then the one with the fewest values.
    """
    columns: dict[str, pa.Array] = {}
    for name in sample.schema.names:
        kind, key = sample.schema[name], looks_like_key(name)
        moment = name in (time.field, *time.sources) or name in sample.patterns or _is_moment(sample, name)
        if (
            moment
            or _is_clock(sample, name)
            or not (kind in (STRING, BOOLEAN) or (kind in (BIGINT, INT) and key))
        ):
            continue
        column = sample.rows.column(name)
        most = max(2, sample.rows.num_rows // 2)
        if 1 < len(column.unique()) <= (most if key else min(MOST_GROUPS, most)):
            columns[name] = column

    def rank(name: str) -> tuple[bool, bool, bool, int, int]:
        settled = sum(_settles(columns[name], columns[other]) for other in columns if other != name)
        count = len(columns[name].unique())
        attribute = looks_like_attribute(name) or sample.schema[name] == BOOLEAN
        return attribute, not looks_like_key(name), sample.schema[name] != STRING, -settled, count

    return min(columns, key=rank, default=None)


def _settles(one: pa.Array, other: pa.Array) -> bool:
    """Whether rows with the same value in one column have the same one in the other."""
    pairs = pa.table({"one": one, "other": other}).group_by(["one", "other"]).aggregate([])
    return bool(pairs.num_rows == len(one.unique()))


def _functions(sample: Sample, taken: set[str]) -> dict[str, str]:
    functions = {_free("n", taken): "count(*)"}
    for name in sample.schema.names:
        if (
            (sample.schema[name] in (DOUBLE, FLOAT, BIGINT, INT) or is_decimal(sample.schema[name]))
            and name not in taken
            and not _is_key(sample, name)
        ):
            functions[_free(f"avg_{name}", taken)] = f"avg({_written(name, sample)})"
            if len(functions) > MOST_VALUES:
                break
    return functions


def _is_key(sample: Sample, name: str) -> bool:
    """Whether a mean of it says nothing: numbers that name things, or moments."""
    return _is_moment(sample, name) or looks_like_key(name)


def _is_moment(sample: Sample, name: str) -> bool:
    """Whether a number counts the time since 1970."""
    return (
        sample.schema[name] in (DOUBLE, FLOAT, BIGINT, INT)
        and is_timely(name)
        and _unit(sample.rows.column(name)) is not None
    )


def _written(name: str, sample: Sample) -> str:
    """The name as an expression has it: in backquotes if it needs them, as words of SQL do."""
    try:
        return name if Expression.parse(name, sample.schema).is_field == name else backquoted(name)
    except AuroraError:
        return backquoted(name)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
