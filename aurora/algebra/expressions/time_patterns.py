"""Patterns of dates and times, as in 'yyyy-MM-dd HH:mm': the letters of Java, as far as they are kept to."""

import re
from dataclasses import dataclass

from aurora.errors import AuroraError

__all__ = ["Letters", "read_pattern", "regular_expression"]

# How many of a letter may stand in a row, to write a time and to read one.
WRITTEN = {
    "y": (1, 2, 4), "M": (1, 2, 3, 4), "d": (1, 2), "D": (1, 3), "E": (1, 2, 3, 4), "a": (1,), "H": (1, 2), "h": (1, 2),
    "k": (1, 2), "K": (1, 2), "m": (1, 2), "s": (1, 2), "S": tuple(range(1, 10)), "X": (1, 2, 3), "x": (1, 2, 3),
    "Z": (1, 2, 3),
}  # fmt: skip
READ = {letter: counts for letter, counts in WRITTEN.items() if letter not in "DEkKZ"}
NAMES = {
    "y": "year", "M": "month", "d": "day", "a": "half", "H": "hour", "h": "hour", "m": "minute", "s": "second",
    "S": "fraction", "X": "zone", "x": "zone",
}  # fmt: skip
MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
LONG_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
ZONES = {1: r"[+-]\d{2}(?:\d{2})?", 2: r"[+-]\d{4}", 3: r"[+-]\d{2}:\d{2}"}
PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'\[\]{}#]+)|(.)", re.DOTALL)


@dataclass(frozen=True)
class Letters:
    """A letter, so many times in a row."""

    letter: str
    count: int


def read_pattern(text: str, to_read: bool = False) -> tuple[str | Letters, ...]:
    """The parts of a pattern: letters, and text that stands for itself.

    >>> read_pattern("d.'at' HH")
    (Letters(letter='d', count=1), '.', 'at', ' ', Letters(letter='H', count=2))
    """
    allowed = READ if to_read else WRITTEN
    parts: list[str | Letters] = []
    seen: set[str] = set()
    for found in PARTS.finditer(text):
        quoted, letter, plain, other = found.groups()
        if quoted is not None:
            parts.append(quoted.replace("''", "'") or "'")
        elif plain is not None:
            parts.append(plain)
        elif letter is None:
            raise AuroraError(f"'{other}' has a meaning of its own in patterns; put text between quotes")
        else:
            count = len(found[0])
            if count not in allowed.get(letter, ()):
                raise AuroraError(f"'{found[0]}' is not known; there are {known(allowed)}")
            if to_read and NAMES[letter] in seen:
                raise AuroraError(f"the pattern has the {NAMES[letter]} twice")
            seen.add(NAMES.get(letter, letter))
            parts.append(Letters(letter, count))
    if not parts:
        raise AuroraError("the pattern is empty; write for example yyyy-MM-dd")
    return tuple(parts)


def known(allowed: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(letter * max(counts) if letter != "S" else "SSS" for letter, counts in allowed.items())


def regular_expression(parts: tuple[str | Letters, ...]) -> str:
    """What a text must match to be read by the pattern; its parts have names."""
    return "^(?i:" + "".join(_expression(part) for part in parts) + r")\z"


def _expression(part: str | Letters) -> str:
    if isinstance(part, str):
        return re.escape(part)
    letter, count = part.letter, part.count
    if letter == "y":
        # Years beyond 9999 are written with a sign.
        inside = {1: r"-?\d{1,6}", 2: r"\d{2}", 4: r"\d{4}|\+\d{5,6}|-\d{4,6}"}[count]
    elif letter == "M" and count > 2:
        inside = MONTHS if count == 3 else LONG_MONTHS
    elif letter == "S":
        inside = rf"\d{{1,{count}}}"
    elif letter == "a":
        inside = "am|pm"
    elif letter in "Xx":
        inside = ZONES[count] + ("|Z" if letter == "X" else "")
    else:
        inside = r"\d{2}" if count == 2 else r"0{0,17}\d{1,2}"
    return f"(?P<{NAMES[letter]}>{inside})"
