"""What a record of CSV is. Told here once, and used by the scan that cuts files and by the parser alike.

- A record ends with a line break, LF or CR LF, or with the text; a CR at the very end of the text belongs to the break.
  A carriage return anywhere else is an ordinary character.
- A quote opens a quoted field only as the field's first character. Inside, two quotes are one, and delimiters and line
  breaks belong to the field; the closing quote is followed by a delimiter, a line break, or the end of the text.
- A quote in any other place is an ordinary character.
- Where an opening quote is not closed in this way, on its line or within LIMIT bytes, the line on which its record
  began is a record by itself, and a bad one: whatever a stray quote does, it costs one line.

So whether bytes are a record depends on them and on at most LIMIT bytes behind them, never on how a file is cut.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LIMIT",
    "LONGEST",
    "NOT_CLOSED",
    "TOO_LONG",
    "UTF_8",
    "Csv",
    "Ends",
    "Mask",
    "Split",
    "find_breaks",
    "split_lines",
    "without_break",
]

LIMIT = 1 << 20
# So many bytes are looked at together.
PIECE = 1 << 18
UTF_8 = "utf-8"
NOT_CLOSED = "quote is not closed"
# A record of more bytes is rejected, and not held in memory: it is most likely a file without line breaks.
LONGEST = 64 << 20
TOO_LONG = f"the record is longer than {LONGEST >> 20} MB"

QUOTE, LF, CR = b'"\n\r'
# A quoted field from behind its opening quote up to a quote that is not doubled.
INSIDE = re.compile(rb'[^"]*+(?:""[^"]*+)*+')

Ends = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Split:
    """Records of some bytes: the byte after each, the lines up to it, and whether it is bad."""

    ends: Ends
    lines: Ends
    bad: Mask

    def chosen(self, which: Mask | slice) -> "Split":
        return Split(self.ends[which], self.lines[which], self.bad[which])


def find_breaks(data: bytes) -> Ends:
    """The places of the line breaks. It looks at pieces that fit into the processor's cache: marks for all bytes of a
    long text would have to be written to memory and read again."""
    text = np.frombuffer(data, np.uint8)
    found = [
        np.flatnonzero(text[start : start + PIECE] == LF) + start for start in range(0, len(text), PIECE)
    ]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def split_lines(data: bytes, final: bool) -> Split:
    """Lines as records. The last one needs no line break if the data is `final`."""
    stops = find_breaks(data) + 1
    if final and data and data[-1] != LF:
        stops = np.append(stops, len(data))
    return Split(stops, np.arange(1, len(stops) + 1), np.zeros(len(stops), np.bool_))


@dataclass(frozen=True)
class Csv:
    """`encoding` is one in which a byte is a character, or UTF-8; cells without quotes that are in `nulls` are null.

    In `loose` text, so are cells that cannot be read as what they should be.
    """

    delimiter: str = ","
    encoding: str = UTF_8
    nulls: tuple[str, ...] = ()
    loose: bool = False
    # What stands before the fraction of a number.
    decimal: str = "."

    @cached_property
    def _plain(self) -> re.Pattern[bytes]:
        return re.compile(rb"[^\n" + re.escape(self.delimiter.encode()) + rb"]*+")

    @cached_property
    def _code(self) -> int:
        return ord(self.delimiter)

    def split(self, data: bytes, final: bool) -> Split:
        """The records of data that begins with one; those that need more bytes to be told are left out."""
        lines = split_lines(data, final)
        if b'"' not in data:
            return lines
        stops = lines.ends
        kept, bad = np.ones(len(stops), np.bool_), np.zeros(len(stops), np.bool_)
        starts = np.concatenate([[0], stops[:-1]])
        line = 0
        for number in self._unclear(data, stops, final).tolist():
            if number < line:
                continue  # It lies inside a record that began earlier.
            found = self._record(data, int(starts[number]), final)
            if found is None:
                kept[number:] = False
                break
            end, good = found
            line = int(np.searchsorted(stops, end)) + 1
            kept[number : line - 1] = False
            bad[line - 1] = not good
        return Split(stops, lines.lines, bad).chosen(kept)

    def _unclear(self, data: bytes, stops: Ends, final: bool) -> Ends:
        """The lines that might not be one good record, as far as a glance at their quotes tells."""
        text: Bytes = np.frombuffer(data, np.uint8)
        marks = np.flatnonzero(text == QUOTE)
        marks = marks[: np.searchsorted(marks, stops[-1])] if len(stops) else marks[:0]
        line = np.searchsorted(stops, marks, side="right")
        first = np.searchsorted(marks, np.concatenate([[0], stops[:-1]]))
        opens = (np.arange(len(marks)) - first[line]) % 2 == 0
        before = np.where(marks > 0, text[marks - 1], LF)
        padded = np.append(text, np.full(2, LF if final else 0, np.uint8))
        after, then = padded[marks + 1], padded[marks + 2]
        begins = (before == self._code) | (before == LF)
        closes = (after == self._code) | (after == LF) | ((after == CR) & (then == LF))
        fits = np.where(opens, begins | (before == QUOTE), closes | (after == QUOTE))
        counts = np.bincount(line, minlength=len(stops))
        misfits = np.bincount(line[~fits], minlength=len(stops))
        openers = np.bincount(line[begins], minlength=len(stops))
        return np.flatnonzero(((counts % 2 == 1) | (misfits > 0)) & (openers > 0))

    def _record(self, data: bytes, start: int, final: bool) -> tuple[int, bool] | None:
        """Where the record ends, and whether it is good; nothing if that takes bytes that are not here."""
        at = start
        while True:
            if data[at : at + 1] == b'"':
                closed = _closing(data, at, final, self._code)
                if closed is None:
                    return None
                if closed < 0:
                    line_break = data.find(b"\n", start)
                    end = line_break + 1 or (len(data) if final else 0)
                    return (end, False) if end else None
                at = closed
                if data[at : at + 1] == b"\r":
                    at += 1
            else:
                at = self._plain.match(data, at).end()  # type: ignore[union-attr]
            if at >= len(data):
                return (at, True) if final else None
            at += 1
            if data[at - 1] == LF:
                return at, True

    def cells(self, record: bytes) -> list[tuple[bytes, bool]]:
        """The fields of a good record without their quotes, and whether they had any."""
        text = without_break(record)
        found: list[tuple[bytes, bool]] = []
        at = 0
        while True:
            if text[at : at + 1] == b'"':
                end = INSIDE.match(text, at + 1).end() + 1  # type: ignore[union-attr]
                found.append((text[at + 1 : end - 1].replace(b'""', b'"'), True))
            else:
                end = text.find(self.delimiter.encode(), at)
                end = len(text) if end < 0 else end
                found.append((text[at:end], False))
            if end >= len(text):
                return found
            at = end + 1

    def without_returns(self, data: bytes) -> bytes:
        """Good records as Arrow reads them the same: it takes a carriage return outside of quotes for a line break."""
        if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
            return data
        ends = self.split(data, True).ends.tolist()
        records = [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        return b"".join(self._requoted(record) if b"\r" in record else record for record in records)

    def _requoted(self, record: bytes) -> bytes:
        cells = [
            b'"' + cell.replace(b'"', b'""') + b'"' if quoted or b"\r" in cell else cell
            for cell, quoted in self.cells(record)
        ]
        return self.delimiter.encode().join(cells) + b"\n"


def _closing(data: bytes, at: int, final: bool, delimiter: int) -> int | None:
    """The byte after the quote that closes the one at `at`; -1 if none does, nothing if more bytes must tell."""
    line_break = data.find(b"\n", at)
    bound = max(at + LIMIT, len(data) + 1 if line_break < 0 else line_break)
    stop = INSIDE.match(data, at + 1, bound).end()  # type: ignore[union-attr]
    if stop >= bound:
        return -1
    after = data[stop + 1 : stop + 3]
    if stop + 1 >= len(data) or (after == b"\r" and stop + 2 >= len(data)):
        if not final:
            return None
        return stop + 1 if stop < len(data) else -1
    return stop + 1 if after[0] in (delimiter, LF) or after == b"\r\n" else -1


def without_break(record: bytes) -> bytes:
    return record.removesuffix(b"\n").removesuffix(b"\r")
