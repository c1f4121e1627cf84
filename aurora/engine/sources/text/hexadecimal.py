"""Integers in hexadecimal, as 0x10: Arrow reads them, unlike other readers of CSV."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aurora.algebra.tuples.schema import Schema
from aurora.engine.sources.text.reasons import Unreadable, not_a

__all__ = ["check_hexadecimal", "is_hexadecimal", "may_hold_hexadecimal"]

CELL = r"^[ \t]*0[xX]"
ZERO, X, TO_LOWER = b"0x "
# So many bytes are looked at together.
PIECE = 1 << 18


def may_hold_hexadecimal(data: bytes) -> bool:
    """Whether 0x or 0X is anywhere in it. Text without an x, as most numbers are, costs next to nothing."""
    if b"x" not in data and b"X" not in data:
        return False
    text = np.frombuffer(data, np.uint8)
    pieces = (text[start : start + PIECE + 1] for start in range(0, len(text), PIECE))
    return any(bool(((piece[:-1] == ZERO) & (piece[1:] | TO_LOWER == X)).any()) for piece in pieces)


def is_hexadecimal(text: str) -> bool:
    return re.match(CELL, text) is not None


def check_hexadecimal(texts: pa.Table, schema: Schema) -> None:
    """Raises a fault where a cell is hexadecimal; `texts` are the cells of columns that were read as integers."""
    for name in texts.column_names:
        found = pc.match_substring_regex(texts.column(name), CELL)
        if pc.any(found).as_py():
            raise Unreadable(not_a(name, texts.column(name).filter(found)[0].as_py(), schema[name]))
