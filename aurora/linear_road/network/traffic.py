"""The input of the network: its fields, what every tuple must satisfy, and its copies for load."""

from aurora import Network, Stream
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.records import DEFINED, FIELDS, RANGES, Replication

__all__ = ["CHECKS", "INPUT", "read_traffic"]

INPUT = (
    "Type tinyint, Time int, VID bigint, Spd tinyint, XWay int, Lane tinyint, Dir tinyint, Seg tinyint, Pos int, "
    "QID bigint, Sinit tinyint, Send tinyint, DOW tinyint, TOD smallint, Day tinyint"
)
# Limits from here on are no limits of the benchmark.
_ENDLESS = 2**31 - 1


def _check(name: str) -> tuple[str, str]:
    """What a field must be where its type defines it: of the others, no matter what they hold, nothing is asked."""
    low, high = RANGES[name]
    without = [str(kind) for kind, defined in DEFINED.items() if name not in defined]
    condition = f"{name} BETWEEN {low} AND {high}"
    if len(without) == 1:
        condition = f"Type = {without[0]} OR {condition}"
    elif without:
        condition = f"Type IN ({', '.join(without)}) OR {condition}"
    expected = f"{low} or more" if high >= _ENDLESS else f"{low}..{high}"
    return f"{name} is not an integer, {expected}", condition


CHECKS = {
    "unknown type, 0, 2, 3 or 4 expected": f"Type IN ({', '.join(map(str, DEFINED))})",
    **dict(_check(name) for name in FIELDS if name in RANGES),
    "Seg is not that of Pos": (
        f"Type IN ({', '.join(str(kind) for kind, defined in DEFINED.items() if 'Pos' not in defined)}) "
        f"OR Seg = Pos div {EDITION_2004.segment_length}"
    ),
}


def read_traffic(network: Network, copies: Replication | None = None) -> Stream:
    """The input, and with `copies` each tuple so many times, with the XWay, VID and QID of the copy."""
    traffic = network.input("traffic", INPUT, check=CHECKS)
    if copies is None or copies.copies == 1:
        return traffic
    numbers = ", ".join(map(str, copies.numbers()))
    steps = {"XWay": copies.xways, "VID": copies.vid_step, "QID": copies.qid_step}
    moved = {name: _moved(name, step) for name, step in steps.items()}
    return traffic.explode(f"array({numbers})", "Copy", name="copies").map(
        {name: name for name in FIELDS} | moved, name="copied"
    )


def _moved(name: str, step: int) -> str:
    """A field that the type does not define stays as it is: it may hold anything."""
    without = [str(kind) for kind, defined in DEFINED.items() if name not in defined]
    number = f"{name} + Copy * {step}"
    return f"if(Type IN ({', '.join(without)}), {name}, {number})" if without else number
