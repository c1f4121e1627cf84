"""Where a run reads its traffic: addresses of the engine's CSV source, and the second that a place in it stands for."""

import glob
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aurora.errors import AuroraError
from aurora.linear_road.delivery import ENDED
from aurora.linear_road.reading import Survey

__all__ = [
    "Second",
    "delivered_address",
    "delivered_second",
    "stored_address",
    "stored_second",
    "unread_second",
]

# Lines have no header, and a field that a type does not define may hold anything: the checks of the input decide.
_LINES = "header=no&unreadable=null"

# The second that was answered last when the source was read up to a place, -1 before the first.
Second = Callable[[dict[str, Any]], int]


def stored_address(found: Survey) -> str:
    """The files of a data folder, merged by Time where there are several, or a single file."""
    paths = [file.path.absolute() for file in found.files]
    if len(paths) == 1:
        path = str(paths[0])
        return f"csv:{glob.escape(path) if '*' in path else path}?{_LINES}"
    pattern = f"{glob.escape(str(paths[0].parent))}/xway-[0-9]*.csv"
    others = sorted({*glob.glob(pattern)} - {*map(str, paths)})
    if others:
        raise AuroraError(
            f"{others[0]} looks like an input file and is none: input files are xway-N.csv; move or rename it"
        )
    return f"csv:{pattern}?{_LINES}&merge=Time"


def stored_second(found: Survey) -> Second:
    (first, *others) = found.files

    def second(place: dict[str, Any]) -> int:
        if others:
            # The last Time that was read of each file.
            return max(-1, *(int(key) for _, _, key, _ in place["files"]))
        begun = int(np.searchsorted(first.offsets[:-1], place["byte"]))
        return int(first.seconds[begun - 1]) if begun else -1

    return second


def delivered_address(folder: Path) -> str:
    """The folder into which the driver puts a file a second: followed until it says so.

    Tuples come by the clock, so load may be shed from them.
    """
    return f"csv:{os.path.abspath(folder)}?{_LINES}&end={ENDED}&shed=yes"


def delivered_second(found: Survey) -> Second:
    seconds = _find_seconds(found)

    def second(place: dict[str, Any]) -> int:
        # The driver delivers every second that has tuples, in order.
        begun = int(place["file"]) + (1 if place["byte"] else 0)
        return int(seconds[begun - 1]) if begun else -1

    return second


def unread_second(found: Survey) -> Second:
    """The first second whose file a run still reads, or may read: a file can take several batches."""
    seconds = _find_seconds(found)

    def second(place: dict[str, Any]) -> int:
        reached = int(place["file"])
        return int(seconds[reached] if reached < len(seconds) else seconds[-1] + 1)

    return second


def _find_seconds(found: Survey) -> npt.NDArray[np.int64]:
    return np.unique(np.concatenate([file.seconds for file in found.files]))
