"""What a killed run left in Spark's part of a checkpoint: held against the note, and mended or refused."""

import shutil
from pathlib import Path

from aurora.errors import AuroraError

__all__ = ["has_batches", "settle_spark"]


def has_batches(folder: Path) -> bool:
    """Whether Spark has noted a batch, be it only as planned."""
    return bool(_numbers(folder / "offsets") or _numbers(folder / "commits"))


def settle_spark(folder: Path, batch: int | None) -> None:
    """`batch` is the last one that is noted as done, -1 before the first, None without a note.

    Spark notes a batch before it runs, under offsets, and behind it, under commits: it may be one ahead with the one,
    and one behind with the other. Anything else would lose rows or bring them twice.
    """
    if not folder.is_dir():
        if batch is not None and batch >= 0:
            raise _broken(folder, "is missing")
        return
    planned, done = _numbers(folder / "offsets"), _numbers(folder / "commits")
    if batch is None:
        if planned or done:
            raise _broken(folder, "has batches, but the record of what was written is missing")
        shutil.rmtree(folder)
    elif max(done, default=-1) > batch:
        raise _broken(folder, f"is at batch {max(done)}, but only batch {batch} was written")
    elif batch < 0:
        # Spark refuses to begin where anything lies, and nothing of this was written anywhere.
        shutil.rmtree(folder)
    else:
        _remove_torn(folder, batch)
        if max(_numbers(folder / "offsets"), default=-1) < batch:
            raise _broken(folder, f"has not reached batch {batch}, which was already written")


def _remove_torn(folder: Path, batch: int) -> None:
    """Files that a kill or a full disk cut off while they were written: Spark writes them again."""
    for log in (folder / "offsets", folder / "commits"):
        for entry in log.iterdir() if log.is_dir() else []:
            empty = entry.name.isdigit() and entry.stat().st_size == 0
            if entry.name.endswith(".tmp") or (empty and (log.name == "commits" or int(entry.name) > batch)):
                entry.unlink()


def _numbers(log: Path) -> list[int]:
    return [int(entry.name) for entry in log.iterdir() if entry.name.isdigit()] if log.is_dir() else []


def _broken(folder: Path, what: str) -> AuroraError:
    return AuroraError(
        f"the checkpoint cannot be continued: {folder} {what}; restore it, or start over with --fresh"
    )
