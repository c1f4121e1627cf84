"""A data folder: events in numbered files, the static file, and what they were made from."""

import errno
import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from aurora.errors import AuroraError
from aurora.nexmark.firehose.categories import categories_csv
from aurora.nexmark.firehose.facts import KIND
from aurora.nexmark.firehose.lines import json_lines
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.settings import Settings

__all__ = ["SUMMARY", "generate"]

SUMMARY = "generation.json"
UNFINISHED = ".generating-"
CHUNK = 50_000


def generate(
    settings: Settings,
    events: int,
    out: Path,
    per_file: int = 1_000_000,
    progress: Callable[[int], None] = lambda _events: None,
) -> dict[str, Any]:
    """Leaves events-NNNNN.jsonl, categories.csv and, last of all, generation.json in `out`."""
    if events < 1:
        raise AuroraError(f"--events must be at least 1, not {events}")
    with _unfinished(out) as folder:
        counts = np.zeros(4, np.int64)
        names = []
        for first in range(0, events, per_file):
            last = min(first + per_file, events)
            names.append(f"events-{first // per_file:05d}.jsonl")
            with open(folder / names[-1], "wb") as file:
                for text, made in _ahead(settings, first, last):
                    file.write(text)
                    counts += made
                    progress(int(counts.sum()))
        (folder / "categories.csv").write_text(categories_csv(settings))
        names.append("categories.csv")
        kinds = ("person", "auction", "bid", "closed_auction")
        summary = settings.described() | {
            "events": events,
            "counts": dict(zip(kinds, counts.tolist(), strict=True)),
        }
        (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
        _move_in(folder, out, names)
    return summary


def _made(settings: Settings, start: int, stop: int) -> tuple[memoryview, Any]:
    facts = facts_of(settings, start, stop)
    return json_lines(facts), np.bincount(facts[:, KIND], minlength=4)


def _ahead(settings: Settings, start: int, stop: int) -> Iterator[tuple[memoryview, Any]]:
    """The chunks of a range in order, made by all cores a few chunks ahead."""
    cores = os.cpu_count() or 1
    pending: deque[Future[tuple[memoryview, Any]]] = deque()
    with ThreadPoolExecutor(cores) as pool:
        for first in range(start, stop, CHUNK):
            pending.append(pool.submit(_made, settings, first, min(first + CHUNK, stop)))
            if len(pending) > cores + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _move_in(folder: Path, out: Path, names: list[str]) -> None:
    """Older events go first, their summary before them, so that no mixture ever looks complete."""
    (out / SUMMARY).unlink(missing_ok=True)
    for old in out.glob("events-*"):
        old.unlink()
    for name in [*names, SUMMARY]:
        (folder / name).rename(out / name)


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
        remedy = "make room, or choose another folder" if full else "choose another folder"
        raise AuroraError(f"writing to --out {out} failed: {fault.strerror or fault}; {remedy}") from fault
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if made and not any(out.iterdir()):
            out.rmdir()
