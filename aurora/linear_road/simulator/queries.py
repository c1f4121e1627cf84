"""Historical queries: reports are followed by queries of the same car, so many for each on average."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.simulator.road import SEGMENTS

__all__ = ["Queries", "draw_queries"]

# Balance, expenditure, travel time.
KINDS, KIND_SHARES = np.array([2, 3, 4], np.int32), (0.5, 0.1, 0.4)
# How often a driver asks about the expressway that he is on.
OWN_EXPRESSWAY = 0.8

Ints = NDArray[np.int32]


class Queries(NamedTuple):
    """One entry a query, by the report (its index) that it follows; -1 where its kind defines no value."""

    report: NDArray[np.int64]
    kind: Ints
    expressway: Ints
    start: Ints
    end: Ints
    weekday: Ints
    minute: Ints
    day: Ints


def draw_queries(
    stream: np.random.Generator, reports: int, each: float, expressway: int, expressways: int
) -> Queries:
    """So many queries follow `each` report on average: the whole ones always, the rest by chance."""
    whole = int(each)
    report = np.repeat(np.arange(reports), whole + (stream.random(reports) < each - whole))
    count = len(report)

    def between(low: int, high: int) -> Ints:
        return stream.integers(low, high + 1, count).astype(np.int32)

    kind = stream.choice(KINDS, count, p=KIND_SHARES)
    own = stream.random(count) < OWN_EXPRESSWAY
    asked = np.where(own, np.int32(expressway), between(0, expressways - 1))
    start = between(0, SEGMENTS - 1)
    end = (start + between(1, SEGMENTS - 1)) % np.int32(SEGMENTS)
    weekday, minute = between(1, 7), between(1, 1440)
    day = between(1, EDITION_2004.history_days - 1)

    def defined(values: Ints, *kinds: int) -> Ints:
        return np.where(np.isin(kind, kinds), values, np.int32(-1))

    return Queries(
        report,
        kind,
        defined(asked, 3, 4),
        defined(start, 4),
        defined(end, 4),
        defined(weekday, 4),
        defined(minute, 4),
        defined(day, 3),
    )
