"""Rule 12: travel time and toll of a journey, for all queries of an expressway at once."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from aurora.linear_road.edition import Edition

__all__ = ["MINUTES", "day_of_week", "segment_means", "stored_segments", "travel"]

Array = np.ndarray[Any, Any]
MINUTES = 1440


def day_of_week(day: Array, today: int) -> Array:
    """The weekday (1 is Sunday) of the day `day` days ago (rule 13).

    >>> day_of_week(np.array([1, 2, 7]), today=2).tolist()
    [1, 7, 2]
    """
    weekday: Array = (today - 1 - day) % 7 + 1
    return weekday


def segment_means(batches: Iterable[pa.RecordBatch], edition: Edition, today: int) -> tuple[Array, Array]:
    """The means of Lav and Cnt for [weekday, minute, direction, segment], over the days that had traffic."""
    shape = (7, MINUTES, 2, edition.segments)
    cells = int(np.prod(shape))
    days, speeds, cars = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    for batch in batches:
        day, minute, way, segment, lav, cnt = (
            batch.column(name).to_numpy(zero_copy_only=False)
            for name in ("Day", "Min", "Dir", "Seg", "Lav", "Cnt")
        )
        traffic = lav > 0
        cell = (day_of_week(day.astype(np.int64), today) - 1) * MINUTES + (minute - 1)
        cell = ((cell * 2 + way) * edition.segments + segment)[traffic]
        if not len(cell):
            continue
        # Counting from the smallest cell keeps the work in proportion to the batch.
        low = cell.min()
        width = cell.max() - low + 1
        for total, weights in ((days, None), (speeds, lav[traffic]), (cars, cnt[traffic])):
            total[low : low + width] += np.bincount(cell - low, weights, minlength=width)
    known = days > 0
    speeds = np.divide(speeds, days, out=np.full(cells, float(edition.free_speed)), where=known)
    cars = np.divide(cars, days, out=np.zeros(cells), where=known)
    return speeds.reshape(shape), cars.reshape(shape)


def travel(queries: dict[str, Array], speeds: Array, cars: Array, edition: Edition) -> tuple[Array, Array]:
    """TravelTime and Toll of each query (Sinit, Send, DOW, TOD), all of them a segment at a time."""
    at, to = queries["Sinit"].astype(np.int64), queries["Send"].astype(np.int64)
    weekday = queries["DOW"].astype(np.int64) - 1
    start = (queries["TOD"].astype(np.int64) - 1) * 60
    way = (to < at).astype(np.int64)
    step = np.where(way == 0, 1, -1)
    seconds, tolls = np.zeros(len(at)), np.zeros(len(at))
    for _ in range(edition.segments):
        going = np.flatnonzero(at != to)
        if not len(going):
            break
        minute = ((start[going] + seconds[going]) // 60).astype(np.int64) % MINUTES
        cell = (weekday[going], minute, way[going], at[going])
        speed, count = speeds[cell], cars[cell]
        seconds[going] += 3600 / speed
        tolls[going] += np.where(edition.tolled(speed, count), edition.toll(count), 0)
        at[going] += step[going]
    return np.floor(seconds + 0.5).astype(np.int64), np.floor(tolls + 0.5).astype(np.int64)


def stored_segments(path: str | None, xway: int) -> Iterator[pa.RecordBatch]:
    """The rows of one expressway in a Parquet SegmentHistory, a batch at a time; none without a path."""
    if path is None:
        return iter(())
    columns = ["Day", "Min", "Dir", "Seg", "Lav", "Cnt"]
    stored = ds.dataset(path, format="parquet")
    batches: Iterator[pa.RecordBatch] = stored.to_batches(
        columns=columns,
        filter=ds.field("XWay") == xway,
        use_threads=False,
        # Little is read ahead: the memory must not grow with the history.
        batch_readahead=2,
        fragment_readahead=1,
    )
    return batches
