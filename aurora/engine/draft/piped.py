"""The first lines of pipes and compressed files, kept in files: no more is read, or unpacked, than is looked at."""

import os
import zlib
from pathlib import Path
from typing import BinaryIO

from aurora.engine.sources.address import check_source
from aurora.engine.sources.address_text import KINDS, Address, read_address
from aurora.engine.sources.files.file_list import list_files
from aurora.engine.sources.files.unpack import is_packed, open_packed
from aurora.engine.sources.text.csv_records import LONGEST
from aurora.engine.sources.text.encodings import is_wide
from aurora.errors import AuroraError

__all__ = ["keep_beginning"]

# A quote that is not closed within so many bytes is none.
MOST_OPEN = 1 << 20
# More than so many bytes are not kept, however long the lines are.
MOST_KEPT = 4 * LONGEST
# What says of files how they are found and unpacked, not what is in them.
OF_FILES = ("end", "max_unpacked", "shed")


def keep_beginning(name: str, address: str, rows: int, folder: Path) -> str:
    """Return the address of files in `folder` with the first rows of a pipe or of compressed files, or all their rows.

    Any other address stays what it is.
    """
    if address.partition(":")[0] not in KINDS:
        return address
    given = read_address(name, address)
    packed = [] if given.is_pipe else _packed(given)
    if not given.is_pipe and not packed:
        return address
    check_source(name, address)
    target = folder / name
    target.mkdir()
    # One line more, which may be the header.
    if given.is_pipe:
        kept = target / (
            "standard input" if given.place in ("-", "/dev/stdin") else os.path.basename(given.place)
        )
        _keep(name, given, given.place, kept, rows + 1)
    elif packed == [given.place]:
        kept = target / os.path.splitext(os.path.basename(given.place))[0]
        _keep(name, given, given.place, kept, rows + 1)
    else:
        kept, left = target, rows
        for number, place in enumerate(packed):
            if left > 0:
                part = target / f"{number:06}-{os.path.basename(place)}".removesuffix(
                    os.path.splitext(place)[1]
                )
                left -= max(_keep(name, given, place, part, left + 1) - 1, 0)
    options = "&".join(f"{key}={value}" for key, value in given.options.items() if key not in OF_FILES)
    return f"{given.kind}:{kept}" + (f"?{options}" if options else "")


def _packed(given: Address) -> list[str]:
    """Return the files of an address if their first lines can be read one file after the other, and all are packed."""
    if (
        given.kind not in ("csv", "json", "lines")
        or "merge" in given.options
        or is_wide(given.style.encoding)
    ):
        return []
    several = "*" in given.place or os.path.isdir(given.place)
    files = list_files(given.place) if several else [given.place]
    if several and "end" in given.options:
        files = [file for file in files if os.path.basename(file) != given.options["end"]]
    return files if files and all(map(is_packed, files)) else []


def _keep(name: str, given: Address, place: str, target: Path, lines: int) -> int:
    """Write the first lines of a place into a file, and return how many they are."""
    try:
        standard = place in ("-", "/dev/stdin")
        with open(0, "rb", closefd=False) if standard else _open(place) as file, open(target, "wb") as kept:
            return _copy_lines(file, kept, lines, given.kind == "csv")
    except (OSError, EOFError, zlib.error) as fault:
        told = getattr(fault, "strerror", None) or str(fault).splitlines()[0]
        raise AuroraError(f"source {name}: {target.name} cannot be read: {told}") from None


def _open(place: str) -> BinaryIO:
    return open_packed(place) if is_packed(place) and os.path.isfile(place) else open(place, "rb")


def _copy_lines(file: BinaryIO, kept: BinaryIO, lines: int, quoted: bool) -> int:
    """Copy so many lines, and return how many there were; lines inside quotes are part of the first of them."""
    # Since a quote is open, so many bytes have come.
    opened, odd, count, size = 0, False, 0, 0
    while count < lines and size < MOST_KEPT and (line := file.readline(LONGEST + 2)):
        size += kept.write(line)
        odd ^= quoted and line.count(b'"') % 2 == 1
        opened = opened + len(line) if odd else 0
        odd &= opened < MOST_OPEN
        count += not odd
    return count
