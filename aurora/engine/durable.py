"""Files that are whole or not there, also after a power cut."""

import errno
import os
from pathlib import Path

from aurora.engine.private import replace_own
from aurora.errors import AuroraError

__all__ = ["AGAIN", "cannot_write", "make_folder", "sync_file", "sync_folder", "write_whole"]

# What the user of a run does when a fault is mended.
AGAIN = "give the same command again"


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


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step; nobody else may read it."""
    partial = path.with_name(f"{path.name}.partial")
    with open(replace_own(partial), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    sync_folder(path.parent)


def cannot_write(path: str | Path, fault: OSError) -> AuroraError:
    """The fault that a user can mend: which file, and why."""
    return AuroraError(
        f"cannot write {fault.filename or path}: {fault.strerror or fault}; "
        f"fix the cause and {AGAIN}: the run continues where it stopped"
    )
