"""Folders and files that are this user's alone, also where others may write: below the system's temporary folder."""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = [
    "close_to_others",
    "is_owner",
    "is_private",
    "is_trusted_file",
    "make_private",
    "open_own",
    "own_folder",
    "replace_own",
]

OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
LINK = "it is a link or no regular file, so another user may have put it there: remove it"


def is_private(folder: str | Path) -> bool:
    """Whether it is a folder, not a link to one, that belongs to this user and is closed to all others."""
    return _is_folder(folder, {os.geteuid()}, OTHERS)


def make_private(folder: str | Path) -> bool:
    """Make a folder that is closed to others, unless it is there; return whether it is private now.

    A folder of somebody else, or one that others could have changed, is left alone: its user takes another name.
    """
    with suppress(OSError):
        os.mkdir(folder, 0o700)
    return is_private(folder)


def own_folder(prefix: str, inside: str | None = None) -> Path:
    """Return a new private folder with a random name, below the system's temporary folder unless said."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=inside))


def close_to_others(folder: str | Path) -> bool:
    """Make a private folder, or close one of this user's that is there; return whether nobody but root can change what
    is in it from now on. What others could put into it before is still there.
    """
    with suppress(OSError):
        os.makedirs(folder, 0o700, exist_ok=True)
        if _is_folder(folder, {os.geteuid()}, 0):
            os.chmod(folder, 0o700)
    return _is_folder(folder, {os.geteuid(), 0}, OTHERS_WRITE)


def is_trusted_file(path: str | Path) -> bool:
    """Whether it is a regular file, not a link to one, that only this user, or only root, may write."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (
        stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), 0) and not found.st_mode & OTHERS_WRITE
    )


def is_owner(user: int, folder: str | Path) -> bool:
    """Whether what lies in a folder and belongs to that user is this one's.

    Some file systems, of other machines or of a host, give all files one owner, whoever makes them: there the new ones
    of this user have it, too.
    """
    if user == os.geteuid():
        return True
    try:
        handle, probe = tempfile.mkstemp(prefix=".owner-", dir=folder)
    except OSError:
        return False
    os.unlink(probe)
    try:
        return os.fstat(handle).st_uid == user
    finally:
        os.close(handle)


def open_own(path: str | Path, flags: int, mode: int = 0o600) -> int:
    """Open a file as `os.open` does, but no link, no pipe and no file of another user; raise OSError instead.

    What was opened is looked at before it is changed, so O_TRUNC has no place here: use `os.ftruncate` behind it.
    """
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            # What the system says of a link sounds as if there were many.
            raise OSError(fault.errno, LINK, str(path)) from None
        raise
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.ELOOP, LINK, str(path))
        if not is_owner(found.st_uid, os.path.dirname(path)):
            raise OSError(errno.EPERM, f"it belongs to another user, number {found.st_uid}", str(path))
    except OSError:
        os.close(handle)
        raise
    return handle


def replace_own(path: str | Path, mode: int = 0o600) -> int:
    """Open a new, empty file for writing in place of whatever stands there; nothing is followed or truncated."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def _is_folder(folder: str | Path, owners: set[int], without: int) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners and not found.st_mode & without
