"""A data folder: events in numbered files, the static file, and what they were made from."""

import errno
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aurora.errors import AuroraError
from aurora.nexmark.firehose.ahead import chunks, in_order
from aurora.nexmark.firehose.categories import categories_csv
from aurora.nexmark.firehose.facts import KIND, KINDS
from aurora.nexmark.firehose.files import FORMATS, Format
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.streams import members

__all__ = ["CATEGORIES", "SUMMARY", "generate"]

SUMMARY = "generation.json"
CATEGORIES = "categories.csv"
UNFINISHED = ".generating-"
# The names of events, and of the folders with the bids of a stream.
OLDER = re.compile(rf"events-\d{{5,}}\.({'|'.join(form.ending for form in FORMATS.values())})|bid-\d+")
PER_FILE = 1_000_000


@dataclass(frozen=True)
class _Chunk:
    """The events of a range, written: all of them, then those of each bid stream if there are several."""

    parts: list[Any]
    counts: NDArray[np.int64]


def generate(
    settings: Settings,
    events: int,
    out: Path,
    form: str = "json",
    per_file: int = PER_FILE,
    progress: Callable[[int], None] = lambda _events: None,
) -> dict[str, Any]:
    """Leaves the events, categories.csv and, last of all, generation.json in `out`; returns what is in the latter.

    With several bid streams the bids of each stand once more in a folder of their own.
    """
    if events < 1:
        raise AuroraError(f"--events must be at least 1, not {events}")
    if per_file < 1:
        raise AuroraError(f"--events-per-file must be at least 1, not {per_file}")
    if form not in FORMATS:
        raise AuroraError(f"there is no format {form!r}: give {', '.join(FORMATS)}")
    if form == "xml" and settings.profile != "draft":
        raise AuroraError("--format xml is for --profile draft: the standard one has json and parquet")
    places = ["", *(stream for stream in settings.streams if stream.startswith("bid-"))]
    _check_older(out)
    with _unfinished(out) as folder:
        counts = np.zeros(len(KINDS), np.int64)
        for place in places:
            (folder / place).mkdir(exist_ok=True)
        for first in range(0, events, per_file):
            name = f"events-{first // per_file:05d}.{FORMATS[form].ending}"
            last = min(first + per_file, events)
            for made in _written([folder / place / name for place in places], settings, form, first, last):
                counts += made
                progress(int(counts.sum()))
        (folder / CATEGORIES).write_text(categories_csv(settings))
        summary = settings.described() | {
            "format": form,
            "events": events,
            "counts": dict(zip(KINDS, counts.tolist(), strict=True)),
        }
        (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
        _move_in(folder, out)
    return summary


def _written(
    files: list[Path], settings: Settings, form: str, start: int, stop: int
) -> Iterator[NDArray[np.int64]]:
    """Writes a range of events to a file of each stream, and yields what was written, kind by kind."""
    chosen: Format = FORMATS[form]
    streams = settings.streams[1:]

    def made(span: tuple[int, int]) -> _Chunk:
        facts = facts_of(settings, *span)
        parts = [facts, *(np.ascontiguousarray(facts[:, members(facts, stream)]) for stream in streams)]
        counts = np.bincount(facts[KIND], minlength=len(KINDS))
        return _Chunk([chosen.encode(part, settings) for part in parts], counts)

    with ExitStack() as stack:
        taking = [stack.enter_context(chosen.open(file, settings)) for file in files]
        for chunk in in_order(made, chunks(start, stop)):
            for take, part in zip(taking, chunk.parts, strict=True):
                take(part)
            yield chunk.counts


def _check_older(out: Path) -> None:
    """Raises a fault if files of somebody else have names like those of older events, which are removed."""
    for path in [*out.glob("events-*"), *out.glob("bid-*")] if out.is_dir() else []:
        if not OLDER.fullmatch(path.name) or path.is_dir() != path.name.startswith("bid-"):
            raise AuroraError(
                f"--out {out} holds {path.name}, which is not from aurora nexmark generate, and would be taken for its "
                "events: move it away, or choose another folder"
            )


def _move_in(folder: Path, out: Path) -> None:
    """Older events go first, their summary before them, so that no mixture ever looks complete."""
    (out / SUMMARY).unlink(missing_ok=True)
    for old in out.glob("events-*"):
        old.unlink()
    for old in out.glob("bid-*"):
        shutil.rmtree(old)
    for new in sorted(folder.iterdir(), key=lambda path: path.name == SUMMARY):
        new.rename(out / new.name)


@contextmanager
def _unfinished(out: Path) -> Iterator[Path]:
    """A folder in `out` for the work under way; it never stays, nor does an `out` made for nothing."""
    made = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=out)).resolve()
    except OSError as fault:
        raise AuroraError(f"cannot write to --out {out}: {fault.strerror}; choose another folder") from fault
    try:
        yield folder
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "make room (about 300 bytes an event), or choose another folder"
        raise AuroraError(
            f"writing to --out {out} failed: {fault.strerror or fault}; "
            + (remedy if full else "choose another folder")
        ) from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if made and not any(out.iterdir()):
            out.rmdir()
