"""The job of one expressway: merge its two directions by time, add the queries, write the CSV."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.compiled import cached_kernel
from aurora.linear_road.simulator.direction import part_name
from aurora.linear_road.simulator.queries import Queries, draw_queries
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.trips import random_stream

__all__ = ["Written", "file_name", "write_expressway"]

# Fifteen numbers of at most ten digits and a sign, each with a comma or an end of line.
LONGEST_ROW = 15 * 12
FIELDS = 15
SEGMENT_LENGTH = 5280


class Written(NamedTuple):
    expressway: int
    queries: dict[int, int]


def file_name(expressway: int) -> str:
    return f"xway-{expressway}.csv"


@cached_kernel
def _format_rows(rows: NDArray[np.int32], text: NDArray[np.uint8]) -> int:
    """Writes the numbers as CSV; returns the length."""
    at = 0
    digits = np.empty(12, np.uint8)
    for row in range(rows.shape[0]):
        for column in range(FIELDS):
            value = rows[row, column]
            if value < 0:
                text[at] = 45
                at += 1
                value = -value
            count = 0
            while True:
                digits[count] = 48 + value % 10
                value //= 10
                count += 1
                if value == 0:
                    break
            while count > 0:
                count -= 1
                text[at] = digits[count]
                at += 1
            text[at] = 44 if column < FIELDS - 1 else 10
            at += 1
    return at


def _rows(
    reports: NDArray[np.int32], directions: NDArray[np.int32], vids: NDArray[np.int32], expressway: int
) -> NDArray[np.int32]:
    rows = np.full((len(reports), FIELDS), -1, np.int32)
    rows[:, 0] = 0
    rows[:, 1] = reports[:, 0]
    rows[:, 2] = vids[reports[:, 1]]
    rows[:, 3] = reports[:, 3] >> 3
    rows[:, 4] = expressway
    rows[:, 5] = reports[:, 3] & 7
    rows[:, 6] = directions
    rows[:, 7] = reports[:, 2] // SEGMENT_LENGTH
    rows[:, 8] = reports[:, 2]
    return rows


def _query_rows(rows: NDArray[np.int32], queries: Queries, qids: NDArray[np.int32]) -> NDArray[np.int32]:
    asked = np.full((len(queries.report), FIELDS), -1, np.int32)
    asked[:, 0] = queries.kind
    asked[:, 1:3] = rows[queries.report, 1:3]
    asked[:, 4] = queries.expressway
    asked[:, 9] = qids
    asked[:, 10:] = np.stack(queries[3:], axis=1)
    return asked


def write_expressway(
    settings: Settings, expressway: int, counts: NDArray[np.int64], vids: NDArray[np.int32], folder: Path
) -> Written:
    """`counts` has the reports of each direction by kept minute.

    The n-th query of the file has QID n * expressways + expressway: unique in the whole simulation.
    """
    stream = random_stream(settings.seed, expressway, 2)
    asked = 0
    kinds: Counter[int] = Counter()
    parts = [folder / part_name(expressway, direction) for direction in (0, 1)]
    with (
        open(parts[0], "rb") as east,
        open(parts[1], "rb") as west,
        open(folder / file_name(expressway), "wb") as out,
        open(folder / f"progress-{expressway}", "wb", buffering=0) as done,
    ):
        for minute in range(counts.shape[1]):
            chunks = [
                np.frombuffer(part.read(int(count) * 16), np.int32).reshape(-1, 4)
                for part, count in zip((east, west), counts[:, minute], strict=True)
            ]
            reports = np.concatenate(chunks)
            directions = np.repeat(np.arange(2, dtype=np.int32), [len(chunk) for chunk in chunks])
            order = np.argsort(reports[:, 0], kind="stable")
            rows = _rows(reports[order], directions[order], vids, expressway)
            queries = draw_queries(stream, len(rows), settings.queries, expressway, settings.expressways)
            qids = (asked + np.arange(len(queries.report))) * settings.expressways + expressway
            asked += len(qids)
            kinds.update(queries.kind.tolist())
            rows = np.insert(
                rows, queries.report + 1, _query_rows(rows, queries, qids.astype(np.int32)), axis=0
            )
            text = np.empty(len(rows) * LONGEST_ROW, np.uint8)
            out.write(text[: _format_rows(rows, text)].tobytes())
            done.write(b".")
    for part_file in parts:
        part_file.unlink()
    return Written(expressway, {kind: kinds[kind] for kind in (2, 3, 4)})
