"""The formats: fields of the input, dialects of the output, what is rejected and why, numbers of copies."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.scan import DECIMAL, INTEGER, NOT_A_NUMBER, in_range, scan_lines

__all__ = [
    "DEFINED",
    "DIALECTS",
    "FIELDS",
    "OUTPUT_NAMES",
    "RANGES",
    "Dialect",
    "Reject",
    "Replication",
    "Rows",
    "parse_input",
    "parse_output",
    "replication",
]

Array = np.ndarray[Any, Any]

FIELDS = tuple("Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos,QID,Sinit,Send,DOW,TOD,Day".split(","))  # noqa: SIM905

# The fields that each type defines; a reader looks at no other.
DEFINED = {
    0: ("Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos"),
    2: ("Time", "VID", "QID"),
    3: ("Time", "VID", "XWay", "QID", "Day"),
    4: ("Time", "VID", "XWay", "QID", "Sinit", "Send", "DOW", "TOD"),
}

_MAX_INT, _MAX_LONG = 2**31 - 1, 2**62
RANGES = {
    "Time": (0, _MAX_INT),
    "VID": (0, _MAX_LONG),
    "Spd": (0, 100),
    "XWay": (0, _MAX_INT),
    "Lane": (0, 4),
    "Dir": (0, 1),
    "Seg": (0, 99),
    "Pos": (0, 527_999),
    "QID": (0, _MAX_LONG),
    "Sinit": (0, 99),
    "Send": (0, 99),
    "DOW": (1, 7),
    "TOD": (1, 1440),
    "Day": (1, 69),
}

_SEG, _POS = FIELDS.index("Seg"), FIELDS.index("Pos")
_DEFINED = np.array(
    [[kind in DEFINED and (name == "Type" or name in DEFINED[kind]) for name in FIELDS] for kind in range(5)]
)
_LOW, _HIGH = (np.array([RANGES.get(name, (0, 4))[end] for name in FIELDS], np.int64) for end in (0, 1))

OUTPUT_NAMES = {
    0: "toll notification",
    1: "accident alert",
    2: "account balance",
    3: "daily expenditure",
    4: "travel time",
}


@dataclass(frozen=True)
class Reject:
    """A line that is no tuple: counted, never answered."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class Rows:
    """The lines of one block: all of them in `values` (one row a line), the good ones marked in `good`."""

    starts: Array
    values: Array
    good: Array
    micros: Array
    reasons: dict[int, str]

    def column(self, field: str) -> Array:
        column: Array = self.values[self.good, FIELDS.index(field)]
        return column


def parse_input(data: Array) -> Rows:
    """Reads a block of whole input lines.

    >>> rows = parse_input(np.frombuffer(b"2,26,433,-1,-1,-1,-1,-1,-1,2,-1,-1,-1,-1,-1\\n2,26\\n", np.uint8))
    >>> rows.good.tolist(), rows.reasons
    ([True, False], {1: '2 fields, 15 expected'})
    """
    starts, fields, values, micros, kind = scan_lines(data, len(FIELDS))
    good = in_range(fields, values, kind, _DEFINED, _LOW, _HIGH)
    # The paper defines Seg by Pos; what says otherwise would be in two segments, by the rule that looks at it.
    good &= (values[:, 0] != 0) | (values[:, _SEG] == values[:, _POS] // EDITION_2004.segment_length)
    reasons = {int(i): _input_fault(fields[i], values[i], kind[i]) for i in np.flatnonzero(~good)}
    return Rows(starts, values, good, micros, reasons)


def _input_fault(fields: int, values: Array, kind: Array) -> str:
    if fields != len(FIELDS):
        return f"{fields} fields, {len(FIELDS)} expected"
    if kind[0] != INTEGER:
        return "Type is not an integer"
    if int(values[0]) not in DEFINED:
        return f"unknown type {values[0]}, 0, 2, 3 or 4 expected"
    for name in DEFINED[int(values[0])]:
        at, (low, high) = FIELDS.index(name), RANGES[name]
        if kind[at] in (NOT_A_NUMBER, DECIMAL):
            return f"{name} is not an integer"
        if kind[at] != INTEGER or not low <= values[at] <= high:
            found = values[at] if kind[at] == INTEGER else "more"
            limits = f"{low} or more" if high >= _MAX_INT else f"{low}..{high}"
            return f"{name} out of range: {found}, {limits} expected"
    seg, pos = values[_SEG], values[_POS]
    return f"Seg is {seg}, but Pos {pos} lies in segment {pos // EDITION_2004.segment_length}"


@dataclass(frozen=True)
class Dialect:
    """The order of the fields of each output type, after the type itself."""

    name: str
    layouts: dict[int, tuple[str, ...]]

    def line(self, kind: int, **values: object) -> str:
        """One output line, without its end.

        >>> DIALECTS["original"].line(2, Time=26, Emit="26.004", ResultTime=20, QID=2, Bal=0)
        '2,26,26.004,2,20,0'
        """
        return ",".join([str(kind), *(str(values[name]) for name in self.layouts[kind])])


_TOLL = ("VID", "Time", "Emit", "Spd", "Toll")
_EXPENDITURE = ("Time", "Emit", "QID", "Bal")
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "native",
            {
                0: _TOLL,
                1: ("Time", "Emit", "VID", "Seg"),
                2: ("Time", "Emit", "ResultTime", "QID", "Bal"),
                3: _EXPENDITURE,
                4: ("Time", "Emit", "QID", "TravelTime", "Toll"),
            },
        ),
        Dialect(
            "original",
            {
                0: _TOLL,
                1: ("Time", "Emit", "VID", "Seg"),
                2: ("Time", "Emit", "QID", "ResultTime", "Bal"),
                3: _EXPENDITURE,
            },
        ),
        Dialect(
            "walmart",
            {
                0: _TOLL,
                1: ("Time", "Emit", "XWay", "Seg", "Dir", "VID"),
                2: ("Time", "Emit", "ResultTime", "QID", "Bal"),
                3: _EXPENDITURE,
            },
        ),
    )
}
_OUTPUT_WIDTH = 7


