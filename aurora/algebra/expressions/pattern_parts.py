"""The parts of a regular expression, and their texts for RE2 and for Python."""

from dataclasses import dataclass

__all__ = [
    "ALL",
    "BLANK",
    "DIGIT",
    "LAST",
    "LINE_ENDS",
    "WORD",
    "Anchor",
    "Group",
    "One",
    "Part",
    "Ranges",
    "Repeated",
    "has_end",
    "may_be_empty",
    "merged",
    "others",
    "written",
]

LAST = 0x10FFFF
# Instead of the number of one group.
ALL = -1
Ranges = tuple[tuple[int, int], ...]
DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
BLANK: Ranges = ((0x09, 0x0D), (0x20, 0x20))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
# Java does not look between the two characters of a line's end.
PYTHON_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"


@dataclass(frozen=True)
class One:
    """One character of these."""

    ranges: Ranges


@dataclass(frozen=True)
class Anchor:
    kind: str


@dataclass(frozen=True)
class Group:
    """Alternatives, each a row of parts; a group that is captured has a number from 1 on."""

    options: "tuple[tuple[Part, ...], ...]"
    number: int | None


@dataclass(frozen=True)
class Repeated:
    part: "Part"
    least: int
    most: int | None
    lazy: bool


Part = One | Anchor | Group | Repeated


def merged(ranges: "list[tuple[int, int]]") -> Ranges:
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def others(ranges: Ranges) -> Ranges:
    starts = [0, *(end + 1 for _, end in ranges)]
    ends = [*(start - 1 for start, _ in ranges), LAST]
    return tuple((start, end) for start, end in zip(starts, ends, strict=True) if start <= end)


def may_be_empty(part: Part) -> bool:
    if isinstance(part, Group):
        return any(all(may_be_empty(each) for each in option) for option in part.options)
    if isinstance(part, Repeated):
        return part.least == 0
    return isinstance(part, Anchor)


def has_end(part: Part) -> bool:
    if isinstance(part, Group):
        return any(has_end(each) for option in part.options for each in option)
    return has_end(part.part) if isinstance(part, Repeated) else part == Anchor("$")


def written(part: Part, wanted: int | None, python: bool) -> str:
    if isinstance(part, Group):
        inside = "|".join(
            "".join(written(each, wanted, python) for each in option) for option in part.options
        )
        if wanted == ALL and part.number:
            return f"({inside})"
        return f"(?P<found>{inside})" if wanted is not None and part.number == wanted else f"(?:{inside})"
    if isinstance(part, Repeated):
        most = "" if part.most is None else part.most
        return f"{written(part.part, wanted, python)}{{{part.least},{most}}}{'?' * part.lazy}"
    if isinstance(part, Anchor):
        if part.kind == "$" and python:
            return PYTHON_END
        return r"\A" if part.kind in "^A" else r"\Z" if python else r"\z"
    if len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]:
        return _character(part.ranges[0][0], python)
    inside = "".join(
        _character(start, python)
        if start == end
        else f"{_character(start, python)}-{_character(end, python)}"
        for start, end in part.ranges
    )
    # No character is left where the others are all that there are.
    return f"[{inside}]" if inside else (r"(?!)" if python else r"[^\x{0}-\x{10FFFF}]")


def _character(code: int, python: bool) -> str:
    if code < 128 and chr(code).isalnum():
        return chr(code)
    return f"\\U{code:08x}" if python else f"\\x{{{code:X}}}"
