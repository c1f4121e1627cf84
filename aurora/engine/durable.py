"""Files that are whole or not there, also after a power cut, and that show it if a bit of them was changed.

A note ends with a seal: a checksum of what stands before it. Notes of earlier versions have none, and are read as well.
"""

import errno
import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aurora.engine.private import replace_own
from aurora.errors import AuroraError

__all__ = [
    "AGAIN",
    "RESTORE",
    "Damaged",
    "cannot_write",
    "is_sealed",
    "make_folder",
    "named_faults",
    "read_json",
    "read_whole",
    "remove_tree",
    "replace_note",
    "seal_line",
    "sync_file",
    "sync_folder",
    "unseal_line",
    "write_whole",
]

# What the user of a run does when a fault is mended.
AGAIN = "give the same command again"
# What he does about a file without which a run cannot go on.
RESTORE = "restore it from a backup, or start over with --fresh"
# A seal, also one of which a single character is another one.
SEAL = re.compile(rb"(?:[\n ]#.{8}|(?:[\n ].|.#)[0-9a-f]{8})\Z", re.DOTALL)
SEAL_BYTES = 10
# Seconds between two attempts to remove a folder in which somebody still writes.
PAUSE = 0.01


class Damaged(AuroraError):
    """A file of Aurora's own holds something else than what was written."""


def sync_file(path: str | Path) -> None:
    """What was written to a file, by whatever process of this machine, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: str | Path) -> None:
    """The names in a folder are on the disk, where a file system can do that."""
    try:
        sync_file(path)
    except OSError as fault:
        if fault.errno != errno.EINVAL:
            raise


def make_folder(folder: str | Path) -> None:
    """Makes a folder, unless it is there; its name is then on the disk."""
    if not os.path.isdir(folder):
        os.makedirs(folder)
        sync_folder(os.path.dirname(os.path.abspath(folder)))


def remove_tree(folder: str | Path, patience: float = 30.0) -> None:
    """Remove a folder in which a Spark query that has just stopped may still write and remove files for a moment."""
    until = time.monotonic() + patience
    while os.path.lexists(folder):
        try:
            shutil.rmtree(folder)
        except OSError as fault:
            passing = fault.errno in (errno.ENOTEMPTY, errno.ENOENT)
            if not passing or time.monotonic() > until:
                raise cannot_write(folder, fault) from None
            time.sleep(PAUSE)


@contextmanager
def named_faults(path: str | Path) -> Iterator[None]:
    """Give a fault that names no file this one: what a write to an open file raises names none."""
    try:
        yield
    except OSError as fault:
        if fault.filename is None:
            fault.filename = str(path)
        raise


def write_whole(path: Path, text: str) -> None:
    """Replace a note in one step; it is on the disk, has a seal, and nobody else may read it."""
    partial = path.with_name(f"{path.name}.partial")
    with named_faults(path), open(replace_own(partial), "wb") as file:
        file.write(_seal(text.encode(), b"\n"))
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    sync_folder(path.parent)


def replace_note(path: Path, text: str) -> None:
    """Replace a note in one step, and seal it; after a power cut the old one may be there, or none."""
    partial = path.with_name(f"{path.name}.partial")
    with named_faults(path), open(replace_own(partial), "wb") as file:
        file.write(_seal(text.encode(), b"\n"))
    partial.replace(path)


def read_whole(path: str | Path, remedy: str = RESTORE) -> str:
    """Return what was written to a note; raise a fault that ends with the remedy if something else is there."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _unseal(data, b"\n").decode()
    except ValueError as fault:
        raise Damaged(f"{path} is damaged: {fault}; {remedy}") from None


def read_json(path: str | Path, remedy: str = RESTORE) -> Any:
    """Return the value of a note that is JSON."""
    text = read_whole(path, remedy)
    try:
        return json.loads(text)
    except ValueError:
        raise Damaged(f"{path} is damaged: it is not JSON; {remedy}") from None


def is_sealed(data: bytes) -> bool:
    """Whether a note, or a line, ends with a seal, be it damaged or not."""
    return SEAL.search(data) is not None


def seal_line(line: bytes) -> bytes:
    """Return a line of a file with its own seal and a line end."""
    return _seal(line, b" ") + b"\n"


def unseal_line(line: bytes) -> bytes:
    """Return a line, which has no end, without its seal; raise ValueError if it is damaged."""
    return _unseal(line, b" ")


def _seal(data: bytes, before: bytes) -> bytes:
    return data + before + b"#%08x" % zlib.crc32(data)


def _unseal(data: bytes, before: bytes) -> bytes:
    if SEAL.search(data) is None:
        # Of an earlier version, unless it was cut inside its seal.
        if before + b"#" in data[-SEAL_BYTES:]:
            raise ValueError("it was cut off")
        return data
    text = data[:-SEAL_BYTES]
    if data != _seal(text, before):
        raise ValueError("its checksum does not fit what it holds")
    return text


def cannot_write(path: str | Path, fault: OSError) -> AuroraError:
    """The fault that a user can mend: which file, and why."""
    return AuroraError(
        f"cannot write {fault.filename or path}: {fault.strerror or fault}; "
        f"fix the cause and {AGAIN}: the run continues where it stopped"
    )
