"""The input of a comparison: the last minutes of the data, whole expressways or a share of their cars."""

import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np

from aurora.errors import AuroraError
from aurora.linear_road.reading import FileSurvey, Survey, map_file, survey
from aurora.linear_road.records import DEFINED, FIELDS, parse_input
from aurora.linear_road.rivals.systems import Input
from aurora.linear_road.scan import copy_lines
from aurora.linear_road.stored_histories import find_histories

__all__ = ["input_for", "last_minutes"]

_SECONDS_AT_ONCE = 30


def last_minutes(data: Path, folder: Path, minutes: int, share: int = 1) -> Path:
    """The last minutes, their times from 0 on, and one in `share` of the cars; the data themselves if that is all.

    Histories come along as links. Lines that are no tuples stay behind.
    """
    found = survey(data)
    first = max(0, (found.last_second // 60 + 1 - minutes) * 60)
    if first <= found.first_second and share == 1:
        return data
    if folder.resolve() in (data.resolve(), *data.resolve().parents):
        raise AuroraError(
            f"--data {data} is what the comparison itself writes into {folder}: choose another --out"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, file in enumerate(found.files):
        name = file.path.name if len(found.files) > 1 else f"xway-{number}.csv"
        _cut(file, folder / name, first, share)
    histories = find_histories(data, None)
    for history in (histories.toll, histories.segment):
        if history is not None:
            (folder / history.name).symlink_to(history.absolute())
    return folder


def _cut(file: FileSurvey, path: Path, first: int, share: int) -> None:
    data = map_file(file.path)
    earlier = np.zeros((max(DEFINED) + 1, len(FIELDS)), np.int64)
    earlier[list(DEFINED), FIELDS.index("Time")] = 1
    at = int(np.searchsorted(file.seconds, first))
    with path.open("wb") as cut:
        for low in range(at, len(file.seconds), _SECONDS_AT_ONCE):
            high = min(low + _SECONDS_AT_ONCE, len(file.seconds))
            lines = data[file.offsets[low] : file.offsets[high]]
            rows = parse_input(lines)
            kept = rows.good & (rows.values[:, FIELDS.index("VID")] % share == 0)
            cut.write(copy_lines(lines, rows.starts, kept, rows.values, earlier, -first).tobytes())


def input_for(expressways: Fraction, data: Path, folder: Path, minutes: int) -> Input:
    """What stands for L expressways: copies of those in the data, or a share of their cars where L is less."""
    there = _expressways(survey(data))
    copies, share = expressways / there, there / expressways
    if copies.denominator == 1:
        return Input(last_minutes(data, folder / "slice", minutes), int(copies))
    if share.denominator == 1:
        return Input(last_minutes(data, folder / f"slice-{share}", minutes, int(share)))
    raise AuroraError(
        f"{float(expressways):g} expressways cannot be made of the {there} in the data: give a multiple of {there}, "
        f"or {there} divided by a whole number"
    )


def _expressways(found: Survey) -> int:
    return found.largest("XWay") + 1
