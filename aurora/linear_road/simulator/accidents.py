"""Accidents: one in every twenty minutes on each expressway, two cars in one place."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.compiled import kernel
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.simulator.lanes import COLLIDES, DRIVES, STANDS, Cars, Lanes
from aurora.linear_road.simulator.road import REPORT_INTERVAL, ROAD, SEGMENT
from aurora.linear_road.simulator.trips import random_stream

__all__ = ["Accidents", "blocked_places", "plan_accidents", "update_accidents"]

EVERY = 20 * 60
# The rear car is at most so many feet behind.
FOLLOWS = 2000.0
# From its first report in a place, a car has to send this much longer from there to count as stopped.
DETECTION = (EDITION_2004.stopped_reports - 1) * REPORT_INTERVAL


class Accidents(NamedTuple):
    """Planned: when, where, which lane, how long. Happened: the cars, where, the times."""

    due: NDArray[np.int32]
    wanted: NDArray[np.float64]
    lane: NDArray[np.int32]
    lasts: NDArray[np.int32]
    front: NDArray[np.int32]
    rear: NDArray[np.int32]
    place: NDArray[np.float64]
    happened: NDArray[np.int32]
    detected: NDArray[np.int32]
    cleared: NDArray[np.int32]


def plan_accidents(seed: int, expressway: int, direction: int, seconds: int) -> Accidents:
    """The accidents of one direction; both directions draw all of the expressway's and keep their own."""
    stream = random_stream(seed, expressway, 1)
    count = -(-seconds // EVERY)
    due = np.arange(count) * EVERY + stream.integers(120, 480, count)
    directions = stream.integers(0, 2, count)
    wanted = stream.uniform(0.0, ROAD, count)
    lane = stream.integers(1, 4, count)
    # What shows that it is over is the next report of a car, up to half a minute later.
    lasts = stream.integers(600, 1150, count)
    mine = (directions == direction) & (due < seconds)
    unknown = [np.full(int(mine.sum()), -1, np.int32) for _ in range(5)]
    return Accidents(
        due[mine].astype(np.int32),
        wanted[mine],
        lane[mine].astype(np.int32),
        lasts[mine].astype(np.int32),
        unknown[0],
        unknown[1],
        np.full(int(mine.sum()), -1.0),
        *unknown[2:],
    )


@kernel
def _stays(cars: Cars, car: int) -> bool:
    """Whether the car drives, and not yet in the segment that it leaves by."""
    return bool(cars.fate[car] == DRIVES and cars.exit[car] > cars.place[car] // SEGMENT)


@kernel
def _nearest_pair(cars: Cars, lanes: Lanes, lane: int, wanted: float) -> int:
    """The front one of two cars that follow each other, nearest to the wanted place."""
    best, best_distance = -1, 1e9
    car = lanes.first[lane]
    while car >= 0 and cars.behind[car] >= 0:
        behind = cars.behind[car]
        distance = abs(cars.place[car] - wanted)
        follows = cars.place[car] - cars.place[behind] < FOLLOWS
        if follows and distance < best_distance and _stays(cars, car) and _stays(cars, behind):
            best, best_distance = car, distance
        car = behind
    return best


@kernel
def _detected(cars: Cars, car: int, since: int) -> int:
    """When the car, standing since then, has sent enough reports from its place."""
    return since + int((cars.phase[car] - since) % REPORT_INTERVAL) + DETECTION


@kernel
def update_accidents(cars: Cars, lanes: Lanes, accidents: Accidents, second: int) -> None:
    """Lets accidents happen and clear. The front car stops dead; the rear one drives on until it hits it."""
    for at in range(len(accidents.due)):
        front, rear = accidents.front[at], accidents.rear[at]
        if second < accidents.due[at] or 0 <= accidents.cleared[at] < second:
            continue
        if front < 0:
            front = _nearest_pair(cars, lanes, accidents.lane[at], accidents.wanted[at])
            if front >= 0:
                rear = cars.behind[front]
                accidents.front[at], accidents.rear[at] = front, rear
                accidents.place[at] = cars.place[front]
                accidents.happened[at] = second
                cars.fate[front], cars.fate[rear] = STANDS, COLLIDES
                accidents.detected[at] = _detected(cars, front, second)
        elif accidents.cleared[at] < 0:
            if cars.place[rear] == cars.place[front]:
                cars.fate[rear] = STANDS
                # It came to stand in the second before this one.
                accidents.detected[at] = max(accidents.detected[at], _detected(cars, rear, second - 1))
                accidents.cleared[at] = accidents.detected[at] + accidents.lasts[at]
        elif second == accidents.cleared[at]:
            cars.fate[front] = cars.fate[rear] = DRIVES


@kernel
def blocked_places(accidents: Accidents, second: int) -> NDArray[np.float64]:
    """(place, lane) of the accidents that block a lane now."""
    found = np.empty((len(accidents.due), 2))
    count = 0
    for at in range(len(accidents.due)):
        if accidents.front[at] >= 0 and (accidents.cleared[at] < 0 or second < accidents.cleared[at]):
            found[count, 0], found[count, 1] = accidents.place[at], accidents.lane[at]
            count += 1
    return found[:count]
