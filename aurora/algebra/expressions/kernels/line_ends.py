"""Texts that end with a line's end, written so that RE2 sees the place before it: there `$` holds too, as in Java."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.lists import with_elements

__all__ = ["LINE_END", "PLAIN", "Encoding", "find_encodings"]

LINE_END = r"[\n\r\x{85}\x{2028}\x{2029}]\z"
LF = "\n"
ENDS = ("\r", LF, "\x85", "\u2028", "\u2029")
# No text means the last characters, so few are tried one by one before all that there are in the texts are looked at.
LAST = 0x10FFFF
TRIED = 4


@dataclass(frozen=True)
class Encoding:
    """LF for the character with which the last line's end begins, and a stand-in for each other LF."""

    end: str = LF
    stand_in: str = LF

    def encode(self, texts: pa.Array) -> pa.Array:
        other = self.encode_plain(self.end)
        texts = pc.replace_substring(texts, pattern=LF, replacement=self.stand_in)
        behind = f"({self.stand_in}?)" if self.end == "\r" else "()"
        return pc.replace_substring_regex(texts, pattern=rf"{other}{behind}\z", replacement=rf"{LF}\1")

    def encode_plain(self, text: str) -> str:
        """Return a text, such as a replacement, with the stand-in for each LF."""
        return text.replace(LF, self.stand_in)

    def decode(self, result: pa.Array) -> pa.Array:
        if pa.types.is_list(result.type):
            return with_elements(result, self.decode(result.flatten()))
        if not pa.types.is_string(result.type):
            return result
        ended = pc.replace_substring(result, pattern=LF, replacement=self.end)
        return pc.replace_substring(ended, pattern=self.stand_in, replacement=LF)


PLAIN = Encoding()


def find_encodings(texts: pa.Array, ended: pa.Array) -> Iterator[tuple[Encoding, npt.NDArray[np.int64]]]:
    """Yield how the texts that have a line's end at their end are written, and which these are."""
    pending = [np.flatnonzero(ended.to_numpy(zero_copy_only=False))]
    while pending:
        rows = pending.pop()
        own = texts.take(pa.array(rows))
        stand_in = _find_unused(own)
        if stand_in is None:
            # A text that has every character there is stays as it is.
            pending += np.array_split(rows, 2) if len(rows) > 1 else []
            continue
        left = np.ones(len(rows), bool)
        for end in ENDS:
            pattern = r"\r\n?\z" if end == "\r" else rf"{end}\z"
            has = pc.match_substring_regex(own, pattern).to_numpy(zero_copy_only=False) & left
            left &= ~has
            if has.any():
                yield Encoding(end, stand_in), rows[has]


def _find_unused(texts: pa.Array) -> str | None:
    """Return a character that is in none of the texts."""
    for code in range(LAST, LAST - TRIED, -1):
        if not pc.any(pc.match_substring(texts, chr(code))).as_py():
            return chr(code)
    used = set().union(*map(set, texts.to_pylist()))
    codes = (code for code in range(LAST, 0, -1) if not 0xD800 <= code < 0xE000)
    return next((chr(code) for code in codes if chr(code) not in used), None)
