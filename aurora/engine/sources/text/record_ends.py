"""Where records end in a text: a look at it in large chunks, without parsing."""

from dataclasses import replace

import numpy as np

from aurora.engine.sources.text.csv_records import LONGEST, Csv, Ends, Mask, Split, split_lines
from aurora.engine.sources.text.text import Text

__all__ = ["NOTHING", "is_too_long", "scan"]

SMALL, LARGE = 1 << 16, 4 << 20
# Most lines are shorter: so much is looked at first for each record that is wanted.
USUAL = 128

NOTHING = Split(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))


def scan(
    text: Text, start: int, records: int, csv: Csv | None, complete: bool, stop: int | None = None
) -> Split:
    """Finds up to `records` records from byte `start` on, of lines alone without `csv`; ends are bytes of the text.

    The last one needs no line break if the text is complete. Of a record that is too long, only the end is looked for.
    """
    size = text.size() if stop is None else stop
    found: list[Split] = []
    number = lines = 0
    place, held = start, b""
    chunk = min(LARGE, max(SMALL, records * USUAL))
    while number < records and place + len(held) < size:
        begins = place + len(held)
        data = held + text.read(begins, min(size, begins + chunk))
        if len(data) == len(held):
            break
        final = complete and place + len(data) >= size
        part = csv.split(data, final) if csv else split_lines(data, final)
        if len(part.ends):
            found.append(Split(part.ends + place, part.lines + lines, part.bad))
            number += len(part.ends)
            lines += int(part.lines[-1])
            used = int(part.ends[-1])
            place, held = place + used, data[used:]
        elif len(data) > LONGEST:
            end = _find_break(text, place + len(data), size) or (size if complete else 0)
            if not end:
                break
            lines += 1
            found.append(Split(np.array([end]), np.array([lines]), np.ones(1, np.bool_)))
            number += 1
            place, held = end, b""
        else:
            held = data
        # A record that is longer than all this is not looked at in many small steps.
        chunk = max(min(LARGE, chunk * 4), len(held))
    if not found:
        return NOTHING
    joined = Split(
        np.concatenate([part.ends for part in found]),
        np.concatenate([part.lines for part in found]),
        np.concatenate([part.bad for part in found]),
    )
    return replace(joined, bad=joined.bad | is_too_long(joined.ends, start)).chosen(slice(records))


def is_too_long(ends: Ends, start: int) -> Mask:
    """Return which records are, the first of which begins at `start`."""
    return np.diff(ends, prepend=start) > LONGEST


def _find_break(text: Text, place: int, size: int) -> int:
    """Return the place behind the next line break, or 0 if there is none."""
    while place < size:
        data = text.read(place, min(size, place + LARGE))
        if not data:
            return 0
        at = data.find(b"\n")
        if at >= 0:
            return place + at + 1
        place += len(data)
    return 0