def parse_output(data: Array, dialect: Dialect) -> Rows:
    """Reads a block of whole output lines; only Emit and ResultTime may have decimals."""
    starts, fields, values, micros, kind = scan_lines(data, _OUTPUT_WIDTH, decimals=True)
    good = np.zeros(len(fields), bool)
    for number, layout in dialect.layouts.items():
        fine = (values[:, 0] == number) & (kind[:, 0] == INTEGER) & (fields == len(layout) + 1)
        for at, name in enumerate(layout, start=1):
            limit = DECIMAL if name in ("Emit", "ResultTime") else INTEGER
            fine &= kind[:, at] <= limit
        good |= fine
    reasons = {int(i): _output_fault(dialect, fields[i], values[i], kind[i]) for i in np.flatnonzero(~good)}
    return Rows(starts, values, good, micros, reasons)


def _output_fault(dialect: Dialect, fields: int, values: Array, kind: Array) -> str:
    if kind[0] != INTEGER or int(values[0]) not in OUTPUT_NAMES:
        return "unknown output type, 0..4 expected"
    number = int(values[0])
    if number not in dialect.layouts:
        return f"the dialect {dialect.name} has no {OUTPUT_NAMES[number]}"
    layout = dialect.layouts[number]
    if fields != len(layout) + 1:
        return f"{fields} fields, {len(layout) + 1} expected"
    for at, name in enumerate(layout, start=1):
        if kind[at] > (DECIMAL if name in ("Emit", "ResultTime") else INTEGER):
            return f"{name} is not {'a number' if name in ('Emit', 'ResultTime') else 'an integer'}"
    raise AssertionError("a good line was taken for a bad one")


@dataclass(frozen=True)
class Replication:
    """K copies of each expressway: copy c adds c times these steps to XWay, VID and QID."""

    copies: int
    xways: int
    vid_step: int
    qid_step: int

    def steps(self) -> Array:
        """The step of each (type, field); 0 where the type does not define the field."""
        table = np.zeros((max(DEFINED) + 1, len(FIELDS)), np.int64)
        for number, defined in DEFINED.items():
            for name, step in (("XWay", self.xways), ("VID", self.vid_step), ("QID", self.qid_step)):
                if name in defined:
                    table[number, FIELDS.index(name)] = step
        return table

    def numbers(self) -> Iterator[int]:
        return iter(range(self.copies))


def replication(copies: int, max_xway: int, max_vid: int, max_qid: int) -> Replication:
    """The one rule for the numbers of copies: the next expressway, the next power of ten above VID and QID.

    >>> replication(3, max_xway=1, max_vid=4711, max_qid=999)
    Replication(copies=3, xways=2, vid_step=10000, qid_step=1000)
    """
    return Replication(copies, max_xway + 1, 10 ** len(str(max(max_vid, 0))), 10 ** len(str(max(max_qid, 0))))
