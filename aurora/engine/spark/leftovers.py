"""What a killed run left in Spark's part of a checkpoint: held against the note, and mended or refused."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from aurora.engine.durable import remove_tree, sync_file, sync_folder
from aurora.engine.spark.sums import PATHS, check_offset, find_damaged
from aurora.errors import AuroraError

__all__ = ["has_batches", "settle_spark"]


def has_batches(folder: Path) -> bool:
    """Whether Spark has noted a batch, be it only as planned."""
    return bool(_numbers(folder / "offsets") or _numbers(folder / "commits"))


def settle_spark(folder: Path, batch: int | None, sums: Mapping[str, int] | None = None) -> None:
    """`batch` is the last one that is noted as done, -1 before the first, None without a note. `sums` are the checksums
    that its note has of Spark's files.

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
        remove_tree(folder)
    elif max(done, default=-1) > batch:
        raise _broken(folder, f"is at batch {max(done)}, but only batch {batch} was written")
    elif batch < 0:
        # Spark refuses to begin where anything lies, and nothing of this was written anywhere.
        remove_tree(folder)
    else:
        torn = _find_torn(folder, batch)
        _check_rest(folder, batch, torn)
        _check_content(folder, batch, torn, sums or {})
        for entry in torn:
            entry.unlink()
        _follow_move(folder)
        # A killed run may have given names that are not on the disk yet, and what is written next relies on them.
        for place in (folder / "offsets", folder / "commits", folder):
            if place.is_dir():
                sync_folder(place)


def _follow_move(folder: Path) -> None:
    """Write into Spark's notes of a state where its files are now, if the folder has been moved since."""
    here = f"file:{json.dumps(str(folder), ensure_ascii=False)[1:-1]}/state/".encode()
    for note in folder.glob("state/*/_metadata/v2/*"):
        text = note.read_bytes()
        moved = PATHS.sub(lambda _: here, text)
        if note.name.isdigit() and moved != text:
            partial = note.with_name(f".{note.name}.partial")
            partial.write_bytes(moved)
            sync_file(partial)
            partial.replace(note)
            # Of what was there before.
            note.with_name(f".{note.name}.crc").unlink(missing_ok=True)
            sync_folder(note.parent)


def _find_torn(folder: Path, batch: int) -> set[Path]:
    """Files that a kill, a full disk or a power cut has cut off, and that Spark writes again."""
    return {
        entry
        for log in (folder / "offsets", folder / "commits")
        for entry in (log.iterdir() if log.is_dir() else [])
        if entry.name.endswith(".tmp")
        or (
            entry.name.isdigit()
            and (log.name == "commits" or int(entry.name) > batch)
            and not _is_whole(entry)
        )
    }


def _check_rest(folder: Path, batch: int, torn: set[Path]) -> None:
    """Raises a fault where Spark would fail, or go on from another state than that of the batch."""
    planned = max(_numbers(folder / "offsets", torn), default=-1)
    if planned < batch:
        raise _broken(folder, f"has not reached batch {batch}, which was already written")
    # Spark reads the last one and the one before it.
    for number in range(max(planned - 1, 0), planned + 1):
        if not _is_whole(folder / "offsets" / str(number)):
            raise _broken(folder / "offsets" / str(number), "is missing or damaged")
    if (folder / "state").is_dir() and max(_numbers(folder / "commits", torn), default=-1) < planned - 1:
        raise _broken(folder / "commits" / str(planned - 1), "is missing or damaged")
    if not _parses(_text(folder / "metadata")):
        raise _broken(folder / "metadata", "is missing or damaged")
    # What Spark notes of a state when it begins; of the state itself it says that it cannot be read.
    for entry in folder.glob("state/*/_*/**/*"):
        if entry.is_file() and not entry.name.startswith(".") and not entry.read_bytes().strip(b"\0"):
            raise _broken(entry, "is missing or damaged")


def _check_content(folder: Path, batch: int, torn: set[Path], sums: Mapping[str, int]) -> None:
    """Raise a fault if a file is not what was written: by the checksums, or for the plan of a batch that is not done
    yet, by its own one and by the settings of Spark in the plan before."""
    whole = {name: known for name, known in sums.items() if folder / name not in torn}
    damaged = find_damaged(folder, whole)
    if damaged is not None:
        raise _broken(damaged, "is damaged")
    done = folder / "commits" / str(batch)
    if done.exists() and done not in torn and not _has_state(folder, done):
        raise _broken(done, "is damaged, or files of the state that it names are missing")
    planned = folder / "offsets" / str(batch + 1)
    if not planned.exists() or planned in torn:
        return
    before, now = _read_plan(folder / "offsets" / str(batch)), _read_plan(planned)
    if before[0] != now[0]:
        raise _broken(planned, "is damaged")
    for offset in now[1:]:
        if isinstance(offset, dict):
            check_offset(offset, str(planned))


def _has_state(folder: Path, done: Path) -> bool:
    """Whether there is a file for each state that a batch has left."""
    noted = json.loads(_text(done).split("\n")[1])
    marks = noted.get("stateUniqueIds") if isinstance(noted, dict) else None
    if marks is None:
        return not (folder / "state").is_dir()
    return all(
        any((folder / "state" / operator / str(number)).rglob(f"*_{mark}.*"))
        for operator, partitions in marks.items()
        for number, stores in enumerate(partitions)
        for mark in stores
    )


def _read_plan(entry: Path) -> list[Any]:
    """Return the settings of Spark under which a batch was planned, and the offsets that it goes to."""
    _, head, *offsets = [json.loads(line) if line[:1] == "{" else line for line in _text(entry).split("\n")]
    return [head.get("conf") if isinstance(head, dict) else None, *offsets]


def _is_whole(entry: Path) -> bool:
    """Spark writes a version and behind it lines of JSON, or a dash."""
    version, *lines = _text(entry).split("\n")
    return version.startswith("v") and bool(lines) and all(line == "-" or _parses(line) for line in lines)


def _text(entry: Path) -> str:
    return entry.read_text(encoding="utf-8", errors="replace") if entry.exists() else ""


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _numbers(log: Path, without: Collection[Path] = ()) -> list[int]:
    if not log.is_dir():
        return []
    return [int(entry.name) for entry in log.iterdir() if entry.name.isdigit() and entry not in without]


def _broken(folder: Path, what: str) -> AuroraError:
    return AuroraError(
        f"the checkpoint cannot be continued: {folder} {what}; restore it, or start over with --fresh"
    )
