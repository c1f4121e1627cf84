"""Checksums of the files in which Spark notes its batches: one wrong bit in them is found before a run goes on.

Spark trusts what it reads there, so a wrong bit would lead it to other rows, or end the run with a text that names no
file. State is left out: it has checksums of its own.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aurora.errors import AuroraError

__all__ = ["PATHS", "SparkSums", "check_offset", "find_damaged", "seal_offset"]

METADATA, OFFSETS, COMMITS = "metadata", "offsets", "commits"
# The field of an offset that holds the checksum of all others.
SUM = "sum"
# Where the notes of a state say that its files are: a checkpoint may be moved, and is the same as before.
PATHS = re.compile(rb'(?<=")file:[^"]*?/state/(?=\d+/_stateSchema/)')


class SparkSums:
    """The checksums of Spark's files in a folder, brought up to date with each batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lasting: dict[str, int] | None = None

    def take(self, batch: int, before: Mapping[str, int]) -> dict[str, int]:
        """Return the checksums while a batch is taken in; `before` are those of the batch before it.

        By then Spark has written the plan of this batch, and that the one before is done.
        """
        if self._lasting is None:
            # It writes these when a query begins, and never again.
            self._lasting = dict(self._sums(METADATA, *_find_schemas(self._folder)))
        last = f"{OFFSETS}/{batch - 1}"
        kept = {last: before[last]} if last in before else {}
        return {**self._lasting, **kept, **dict(self._sums(f"{COMMITS}/{batch - 1}", f"{OFFSETS}/{batch}"))}

    def _sums(self, *names: str) -> Iterator[tuple[str, int]]:
        for name in names:
            found = _sum(self._folder / name)
            if found is not None:
                yield name, found


def find_damaged(folder: Path, sums: Mapping[str, int]) -> Path | None:
    """Return the first file that is there and has another checksum than it had, if one has."""
    for name, known in sums.items():
        found = _sum(folder / name)
        if found is not None and found != known:
            return folder / name
    return None


def seal_offset(offset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the offset with the checksum of its content."""
    return {**offset, SUM: _sum_content(offset)}


def check_offset(offset: Mapping[str, Any], file: str) -> None:
    """Raise a fault if the content of an offset is not that of its checksum; one without a checksum is taken."""
    if SUM in offset and offset[SUM] != _sum_content(offset):
        raise AuroraError(f"{file} is damaged: restore it, or start over with a new checkpoint")


def _sum_content(offset: Mapping[str, Any]) -> int:
    content = {name: value for name, value in offset.items() if name != SUM}
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _find_schemas(folder: Path) -> list[str]:
    """Return the files in which Spark says what its state is like."""
    found = (entry for entry in folder.glob("state/*/_*/**/*") if entry.is_file())
    return sorted(str(entry.relative_to(folder)) for entry in found if not entry.name.startswith("."))


def _sum(file: Path) -> int | None:
    try:
        return zlib.crc32(PATHS.sub(b"", file.read_bytes()))
    except FileNotFoundError:
        return None
