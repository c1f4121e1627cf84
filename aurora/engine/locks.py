"""Locks on what a run writes, held for its whole life; the operating system lifts those of a run that is killed."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from aurora.errors import AuroraError

__all__ = ["Locks", "find_holder", "is_held", "lock_beside"]


def lock_beside(place: str) -> Path:
    """The file whose lock stands for a file or folder: beside it, or in a folder whose neighbourhood is closed."""
    path = Path(os.path.realpath(place))
    if path.is_dir() and not os.access(path.parent, os.W_OK):
        return path / ".lock"
    return path.parent / f".{path.name}.lock"


class Locks:
    """All locks of one run. A lock file that a killed run left behind binds nobody."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

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

    @property
    def held(self) -> bool:
        """Whether it has any."""
        return bool(self._held)

    def release(self) -> None:
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
    """The process that has the lock, if one that lives has it."""
    try:
        holder = int(lock.read_text())
        os.kill(holder, 0)
        handle = os.open(lock, os.O_RDWR)
    except (OSError, ValueError):
        # No file, or that of a run which was killed.
        return None
    try:
        # The number may be that of another process by now.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder
    finally:
        os.close(handle)
    return None


def _locked(what: str, lock: Path) -> int:
    """The open file that holds the lock as long as it is open."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            holder = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            if not isinstance(fault, BlockingIOError):
                raise
            raise AuroraError(
                f"{what} is in use by another run{f', process {holder}' if holder else ''}: "
                "wait for it, stop it, or write elsewhere"
            ) from None
        if _is_still(lock, handle):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            return handle
        # Who had it has removed the file between the opening and the lock.
        os.close(handle)


def _is_still(lock: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(lock), os.fstat(handle))
    except FileNotFoundError:
        return False
