"""The first lines of a pipe, kept in a file: what comes once can then be looked at as often as need be."""

import os
from pathlib import Path

from aurora.engine.sources.address import check_source
from aurora.engine.sources.address_text import KINDS, read_address
from aurora.errors import AuroraError

__all__ = ["keep_beginning"]

# A quote that is not closed within so many bytes is none.
MOST_OPEN = 1 << 20


def keep_beginning(name: str, address: str, rows: int, folder: Path) -> str:
    """The address of a file in `folder` with the first rows of a pipe, or the end of it; any other stays what it is."""
    if address.partition(":")[0] not in KINDS:
        return address
    given = read_address(name, address)
    if not given.is_pipe:
        return address
    check_source(name, address)
    label = "standard input" if given.place in ("-", "/dev/stdin") else os.path.basename(given.place)
    path = folder / name / label
    path.parent.mkdir()
    try:
        # One line more, which may be the header.
        path.write_bytes(_first_lines(given.place, rows + 1, given.kind == "csv"))
    except OSError as fault:
        raise AuroraError(f"source {name}: {label} cannot be read: {fault.strerror}") from None
    options = "&".join(f"{key}={value}" for key, value in given.options.items())
    return f"{given.kind}:{path}" + (f"?{options}" if options else "")


def _first_lines(place: str, lines: int, quoted: bool) -> bytes:
    """So many lines, and as many more as the last record has."""
    data = bytearray()
    # Since a quote is open, so many bytes have come.
    opened, odd = 0, False
    standard = place in ("-", "/dev/stdin")
    with open(0 if standard else place, "rb", closefd=not standard) as file:
        for line in file:
            data += line
            lines -= 1
            odd ^= quoted and line.count(b'"') % 2 == 1
            opened = opened + len(line) if odd else 0
            if lines <= 0 and not 0 < opened < MOST_OPEN:
                break
    return bytes(data)
