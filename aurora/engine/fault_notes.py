"""Faults of tasks, noted where their run finds them: a worker that ends by one does not always get to tell Spark."""

import uuid
from contextlib import suppress
from pathlib import Path

from aurora.engine.private import is_private, make_private

__all__ = ["note_fault", "read_fault"]

NOTE = "fault-"


def note_fault(folder: str, fault: BaseException) -> None:
    """On the local disk; a run whose tasks are elsewhere goes by what Spark says."""
    with suppress(OSError):
        if make_private(folder):
            Path(folder, f"{NOTE}{uuid.uuid4().hex}").write_text(str(fault), encoding="utf-8")


def read_fault(folder: str, since: float) -> str | None:
    """The first fault that was noted since a moment, in seconds since 1970."""
    with suppress(OSError):
        notes = Path(folder).glob(f"{NOTE}*") if is_private(folder) else ()
        found = [path for path in notes if path.stat().st_mtime >= since]
        if found:
            return min(found, key=lambda path: path.stat().st_mtime).read_text(encoding="utf-8")
    return None
