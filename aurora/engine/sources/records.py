"""Where records end in a file of lines; a line break inside quotes does not end a CSV record."""

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["NOTHING", "Scan", "scan"]

CHUNK = 4 << 20
Ends = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scan:
    """The byte after each record, and how many lines there were up to it (more than one where records hold breaks)."""

    ends: Ends
    lines: Ends


NOTHING = Scan(np.empty(0, np.int64), np.empty(0, np.int64))


def scan(path: str, start: int, records: int, quotes: bool, complete: bool, stop: int | None = None) -> Scan:
    """Finds up to `records` records from byte `start` on; the last needs no line break if the file is complete."""
    size = os.path.getsize(path) if stop is None else stop
    ends: list[Ends] = []
    lines: list[Ends] = []
    found = line = 0
    place = start
    inside = False
    with open(path, "rb") as file:
        file.seek(start)
        while place < size and found < records:
            data = file.read(min(CHUNK, size - place))
            if not data:
                break
            breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == 10)
            number = np.arange(line + 1, line + 1 + len(breaks))
            line += len(breaks)
            if quotes and (inside or b'"' in data):
                marks = np.flatnonzero(np.frombuffer(data, np.uint8) == 34)
                open_ = (np.searchsorted(marks, breaks) + inside) % 2 == 1
                breaks, number = breaks[~open_], number[~open_]
                inside = (len(marks) + inside) % 2 == 1
            ends.append(breaks + place + 1)
            lines.append(number)
            found += len(breaks)
            place += len(data)
    all_ends = np.concatenate([*ends, np.empty(0, np.int64)])[:records]
    all_lines = np.concatenate([*lines, np.empty(0, np.int64)])[:records]
    last = int(all_ends[-1]) if len(all_ends) else start
    if complete and found < records and place >= size and last < size:
        all_ends = np.append(all_ends, size)
        all_lines = np.append(all_lines, line + 1)
    return Scan(all_ends, all_lines)
