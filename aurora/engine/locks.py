"""Locks on what a run writes, held for its whole life; the operating system lifts those of a run that is killed."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from aurora.engine.private import open_own
from aurora.errors import AuroraError

__all__ = ["Locks", "check_outside", "find_holder", "is_held", "lock_beside"]


def lock_beside(place: str) -> Path:
    """The file whose lock stands for a file or folder: beside it, or in a folder whose neighbourhood is closed."""
    path = Path(os.path.realpath(place))
    if path.is_dir() and not os.access(path.parent, os.W_OK):
        return path / ".lock"
    return path.parent / f".{path.name}.lock"


def check_outside(what: str, place: str, own: Path | None = None) -> None:
    """Raise a fault if a path lies in a folder that another run writes: its home, its checkpoint, a sink.

    `own` lies in what the run itself, or the one beside which it runs in this process, writes.
    """
    path = Path(os.path.realpath(place))
    own = None if own is None else Path(os.path.realpath(own))
    for folder in path.parents:
        for lock in (folder / "lock", lock_beside(str(folder))):
            holder = find_holder(lock)
            ours = holder == os.getpid() and own is not None and own.is_relative_to(folder)
            if holder is not None and not ours:
                raise AuroraError(
                    f"{what} writes {path}, and {folder} is in use by another run, process {holder}, for what it "
                    "writes itself: choose another path"
                )


class Locks:
    """All locks of one run. A lock file that a killed run left behind binds nobody."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}
        # What is written itself, by its device and inode: links lead to one file by several paths.
        self._places: dict[tuple[int, int], int] = {}

    def take(self, what: str, lock: Path) -> None:
        """Raises a fault that names the holder if another run has it."""
        if lock in self._held:
            return
        try:
            self._held[lock] = _locked(what, lock)
        except OSError as fault:
            raise AuroraError(
                f"{what} cannot be locked: {fault.filename or lock}: {fault.strerror or fault}; choose another path"
            ) from None

    def take_place(self, what: str, place: str) -> None:
        """Take a file or folder that is written: by its path, and, if it is there, by its device and inode as well."""
        self.take(what, lock_beside(place))
        folder = os.path.isdir(place)
        try:
            handle = os.open(place, os.O_RDONLY if folder else os.O_RDWR)
        except OSError:
            # It is not there yet, or cannot be written: who writes it says so.
            return
        found = os.fstat(handle)
        key = found.st_dev, found.st_ino
        if key in self._places:
            os.close(handle)
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise AuroraError(_in_use(what, _find_locker(found), " by another path")) from None
        except OSError:
            # Not every file system has such locks for folders.
            os.close(handle)
            return
        self._places[key] = handle

    @property
    def held(self) -> bool:
        """Whether it has any."""
        return bool(self._held)

    def release(self) -> None:
        while self._places:
            os.close(self._places.popitem()[1])
        while self._held:
            lock, handle = self._held.popitem()
            with suppress(OSError):
                if _is_still(lock, handle):
                    lock.unlink()
            os.close(handle)

    def __enter__(self) -> "Locks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(lock: Path) -> bool:
    """Whether a process that lives has the lock."""
    return find_holder(lock) is not None


def find_holder(lock: Path) -> int | None:
    """The process that has the lock, if one of this user's that lives has it."""
    try:
        handle = open_own(lock, os.O_RDWR)
    except OSError:
        return None
    try:
        holder = int(os.read(handle, 20))
        os.kill(holder, 0)
        # The number may be that of another process by now.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder
    except (OSError, ValueError):
        # That of a run which was killed.
        return None
    finally:
        os.close(handle)
    return None


def _locked(what: str, lock: Path) -> int:
    """The open file that holds the lock as long as it is open."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = open_own(lock, os.O_RDWR | os.O_CREAT)
        try:
            # One of an earlier version could be locked by everybody who may read it.
            os.fchmod(handle, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            holder = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            if not isinstance(fault, BlockingIOError):
                raise
            raise AuroraError(_in_use(what, holder)) from None
        if _is_still(lock, handle):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            return handle
        # Who had it has removed the file between the opening and the lock.
        os.close(handle)


def _in_use(what: str, holder: str, how: str = "") -> str:
    told = f", process {holder}" if holder else ""
    return f"{what} is in use by another run{told}{how}: wait for it, stop it, or write elsewhere"


def _find_locker(found: os.stat_result) -> str:
    """Return the number of the process that has a file locked, as far as the system says."""
    device, file = found.st_dev, found.st_ino
    wanted = f"{os.major(device):02x}:{os.minor(device):02x}:{file}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if wanted in words and "FLOCK" in words and "->" not in words:
                return words[words.index(wanted) - 1]
    return ""


def _is_still(lock: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.lstat(lock), os.fstat(handle))
    except FileNotFoundError:
        return False
