"""The histories made ready before the clock starts: arrays on disk that every task maps into its memory."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.notes import read_note, write_note
from aurora.linear_road.stored_histories import SEGMENT_COLUMNS, TOLL_COLUMNS, Histories, dataset_of

__all__ = ["MINUTES", "Prepared", "prepare"]

Array = np.ndarray[Any, Any]
MINUTES = 1440
_SEGMENTS = EDITION_2004.segments
_DAYS = EDITION_2004.history_days + 1


@dataclass(frozen=True)
class Prepared:
    """Where the arrays are (None: empty histories), and the expressways and cars of which the others are copies.

    `toll_history` is its address as a stored set, which boxes join with; the arrays of it are for the compiled network.
    """

    folder: str | None = None
    xways: int = 0
    vid_step: int = 0
    known: dict[str, Any] = field(default_factory=dict)
    toll_history: str | None = None

    def arguments(self) -> dict[str, Any]:
        """What a kernel is given of it."""
        return {name: value for name, value in asdict(self).items() if name != "toll_history"}

    def tolls(self) -> tuple[Array, Array, int] | None:
        """Ascending numbers of (VID, Day, XWay), the toll of each, and the factor of the expressway in the number."""
        if self.folder is None or not self.known["tolls"]:
            return None
        keys, tolls = _mapped(f"{self.folder}/toll_keys.npy"), _mapped(f"{self.folder}/tolls.npy")
        return keys, tolls, self.known["toll_xways"]

    def speeds(self, xway: int) -> tuple[Array, Array] | None:
        """For [weekday, minute, direction, segment] the mean speed and the mean number of cars."""
        if self.folder is None or xway not in self.known["xways"]:
            return None
        return _mapped(f"{self.folder}/speed-{xway}.npy"), _mapped(f"{self.folder}/cars-{xway}.npy")

    def original(self, xway: Array, vid: Array) -> tuple[Array, Array]:
        """The expressway and the car whose history a copy shares."""
        if not self.xways:
            return xway, vid
        return xway % self.xways, vid % self.vid_step


@lru_cache(maxsize=64)
def _mapped(path: str) -> Array:
    loaded: Array = np.load(path, mmap_mode="r")
    return loaded


def prepare(
    histories: Histories,
    folder: Path,
    today: int,
    xways: int = 0,
    vid_step: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    fused: bool = True,
) -> Prepared:
    """Writes the arrays; a folder that holds them for the same histories and day is used as it is.

    Those of the toll history are only written for the network that is compiled by hand, `fused`.
    """
    if histories.toll is None and histories.segment is None:
        return Prepared(None, xways, vid_step)
    address, toll = histories.toll_address(), histories.toll if fused else None
    note = folder / "prepared.json"
    sources = {
        "toll": _stamp(toll),
        "segment": _stamp(histories.segment),
        "today": today,
        "checked": _stamp(histories.toll),
    }
    known = read_note(note) or {}
    if known.get("sources") == sources:
        return Prepared(str(folder), xways, vid_step, known, address)
    histories.check_toll()
    folder.mkdir(parents=True, exist_ok=True)
    note.unlink(missing_ok=True)
    known = {"sources": sources, "tolls": False, "xways": [], "toll_xways": 1}
    if toll is not None:
        progress("toll history")
        known["toll_xways"] = _prepare_tolls(toll, folder)
        known["tolls"] = True
    if histories.segment is not None:
        progress("segment history")
        known["xways"] = _prepare_speeds(histories.segment, folder, today)
    write_note(note, known)
    return Prepared(str(folder), xways, vid_step, known, address)


def _stamp(path: Path | None) -> list[Any]:
    """What changes when the history does."""
    if path is None:
        return []
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return [[str(file.absolute()), file.stat().st_size, file.stat().st_mtime_ns] for file in files]


def _prepare_tolls(path: Path, folder: Path) -> int:
    """One ascending number for each car, day and expressway."""
    table = dataset_of(path, TOLL_COLUMNS).to_table(columns=list(TOLL_COLUMNS))
    vid, day, xway, toll = (table[name].to_numpy().astype(np.int64) for name in TOLL_COLUMNS)
    factor = int(xway.max()) + 1 if len(xway) else 1
    keys = (vid * _DAYS + day) * factor + xway
    order = np.argsort(keys, kind="stable")
    np.save(folder / "toll_keys.npy", keys[order])
    np.save(folder / "tolls.npy", toll[order])
    return factor


def _prepare_speeds(path: Path, folder: Path, today: int) -> list[int]:
    """Rule 12's means for each expressway: over the days of a weekday that had traffic."""
    shape = (7, MINUTES, 2, _SEGMENTS)
    cells = int(np.prod(shape))
    sums: dict[int, tuple[Array, Array, Array]] = {}
    columns = ["Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt"]
    for batch in dataset_of(path, SEGMENT_COLUMNS).to_batches(columns=columns, use_threads=False):
        day, minute, xway, way, segment, lav, cnt = (
            batch[name].to_numpy(zero_copy_only=False) for name in columns
        )
        # Day 1 is yesterday; weekdays count from 0, Sunday.
        weekday = (today - 1 - day.astype(np.int64)) % 7
        cell = ((weekday * MINUTES + minute - 1) * 2 + way) * _SEGMENTS + segment
        for number in np.unique(xway).tolist():
            days, speeds, cars = sums.setdefault(number, (np.zeros(cells), np.zeros(cells), np.zeros(cells)))
            mine = (xway == number) & (lav > 0)
            np.add.at(days, cell[mine], 1)
            np.add.at(speeds, cell[mine], lav[mine])
            np.add.at(cars, cell[mine], cnt[mine])
    for number, (days, speeds, cars) in sums.items():
        known = days > 0
        speed = np.divide(speeds, days, out=np.full(len(days), float(EDITION_2004.free_speed)), where=known)
        np.save(folder / f"speed-{number}.npy", speed.reshape(shape))
        np.save(
            folder / f"cars-{number}.npy",
            np.divide(cars, days, out=np.zeros(len(days)), where=known).reshape(shape),
        )
    return sorted(sums)
