"""Regular expressions as Spark's Java reads them, as far as RE2 can be made to give the same answers.

RE2 takes time in proportion to the text, whatever the pattern; an engine that tries one way after the other takes for
ever with some.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from aurora.algebra.expressions.pattern_parts import (
    ALL,
    BLANK,
    DIGIT,
    LAST,
    LINE_ENDS,
    WORD,
    Anchor,
    Group,
    One,
    Part,
    Ranges,
    Repeated,
    has_anchor,
    may_be_empty,
    merged,
    others,
    swap_characters,
    written,
)
from aurora.errors import AuroraError

__all__ = ["ALL", "Pattern", "parse_pattern"]

DEEPEST = 30
MOST_TIMES = 1000

CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
CLASSES = {"d": DIGIT, "w": WORD, "s": BLANK}


@dataclass(frozen=True)
class Pattern:
    whole: Group
    groups: int

    @property
    def has_end(self) -> bool:
        """Whether `$` is in it, which holds before the last line's end too."""
        return has_anchor(self.whole, "$")

    @property
    def has_start(self) -> bool:
        """Whether `^` or `\\A` is in it."""
        return has_anchor(self.whole, "^A")

    @property
    def may_be_empty(self) -> bool:
        return may_be_empty(self.whole)

    def replacement(self, text: str) -> "tuple[str | int, ...]":
        """Java's replacement: characters, $1 for a group, a backslash before what stands for itself."""
        found: list[str | int] = []
        for part in re.finditer(r"\\(.)|\$([0-9])|([^\\$])|(.)", text, re.DOTALL):
            if part[4]:
                raise AuroraError(
                    f"'{part[4]}' stands alone; write \\{part[4]} for the character, $1 for a group"
                )
            if part[2] and int(part[2]) > self.groups:
                raise AuroraError(f"there is no group {part[2]}, the pattern has {self.groups}")
            if part[2] and self.groups > 9:
                raise AuroraError("a pattern with more than 9 groups cannot be used with $1")
            found.append(int(part[2]) if part[2] else part[1] or part[3])
        return tuple(found)

    def re2(self, wanted: int | None = None) -> str:
        """For Arrow, right for texts without a line's end at their end.

        The wanted group is called `found`; with ALL every group keeps its number.
        """
        return written(self.whole, wanted, r"\z")

    def re2_before(self, end: str, stand_in: str, wanted: int | None = None) -> str:
        """Return the same for texts with a line's end at their end, in which `$` holds before that as well.

        The texts come with LF for the character with which that end begins, and with the stand-in for each other LF:
        RE2 knows a place that is before a LF.
        """
        swapped = {ord("\n"): ord(end), ord(stand_in): ord("\n")}
        return written(swap_characters(self.whole, swapped), wanted, "(?m:$)")


