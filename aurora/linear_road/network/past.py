"""The query of the past about travel times (rule 12), answered where it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aurora import Train, Turn, caused
from aurora.linear_road.compiled import cached_kernel
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.numbers import Array, numbers
from aurora.linear_road.network.prepared import MINUTES, Prepared

__all__ = ["JOURNEYS", "answer_requests", "journeys"]

JOURNEYS = {"answers": "Time int, QID bigint, TravelTime bigint, Toll bigint"}


def journeys(**prepared: Any) -> "Journeys":
    """The kernel on the histories that `Prepared(**prepared)` has."""
    return Journeys(Prepared(**prepared))


@dataclass(frozen=True)
class Journeys:
    """Travel time and toll of a journey from the means of its weekday, minute by minute as the car goes along."""

    prepared: Prepared

    def __call__(self, inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
        requests = inputs["requests"]
        names = ("XWay", "Sinit", "Send", "DOW", "TOD")
        xway, start, end, weekday, minute = (numbers(requests.rows, name).astype(np.int64) for name in names)
        xway, _ = self.prepared.original(xway, np.empty(0, np.int64))
        seconds, tolls = np.zeros(len(requests)), np.zeros(len(requests))
        for road in np.unique(xway).tolist():
            mine = np.flatnonzero(xway == road)
            stored = self.prepared.speeds(road)
            if stored is None:
                seconds[mine] = np.abs(end[mine] - start[mine]) * 3600 / EDITION_2004.free_speed
            else:
                _walk(
                    mine,
                    (start, end, weekday, minute),
                    stored[0],
                    stored[1],
                    seconds,
                    tolls,
                    (MINUTES, EDITION_2004.toll_speed, EDITION_2004.toll_cars),
                )
        whole = {"TravelTime": np.floor(seconds + 0.5), "Toll": np.floor(tolls + 0.5)}
        return answer_requests(requests, {name: values.astype(np.int64) for name, values in whole.items()})


@cached_kernel
def _walk(queries: Any, asked: Any, speeds: Any, cars: Any, seconds: Any, tolls: Any, limits: Any) -> None:
    """Segment by segment: each takes an hour over the mean speed in the minute in which the car gets there."""
    start, end, weekday, minute = asked
    minutes, toll_speed, toll_cars = limits
    for query in queries:
        way = 1 if end[query] < start[query] else 0
        segment = np.int64(start[query])
        taken, toll = 0.0, 0.0
        while segment != end[query]:
            arrival = (np.int64(((minute[query] - 1) * 60 + taken) // 60)) % minutes
            speed = speeds[weekday[query] - 1, arrival, way, segment]
            crowd = cars[weekday[query] - 1, arrival, way, segment]
            taken += 3600 / speed
            if speed < toll_speed and crowd > toll_cars:
                toll += 2 * (crowd - toll_cars) ** 2
            segment += 1 if way == 0 else -1
        seconds[query] = taken
        tolls[query] = toll


def answer_requests(requests: Train, columns: Mapping[str, Array]) -> Mapping[str, Train]:
    """The columns as answers to the requests."""
    fields = [requests.rows["Time"], requests.rows["QID"], *(pa.array(column) for column in columns.values())]
    rows = pa.record_batch(fields, names=["Time", "QID", *columns])
    return {"answers": caused(requests, rows, np.arange(len(requests)))}
