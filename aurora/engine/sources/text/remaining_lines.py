"""How many lines are left in files, and how long they are, about: from their bytes, and those that were read."""

import os
from collections.abc import Sequence
from itertools import islice

from aurora.engine.sources.text.text import Text

__all__ = ["line_bytes", "lines_in", "lines_left"]

# So many files are looked at; of more, the others are taken to be like them.
LOOK = 500
# What a line has before one was read.
LINE = 100
# So many bytes are looked at to see how long the next lines are.
AHEAD = 1 << 20


def lines_in(size: int, read: int, lines: int) -> int:
    """Lines in so many bytes, if they are like those that were read.

    >>> lines_in(1000, read=200, lines=10), lines_in(1000, read=0, lines=0), lines_in(3, read=200, lines=10)
    (50, 10, 1)
    """
    if size <= 0:
        return 0
    return max(1, round(size * lines / read) if read and lines else round(size / LINE))


def lines_left(files: Sequence[str], number: int, byte: int, line: int) -> int:
    """Behind a byte of a file of a list, and in the files behind it; 0 where they are gone."""
    if number >= len(files):
        return 0
    rest = [_size(path) for path in islice(files, number, number + LOOK)]
    whole = sum(rest) * (len(files) - number) / len(rest)
    return lines_in(round(whole) - byte, byte, line)


def line_bytes(text: Text, byte: int, line: int) -> int:
    """Those of a line behind a place: as in what comes next, or as in what was read, whichever is more."""
    ahead = text.read(byte, byte + AHEAD)
    return max(len(ahead) // max(ahead.count(b"\n"), 1), byte // line if line else 0)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