@lru_cache(maxsize=256)
def parse_pattern(text: str) -> Pattern:
    """The pattern; a fault says what about it cannot be promised to do what Spark does.

    >>> parse_pattern("^a.$").re2()
    '(?:\\\\Aa[\\\\x{0}-\\\\x{9}\\\\x{B}-\\\\x{C}\\\\x{E}-\\\\x{84}\\\\x{86}-\\\\x{2027}\\\\x{202A}-\\\\x{10FFFF}]\\\\z)'
    """
    reader = _Reader(text)
    flags = re.match(r"\(\?([is]+)\)", text)
    if flags is not None:
        reader.place = flags.end()
        reader.any_case, reader.any_end = "i" in flags[1], "s" in flags[1]
    options = reader.options(0)
    if reader.place < len(text):
        raise AuroraError("unmatched )")
    return Pattern(Group(options, 0), reader.groups)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.groups = 0
        self.any_case = False
        self.any_end = False

    def peek(self, count: int = 1) -> str:
        return self.text[self.place : self.place + count]

    def take(self, what: str = "character") -> str:
        if self.place == len(self.text):
            raise AuroraError(f"missing {what}")
        self.place += 1
        return self.text[self.place - 1]

    def options(self, depth: int) -> tuple[tuple[Part, ...], ...]:
        if depth > DEEPEST:
            raise AuroraError(f"more than {DEEPEST} brackets inside brackets")
        found: list[tuple[Part, ...]] = []
        parts: list[Part] = []
        while self.peek() not in ("", ")"):
            if self.peek() == "|":
                self.take()
                found.append(tuple(parts))
                parts = []
            else:
                parts.append(self.repeated(self.part(depth)))
        return (*found, tuple(parts))

    def part(self, depth: int) -> Part:
        character = self.take()
        if character == "(":
            return self.group(depth)
        if character == "[":
            return One(self.characters())
        if character in "^$":
            return Anchor(character)
        if character == ".":
            return One(((0, LAST),) if self.any_end else others(LINE_ENDS))
        if character == "\\":
            return self.escaped()
        if character in "*+?{":
            raise AuroraError(f"'{character}' repeats nothing; write \\{character} for the character")
        return One(self.cased(((ord(character), ord(character)),)))

    def group(self, depth: int) -> Group:
        number: int | None = None
        named = re.compile(r"\?<[A-Za-z][A-Za-z0-9]*>").match(self.text, self.place)
        if self.peek() != "?" or named is not None:
            self.groups += 1
            number = self.groups
            self.place = self.place if named is None else named.end()
        elif self.peek(2) == "?:":
            self.place += 2
        else:
            raise AuroraError(
                f"'({self.peek(3)}': only (..), (?:..) and (?<name>..) are there, and (?i) in front"
            )
        options = self.options(depth + 1)
        if self.take("a )") != ")":
            raise AuroraError("missing a )")
        return Group(options, number)

    def escaped(self) -> Part:
        character = self.peek()
        if character in ("A", "z"):
            self.take()
            return Anchor(character)
        return One(self.cased(self.escape()))

    def escape(self) -> Ranges:
        character = self.take("a character after \\")
        if character.lower() in CLASSES:
            ranges = CLASSES[character.lower()]
            return ranges if character.islower() else others(ranges)
        if character in CONTROLS:
            code = CONTROLS[character]
        elif character in "xu":
            digits = re.compile(r"u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})").match(self.text, self.place - 1)
            if digits is None:
                raise AuroraError(f"'\\{character}' needs {'four' if character == 'u' else 'two'} digits")
            code = int(digits[1] or digits[2], 16)
            if 0xD800 <= code < 0xE000:
                raise AuroraError(f"'\\{digits[0]}' is half a character")
            self.place = digits.end()
        elif character.isascii() and not character.isalnum():
            code = ord(character)
        else:
            instead = r"(^|\W) or (\W|$)" if character == "b" else "the characters out"
            raise AuroraError(f"'\\{character}' is not supported; write {instead}")
        return ((code, code),)

    def characters(self) -> Ranges:
        """What stands in [..]."""
        negated = self.peek() == "^"
        self.place += negated
        found: list[tuple[int, int]] = []
        start = self.place
        while self.peek() != "]" or self.place == start:
            character = self.take("a ]")
            if character in "[]" or (character == "&" and self.peek() == "&"):
                raise AuroraError(f"'{character}' inside of [..]; write \\{character} for the character")
            if character == "-" and self.place - 1 != start and self.peek() != "]":
                raise AuroraError("a '-' between others inside of [..]; write \\- for the character")
            ranges = self.escape() if character == "\\" else ((ord(character), ord(character)),)
            if self.peek() == "-" and self.peek(2) != "-]":
                ranges = self.to(ranges)
            found += self.cased(ranges)
        self.take()
        ranges = merged(found)
        return others(ranges) if negated else ranges

    def to(self, low: Ranges) -> Ranges:
        """From one character to another: a-z."""
        self.take()
        character = self.take("a ]")
        high = self.escape() if character == "\\" else ((ord(character), ord(character)),)
        first, last = low[0][0], high[-1][1]
        if character in "[]" or any(start != end for start, end in (*low, *high)) or last < first:
            raise AuroraError("cannot read a range inside of [..]; write it as a-z")
        return ((first, last),)

    def cased(self, ranges: Ranges) -> Ranges:
        """With (?i) the other case too, of the letters of ASCII, as in Java."""
        if not self.any_case:
            return ranges
        more = []
        for start, end in ranges:
            for low, high, step in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
                if max(start, low) <= min(end, high):
                    more.append((max(start, low) + step, min(end, high) + step))
        return merged([*ranges, *more])

    def repeated(self, part: Part) -> Part:
        counts = re.compile(r"([*+?])|\{(\d{1,4})(,?)(\d{0,4})\}").match(self.text, self.place)
        if counts is None:
            if self.peek() == "{":
                raise AuroraError(
                    "'{' is not the start of a count such as {2} or {2,3}; write \\{ for the character"
                )
            return part
        self.place = counts.end()
        if counts[1]:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[counts[1]]
        else:
            least = int(counts[2])
            most = (int(counts[4]) if counts[4] else None) if counts[3] else least
            if (counts[4] and not counts[3]) or max(least, most or 0) > MOST_TIMES or (most or least) < least:
                raise AuroraError(f"'{counts[0]}': a count is {{n}}, {{n,}} or {{n,m}}, at most {MOST_TIMES}")
        if may_be_empty(part):
            raise AuroraError(
                f"'{counts[0]}' repeats a part that can match nothing (systems disagree on that)"
            )
        lazy = self.peek() == "?"
        self.place += lazy
        if self.peek() and self.peek() in "*+?{":
            raise AuroraError(
                f"'{counts[0]}{'?' * lazy}{self.peek()}' is not the same everywhere; use one count"
            )
        return Repeated(part, least, most, lazy)
