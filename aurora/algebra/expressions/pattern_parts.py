"""The parts of a regular expression, and their text for RE2."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    "has_anchor",
    "may_be_empty",
    "merged",
    "others",
    "swap_characters",
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


def has_anchor(part: Part, kinds: str) -> bool:
    """Whether one of these anchors is in it."""
    if isinstance(part, Group):
        return any(has_anchor(each, kinds) for option in part.options for each in option)
    if isinstance(part, Repeated):
        return has_anchor(part.part, kinds)
    return isinstance(part, Anchor) and part.kind in kinds


def swap_characters(part: Part, swapped: Mapping[int, int]) -> Part:
    """Return the part for texts in which characters stand for others: each key for its value, which is a key too."""
    if isinstance(part, Group):
        return Group(
            tuple(tuple(swap_characters(each, swapped) for each in option) for option in part.options),
            part.number,
        )
    if isinstance(part, Repeated):
        return replace(part, part=swap_characters(part.part, swapped))
    if isinstance(part, Anchor):
        return part
    kept = part.ranges
    for code in swapped:
        pieces = (
            (low, high)
            for start, end in kept
            for low, high in ((start, min(end, code - 1)), (max(start, code + 1), end))
        )
        kept = tuple((low, high) for low, high in pieces if low <= high)
    meant = [(code, code) for code, own in swapped.items() if _holds(part.ranges, own)]
    return One(merged([*kept, *meant]))


def _holds(ranges: Ranges, code: int) -> bool:
    return any(start <= code <= end for start, end in ranges)


def written(part: Part, wanted: int | None, end: str) -> str:
    """Return the text for RE2, with `end` for `$`."""
    if isinstance(part, Group):
        inside = "|".join("".join(written(each, wanted, end) for each in option) for option in part.options)
        if wanted == ALL and part.number:
            return f"({inside})"
        return f"(?P<found>{inside})" if wanted is not None and part.number == wanted else f"(?:{inside})"
    if isinstance(part, Repeated):
        most = "" if part.most is None else part.most
        return f"{written(part.part, wanted, end)}{{{part.least},{most}}}{'?' * part.lazy}"
    if isinstance(part, Anchor):
        return end if part.kind == "$" else r"\A" if part.kind in "^A" else r"\z"
    if len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]:
        return _character(part.ranges[0][0])
    inside = "".join(
        _character(low) if low == high else f"{_character(low)}-{_character(high)}"
        for low, high in part.ranges
    )
    # No character is left where the others are all that there are.
    return f"[{inside}]" if inside else r"[^\x{0}-\x{10FFFF}]"


def _character(code: int) -> str:
    return chr(code) if code < 128 and chr(code).isalnum() else f"\\x{{{code:X}}}"
