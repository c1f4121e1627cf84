"""Connection points: where a network keeps the tuples that pass, and sets of tuples that are stored elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from aurora.algebra.ordering.values import orderable
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import is_map, is_nested, is_struct, type_name
from aurora.errors import AuroraError, did_you_mean
from aurora.network.amounts import distance, duration, is_span
from aurora.network.arguments import read_names

if TYPE_CHECKING:
    from aurora.network.network import Port

__all__ = ["Keep", "Point", "Stored", "check_key", "check_name", "find_schema", "make_point", "read_keep"]

# The most tuples that a point can count, and the longest name that it can have: a folder is called so.
MOST_ROWS = 2**63 - 1
LONGEST_NAME = 100


@dataclass(frozen=True)
class Keep:
    """How much of the past stays: the last `rows` tuples, or those within a `span` of the latest, or all.

    A span is one of the field `on`, in the units of an order (microseconds for a timestamp), or milliseconds of arrival
    where there is no such field. `latest`: of each key its latest tuple, for good.
    """

    rows: int | None = None
    span: int | float | None = None
    latest: bool = False


@dataclass(frozen=True)
class Point:
    """A connection point on an arc. A view is one on the arc of an output, and has its name."""

    name: str
    port: "Port"
    keep: Keep
    on: str | None = None
    key: tuple[str, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Stored:
    """A set of tuples that lies at an address: parquet:PATH, csv:PATH, json:PATH or sqlite:FILE?table=NAME."""

    address: str
    key: tuple[str, ...] = ()
    # Whether a network file says so: then a server must be named by the user as well.
    by_file: bool = field(default=False, compare=False)


def make_point(name: str, port: "Port", schema: Schema, given: Mapping[str, Any], where: str) -> Point:
    """The point on a stream with this schema; `given` has keep, and may have on and key."""
    on = given.get("on")
    if on is not None:
        _check_on(on, schema, where)
    key = check_key(given.get("key", ()), schema, where)
    amount, place = given["keep"], f"{where}: keep"
    keep = _latest(on, key, schema, place) if amount == "latest" else read_keep(amount, on, schema, place)
    spec = {"from": str(port), "keep": amount}
    spec |= {} if on is None else {"on": on}
    spec |= {"key": list(key)} if key else {}
    return Point(name, port, keep, on, key, spec)


def check_name(name: str, where: str) -> None:
    """Raises a fault unless the name can also be that of a folder."""
    if len(name) > LONGEST_NAME:
        raise AuroraError(f"{where}: the name of a point or view has {LONGEST_NAME} characters at most")
    if not name or name[0] in "#." or any(c.isspace() or c in "=/\\\0" for c in name):
        raise AuroraError(
            f"{where}: the name of a point or view has no spaces, no '=' and no '/', and begins with neither # nor ."
        )


def check_key(given: Any, schema: Schema, where: str) -> tuple[str, ...]:
    key = read_names(given, f"{where}: key")
    for name in key:
        if name not in schema:
            raise AuroraError(
                f"{where}: key {name}: no such field{did_you_mean(name, schema.names)}; "
                f"fields are {', '.join(schema.names)}"
            )
        if is_nested(schema[name]):
            what = "a struct; take its fields" if is_struct(schema[name]) else "an array; take an element"
            what = "a map<..>; take a value" if is_map(schema[name]) else what
            raise AuroraError(f"{where}: key {name} is {what} out with a map")
    if len(set(key)) < len(key):
        raise AuroraError(f"{where}: key names a field twice: {', '.join(key)}")
    return key


def _check_on(on: Any, schema: Schema, where: str) -> None:
    if not isinstance(on, str):
        raise AuroraError(f"{where}: on is the name of a field, found '{on}'")
    if on not in schema:
        raise AuroraError(
            f"{where}: on {on}: no such field{did_you_mean(on, schema.names)}; fields are {', '.join(schema.names)}"
        )
    if not orderable(schema[on]):
        raise AuroraError(
            f"{where}: on {on}: {type_name(schema[on])} is neither a number nor a time; name a field that is, or "
            "leave on out and keep by arrival"
        )


def read_keep(given: Any, on: str | None, schema: Schema, where: str) -> Keep:
    """So much of the past as people write it: a span of the field `on` or of arrival, a number of tuples, all."""
    if given == "all":
        return Keep()
    if on is not None:
        return Keep(span=_span(given, schema[on], on, where))
    if is_span(given):
        span = duration(given, where)
        if span < 1:
            raise AuroraError(f"{where}: '{given}' must be longer than 0; write for example 2h")
        return Keep(span=span)
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MOST_ROWS:
        return Keep(rows=given)
    raise AuroraError(
        f"{where}: '{given}' is neither a span of time such as 2h, nor a number of tuples from 1 on, nor all"
    )


def _latest(on: str | None, key: tuple[str, ...], schema: Schema, where: str) -> Keep:
    if not key:
        raise AuroraError(f"{where}: latest keeps the latest tuple of each key; add key: [{schema.names[0]}]")
    if on is not None:
        raise AuroraError(f"{where}: latest means the latest arrival; leave on: {on} out")
    return Keep(latest=True)


def _span(given: Any, kind: pa.DataType, on: str, where: str) -> int | float:
    """How far the past reaches back in values of the order field."""
    amount = given
    if pa.types.is_integer(kind) and is_span(given):
        milliseconds = duration(given, where)
        if milliseconds % 1000:
            raise AuroraError(
                f"{where}: '{given}' on {on}, a whole number, means seconds; write whole seconds such as 2s"
            )
        amount = milliseconds // 1000
    if pa.types.is_integer(kind) and isinstance(amount, str):
        raise AuroraError(
            f"{where}: '{given}' on {on}, a whole number; write a number, or a span of seconds such as 2h"
        )
    span = distance(amount, kind, where)
    whole = not pa.types.is_floating(kind)
    if span < 0 or (whole and span != int(span)):
        raise AuroraError(
            f"{where}: '{given}' on {on}; write a {'whole ' if whole else ''}number of 0 or more"
        )
    return int(span) if whole else span


def find_schema(point: str, given: Schema | None, points: Mapping[str, Schema], where: str) -> Schema:
    """The schema with which a query takes a point of a running network: all its fields, or the given ones of them."""
    if point not in points:
        near = did_you_mean(point, points)
        known = f"there are {', '.join(points)}" if points else "the running network has none"
        raise AuroraError(f"{where}: there is no point {point}{near}; {known}")
    there = points[point]
    for name, kind in (given or {}).items():
        if name not in there:
            raise AuroraError(
                f"{where}: the point {point} has no field {name}{did_you_mean(name, there.names)}; "
                f"its fields are {', '.join(there.names)}"
            )
        if there[name] != kind:
            raise AuroraError(
                f"{where}: field {name} is {type_name(there[name])} at the point {point}, not {type_name(kind)}; "
                "leave the schema out"
            )
    return there if given is None else given
