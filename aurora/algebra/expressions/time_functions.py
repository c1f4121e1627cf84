"""The functions on dates and timestamps, and intervals, which only exist inside sums."""

import re
from decimal import Decimal

from aurora.algebra.expressions.coercion import FRACTIONS, INTEGERS, TIMES, converted
from aurora.algebra.expressions.signature import Clash, Function, literal, need
from aurora.algebra.expressions.time_patterns import read_pattern
from aurora.algebra.expressions.tree import Call, Constant, Node
from aurora.algebra.tuples.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP
from aurora.algebra.tuples.zones import find_zone, near_zones
from aurora.errors import AuroraError

__all__ = ["TIME", "TRUNCATIONS", "interval", "later"]

# The names that date_trunc knows, and the unit that each stands for.
TRUNCATIONS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    **{name: name for name in ("hour", "minute", "second", "millisecond", "microsecond")},
}

# A unit is so many of what Spark adds: months, days or microseconds.
UNITS: dict[str, tuple[str, int]] = {
    "year": ("months", 12),
    "month": ("months", 1),
    "week": ("days", 7),
    "day": ("days", 1),
    "hour": ("microseconds", 3_600_000_000),
    "minute": ("microseconds", 60_000_000),
    "second": ("microseconds", 1_000_000),
    "millisecond": ("microseconds", 1_000),
    "microsecond": ("microseconds", 1),
}

# As far as Spark's intervals go.
LIMITS = {"months": (1 << 31) - 1, "days": 106_751_991, "microseconds": (1 << 63) - 1}
DAY = 86_400_000_000
USUAL = "yyyy-MM-dd HH:mm:ss"

Amounts = dict[str, int]


def interval(text: str) -> Amounts:
    """The months, days and microseconds of a text such as '1 day 2 hours'."""
    parts = re.findall(r"([+-]?\s*\d*\.?\d+)\s*([a-zA-Z]+)", text)
    amounts: Amounts = {}
    if not parts or re.sub(r"[+-]?\s*\d*\.?\d+\s*[a-zA-Z]+", "", text).strip():
        raise Clash(f"cannot read the interval '{text.strip()}': write it as INTERVAL 3 DAYS")
    for count, unit in parts:
        kind, factor = UNITS.get(unit.lower().removesuffix("s"), ("", 0))
        if not kind:
            raise Clash(f"unknown unit '{unit.lower()}': the units of an interval are {', '.join(UNITS)}")
        amount = Decimal(count.replace(" ", "")) * factor
        if amount != int(amount) or ("." in count and unit.lower().removesuffix("s") != "second"):
            raise Clash(f"an interval of {count} {unit.lower()} is not a whole number of {kind}")
        amounts[kind] = amounts.get(kind, 0) + int(amount)
        if abs(amounts[kind]) > LIMITS[kind]:
            raise Clash(f"an interval of {count} {unit.lower()} is too long: {LIMITS[kind]} {kind} at most")
    if abs(amounts.get("days", 0) * DAY + amounts.get("microseconds", 0)) > LIMITS["microseconds"]:
        raise Clash(f"the interval '{text.strip()}' is too long: {LIMITS['days']} days at most")
    return amounts


def later(node: Node, amounts: Amounts, sign: int) -> Node:
    """The moment plus (sign 1) or minus (sign -1) an interval: months first, then days, then the rest."""
    node = need("an interval", node, (TIMESTAMP, DATE), "a date or timestamp beside it")
    for kind in ("months", "days", "microseconds"):
        if kind in amounts:
            if kind == "microseconds":
                node = converted(node, TIMESTAMP)
            node = Call(f"add {kind}", (node, Constant(sign * amounts[kind], BIGINT)), node.type)
    return node


def part(op: str) -> Function:
    """A part of the calendar date."""

    def rule(node: Node) -> Node:
        return Call(op, (need(op, node, TIMES, "a date or timestamp"),), INT)

    return Function(rule, 1, 1)


def part_of_day(op: str) -> Function:
    def rule(node: Node) -> Node:
        return Call(op, (converted(need(op, node, (TIMESTAMP, DATE), "a timestamp"), TIMESTAMP),), INT)

    return Function(rule, 1, 1)


def since_1970(op: str) -> Function:
    def rule(node: Node, pattern: Node | None = None) -> Node:
        if pattern is not None:
            return Call(op, (read_by(op, node, pattern),), BIGINT)
        # Spark takes a date here for unix_timestamp only.
        allowed = (TIMESTAMP, DATE) if op == "unix_timestamp" else (TIMESTAMP,)
        node = need(op, node, allowed, "a timestamp")
        return Call(op, (converted(node, TIMESTAMP),), BIGINT)

    return Function(rule, 1, 2 if op == "unix_timestamp" else 1)


def from_seconds(node: Node) -> Node:
    node = need("timestamp_seconds", node, (BIGINT, *INTEGERS, *FRACTIONS), "a number")
    node = converted(node, DOUBLE if node.type in FRACTIONS else BIGINT)
    return Call("timestamp_seconds", (node,), TIMESTAMP)


def from_whole(op: str) -> Function:
    def rule(node: Node) -> Node:
        node = converted(need(op, node, (BIGINT, *INTEGERS), "a whole number"), BIGINT)
        return Call(op, (node,), TIMESTAMP)

    return Function(rule, 1, 1)


def to(name: str, target: object, most: int = 1) -> Function:
    def rule(node: Node, pattern: Node | None = None) -> Node:
        if pattern is not None:
            return converted(read_by(name, node, pattern), target)
        node = need(name, node, (STRING, DATE, TIMESTAMP), "a string, date or timestamp")
        return converted(node, target)

    return Function(rule, 1, most)


