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
)
from aurora.engine.draft.sample import Sample
from aurora.engine.draft.text_types import are_read_by, swap_days
from aurora.errors import AuroraError
from aurora.network.network import Network
from aurora.network.text import to_text

__all__ = ["Draft", "propose"]

TIMELY = re.compile(r"time|date|when|stamp|epoch|_ts$|^ts$|_at$|^at$|day", re.IGNORECASE)
UNITS = {"seconds": (10**8, 4 * 10**9), "millis": (10**11, 4 * 10**12), "micros": (10**14, 4 * 10**15)}
MOST_GROUPS, MOST_VALUES = 200, 3
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
    source: str | None = None


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
    named = sorted(schema.names, key=lambda name: TIMELY.search(name) is None)
    for name in named:
        if schema[name] == TIMESTAMP and rows.column(name).null_count < max(rows.num_rows, 1):
            return _Time(name, None, rows.column(name))
    free = next(name for name in ("Time", "Moment", "time_", "moment_") if name not in schema)
    for name in named:
        if name in sample.patterns:
            text = f"to_timestamp({_written(name, sample)}, '{sample.patterns[name]}')"
            return _made(sample, free, text, name)
        unit = _unit(rows.column(name)) if schema[name] == BIGINT and TIMELY.search(name) else None
        if unit is not None:
            return _made(sample, free, f"timestamp_{unit}({_written(name, sample)})", name)
    for name in named:
        if schema[name] == DATE:
            return _Time(name, None, rows.column(name).cast(TIMESTAMP), days=True)
    return _Time(free, "arrival_time()", None)


def _made(sample: Sample, name: str, text: str, source: str) -> _Time:
    return _Time(name, text, Expression.parse(text, sample.schema).evaluate(sample.rows), source=source)


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
    """The field with the fewest different values, if there are several of each: text rather than numbers."""
    found = []
    for name in sample.schema.names:
        kind = sample.schema[name]
        moment = name in (time.field, time.source) or name in sample.patterns or _is_moment(sample, name)
        if moment or kind not in (STRING, BIGINT, INT, BOOLEAN):
            continue
        count = len(sample.rows.column(name).unique())
        if 1 < count <= min(MOST_GROUPS, max(2, sample.rows.num_rows // 2)):
            found.append((kind != STRING, count, name))
    return min(found)[2] if found else None


def _functions(sample: Sample, taken: set[str]) -> dict[str, str]:
    functions = {_free("n", taken): "count(*)"}
    for name in sample.schema.names:
        if (
            sample.schema[name] in (DOUBLE, FLOAT, BIGINT, INT)
            and name not in taken
            and not _is_key(sample, name)
        ):
            functions[_free(f"avg_{name}", taken)] = f"avg({_written(name, sample)})"
            if len(functions) > MOST_VALUES:
                break
    return functions


def _is_key(sample: Sample, name: str) -> bool:
    """Whether a mean of it says nothing: numbers that name things, or moments."""
    return _is_moment(sample, name) or re.search(r"(^|_)id$|Id$|ID$", name) is not None


def _is_moment(sample: Sample, name: str) -> bool:
    """Whether a number counts the time since 1970."""
    return (
        sample.schema[name] in (DOUBLE, FLOAT, BIGINT, INT)
        and TIMELY.search(name) is not None
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
