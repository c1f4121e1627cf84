"""Integers in hexadecimal, as 0x10: Arrow reads them, unlike other readers of CSV."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text.reasons import Unreadable, not_a

__all__ = ["check_hexadecimal", "hexadecimal_columns", "is_hexadecimal"]

CELL = r"^[ \t]*0[xX]"
ZERO, X, TO_LOWER = b"0x "
LF, QUOTE, SPACE, TAB = b'\n" \t'
# So many bytes are looked at together.
PIECE = 1 << 18


def hexadecimal_columns(data: bytes, delimiter: str) -> set[int] | None:
    """Return the numbers of the columns of which some cell may begin with 0x or 0X; nothing where quotes hide that.

    To read the integers of a block once more, as text, takes longer than all the rest: it is only worth it where the
    texts stand in a column of integers. Text without an x, as most numbers are, costs next to nothing.

    >>> sorted(hexadecimal_columns(b"1,a0x,0x1\\n2, 0XF,3\\n", ","))
    [1, 2]
    """
    if b"x" not in data and b"X" not in data:
        return set()
    found: set[int] = set()
    start = 0
    while start < len(data):
        stop = (data.find(b"\n", min(start + PIECE, len(data))) + 1) or len(data)
        text = np.frombuffer(data, np.uint8, stop - start, start)
        marks = np.flatnonzero((text[:-1] == ZERO) & (text[1:] | TO_LOWER == X))
        if len(marks):
            before = np.where(marks > 0, text[marks - 1], LF)
            marks = marks[np.isin(before, [ord(delimiter), LF, QUOTE, SPACE, TAB])]
        if len(marks):
            if b'"' in data:
                return None
            delimiters = np.flatnonzero(text == ord(delimiter))
            lines = np.concatenate([[0], np.flatnonzero(text == LF) + 1])
            begins = lines[np.searchsorted(lines, marks, side="right") - 1]
            columns = np.searchsorted(delimiters, marks) - np.searchsorted(delimiters, begins)
            found.update(np.unique(columns).tolist())
        start = stop
    return found


def is_hexadecimal(text: str) -> bool:
    return re.match(CELL, text) is not None


def check_hexadecimal(texts: pa.Table, schema: Schema) -> None:
    """Raises a fault where a cell is hexadecimal; `texts` are the cells of columns that were read as integers."""
    for name in texts.column_names:
        found = pc.match_substring_regex(texts.column(name), CELL)
        if pc.any(found).as_py():
            raise Unreadable(not_a(name, texts.column(name).filter(found)[0].as_py(), schema[name]))