def read_by(name: str, node: Node, pattern: Node) -> Node:
    """The moment that a text means by a pattern."""
    parts = time_pattern(name, pattern, to_read=True)
    return Call("to_timestamp", (need(name, node, (STRING,), "a string beside a pattern"), parts), TIMESTAMP)


def time_pattern(name: str, node: Node, to_read: bool = False) -> Constant:
    pattern = literal(name, node, STRING)
    try:
        read_pattern(pattern, to_read)
    except AuroraError as fault:
        raise Clash(f"{name} cannot use the pattern '{pattern}': {fault}") from None
    return Constant(pattern, STRING)


def date_format(node: Node, pattern: Node) -> Node:
    node = converted(need("date_format", node, (TIMESTAMP, DATE), "a date or timestamp"), TIMESTAMP)
    return Call("date_format", (node, time_pattern("date_format", pattern)), STRING)


def from_unixtime(node: Node, pattern: Node = Constant(USUAL, STRING)) -> Node:  # noqa: B008
    seconds = converted(need("from_unixtime", node, (BIGINT, *INTEGERS), "a whole number of seconds"), BIGINT)
    return date_format(Call("timestamp_seconds", (seconds,), TIMESTAMP), pattern)


def truncated(unit: Node, node: Node) -> Node:
    text = literal("date_trunc", unit, STRING)
    if text.lower() not in TRUNCATIONS:
        raise Clash(
            f"date_trunc has no unit '{text}': the units are {', '.join(dict.fromkeys(TRUNCATIONS.values()))}"
        )
    node = converted(need("date_trunc", node, (TIMESTAMP, DATE), "a timestamp"), TIMESTAMP)
    return Call("date_trunc", (Constant(TRUNCATIONS[text.lower()], STRING), node), TIMESTAMP)


def date(name: str, node: Node) -> Node:
    if node.type == TIMESTAMP:
        return converted(node, DATE)
    return need(name, node, (DATE,), "a date")


def days_later(op: str) -> Function:
    def rule(node: Node, days: Node) -> Node:
        return Call(op, (date(op, node), converted(need(op, days, INTEGERS[2::-1], "an int"), INT)), DATE)

    return Function(rule, 2, 2)


def months_later(node: Node, months: Node) -> Node:
    months = converted(need("add_months", months, INTEGERS[2::-1], "an int"), INT)
    return Call("add_months", (date("add_months", node), months), DATE)


def days_between(end: Node, start: Node) -> Node:
    return Call("datediff", (date("datediff", end), date("datediff", start)), INT)


def in_zone(op: str) -> Function:
    """What the clocks of a place show at a moment in UTC, or the reverse."""

    def rule(node: Node, zone: Node) -> Node:
        return moved(op, op, node, zone)

    return Function(rule, 2, 2)


def convert_timezone(first: Node, second: Node, third: Node | None = None) -> Node:
    """From one zone, or UTC, to another."""
    name = "convert_timezone"
    if third is None:
        return moved(name, "from_utc_timestamp", second, first)
    return moved(name, "from_utc_timestamp", moved(name, "to_utc_timestamp", third, first), second)


def moved(name: str, op: str, node: Node, zone: Node) -> Node:
    # Of a text Spark's convert_timezone passes over the zone, and a cast does not.
    allowed = (TIMESTAMP, DATE) if name == "convert_timezone" else (TIMESTAMP, DATE, STRING)
    node = converted(need(name, node, allowed, "a timestamp"), TIMESTAMP)
    zone = need(name, zone, (STRING,), "the name of a time zone such as 'Europe/Berlin'")
    if isinstance(zone, Constant) and zone.value is not None and find_zone(str(zone.value)) is None:
        raise Clash(
            f"{name} knows no time zone '{zone.value}'{near_zones(str(zone.value))}: write a name such as "
            "'Europe/Berlin', or an offset such as '+02:00'"
        )
    return Call(op, (node, zone), TIMESTAMP)


TIME: dict[str, Function] = {
    **{op: part(op) for op in ("year", "quarter", "month", "dayofyear", "dayofweek", "weekday")},
    "day": part("day"),
    "dayofmonth": part("day"),
    **{op: part_of_day(op) for op in ("hour", "minute", "second")},
    "unix_timestamp": since_1970("unix_timestamp"),
    "to_unix_timestamp": since_1970("unix_timestamp"),
    **{op: since_1970(op) for op in ("unix_seconds", "unix_millis", "unix_micros")},
    "timestamp_seconds": Function(from_seconds, 1, 1),
    "timestamp_millis": from_whole("timestamp_millis"),
    "timestamp_micros": from_whole("timestamp_micros"),
    "to_timestamp": to("to_timestamp", TIMESTAMP, 2),
    "timestamp": to("timestamp", TIMESTAMP),
    "to_date": to("to_date", DATE, 2),
    "date_format": Function(date_format, 2, 2),
    "from_unixtime": Function(from_unixtime, 1, 2),
    "date": to("date", DATE),
    "date_trunc": Function(truncated, 2, 2),
    "date_add": days_later("date_add"),
    "dateadd": days_later("date_add"),
    "date_sub": days_later("date_sub"),
    "add_months": Function(months_later, 2, 2),
    "from_utc_timestamp": in_zone("from_utc_timestamp"),
    "to_utc_timestamp": in_zone("to_utc_timestamp"),
    "convert_timezone": Function(convert_timezone, 2, 3),
    "datediff": Function(days_between, 2, 2),
    "date_diff": Function(days_between, 2, 2),
}
