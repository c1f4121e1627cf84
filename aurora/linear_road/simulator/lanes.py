"""Lanes as linked lists of cars, front to back, and the changes between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.compiled import kernel
from aurora.linear_road.simulator.road import (
    ACCIDENT_SIGHT,
    BRAKE,
    EXIT_LAST,
    EXIT_NOTICE,
    FORCED_BRAKE,
    FREE_BRAKE,
    LANE_WISH,
    PATIENCE,
    RAMP_MERGE,
    REACTION,
    SEGMENT,
    SEGMENTS,
    SPACE,
    SQUEEZE,
)

__all__ = [
    "COLLIDES",
    "DRIVES",
    "STANDS",
    "Cars",
    "Lanes",
    "change_lanes",
    "link",
    "new_cars",
    "new_lanes",
    "safe_speed",
    "unlink",
]

# A car's fate: drives, stands in an accident, or is about to run into the car ahead of it.
DRIVES, STANDS, COLLIDES = 0, 1, 2


class Cars(NamedTuple):
    """The cars on the road, one slot each; a slot is used again when its car has left."""

    place: NDArray[np.float64]
    speed: NDArray[np.float64]
    wish: NDArray[np.float64]
    lane: NDArray[np.int32]
    own_lane: NDArray[np.int32]
    exit: NDArray[np.int32]
    trip: NDArray[np.int32]
    phase: NDArray[np.int32]
    changed: NDArray[np.int32]
    fate: NDArray[np.int32]
    ahead: NDArray[np.int32]
    behind: NDArray[np.int32]


class Lanes(NamedTuple):
    """First and last car of the lanes 0..3, the last of each entrance, the cars on exits, the free slots."""

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    ramp_last: NDArray[np.int32]
    exiting: NDArray[np.int32]
    free: NDArray[np.int32]
    # How many are on exits, how many slots are free.
    counts: NDArray[np.int64]


def new_cars(slots: int) -> Cars:
    return Cars(
        np.zeros(slots), np.zeros(slots), np.zeros(slots), *[np.zeros(slots, np.int32) for _ in range(9)]
    )


def new_lanes(slots: int) -> Lanes:
    return Lanes(
        np.full(4, -1, np.int32),
        np.full(4, -1, np.int32),
        np.full(SEGMENTS, -1, np.int32),
        np.zeros(slots, np.int32),
        np.arange(slots, dtype=np.int32),
        np.array([0, slots]),
    )


@kernel
def safe_speed(gap: float, ahead_speed: float) -> float:
    """The speed from which a driver can still stop behind the car ahead (Krauss 1998)."""
    if gap <= 0.0:
        return 0.0
    slack = BRAKE * REACTION
    return float(np.sqrt(slack * slack + ahead_speed * ahead_speed + 2.0 * BRAKE * gap)) - slack


@kernel
def unlink(cars: Cars, lanes: Lanes, car: int) -> None:
    lane, ahead, behind = cars.lane[car], cars.ahead[car], cars.behind[car]
    if ahead >= 0:
        cars.behind[ahead] = behind
    else:
        lanes.first[lane] = behind
    if behind >= 0:
        cars.ahead[behind] = ahead
    else:
        lanes.last[lane] = ahead
    if lane == 0:
        ramp = int(cars.place[car] // SEGMENT)
        if lanes.ramp_last[ramp] == car:
            same = ahead >= 0 and int(cars.place[ahead] // SEGMENT) == ramp
            lanes.ramp_last[ramp] = ahead if same else -1


@kernel
def link(cars: Cars, lanes: Lanes, car: int, lane: int, ahead: int, behind: int) -> None:
    cars.lane[car] = lane
    cars.ahead[car] = ahead
    cars.behind[car] = behind
    if ahead >= 0:
        cars.behind[ahead] = car
    else:
        lanes.first[lane] = car
    if behind >= 0:
        cars.ahead[behind] = car
    else:
        lanes.last[lane] = car


@kernel
def _fits(cars: Cars, car: int, ahead: int, behind: int, brake: float) -> bool:
    """Whether there is room between the two, and nobody has to brake harder than that."""
    place, speed = cars.place[car], cars.speed[car]
    least = -SQUEEZE if brake == FORCED_BRAKE else 0.0
    if ahead >= 0:
        gap = cars.place[ahead] - place - SPACE
        if gap < least or safe_speed(gap, cars.speed[ahead]) < speed - brake:
            return False
    if behind >= 0:
        gap = place - cars.place[behind] - SPACE
        if gap < least or cars.fate[behind] == COLLIDES:
            return False
        if safe_speed(gap, speed) < cars.speed[behind] - brake:
            return False
    return True


@kernel
def _hoped_speed(cars: Cars, car: int, lane: int, ahead: int) -> float:
    """What a lane promises: the speed that its next car allows, less the way to the driver's own lane."""
    speed = float(cars.wish[car])
    if ahead >= 0:
        gap = cars.place[ahead] - cars.place[car] - SPACE
        speed = min(speed, cars.speed[ahead] + max(gap, 0.0) / 6.0)
    return speed - LANE_WISH * float(abs(lane - cars.own_lane[car]))


@kernel
def _blocked(place: float, lane: int, accidents: NDArray[np.float64]) -> bool:
    for at in range(len(accidents)):
        if accidents[at, 1] == lane and 0.0 < accidents[at, 0] - place < ACCIDENT_SIGHT:
            return True
    return False


@kernel
def change_lanes(cars: Cars, lanes: Lanes, second: int, accidents: NDArray[np.float64]) -> None:
    """Every driver may move one lane; `accidents` holds (place, lane) of those that block one now."""
    for lane in range(4):
        # The cars just ahead and just behind in the lanes on both sides move along with the car looked at.
        down, up = lane - 1 if lane > 1 else -1, lane + 1 if lane < 3 else -1
        down_ahead, up_ahead = -1, -1
        down_behind = lanes.first[down] if down >= 0 else -1
        up_behind = lanes.first[up] if up >= 0 else -1
        following = lanes.first[lane]
        while following >= 0:
            car = following
            following = cars.behind[car]
            place = cars.place[car]
            while down_behind >= 0 and cars.place[down_behind] >= place:
                down_ahead, down_behind = down_behind, cars.behind[down_behind]
            while up_behind >= 0 and cars.place[up_behind] >= place:
                up_ahead, up_behind = up_behind, cars.behind[up_behind]
            if cars.fate[car] != DRIVES or cars.changed[car] == second:
                continue
            target = -1
            if lane == 0:
                offset = place - SEGMENT * (place // SEGMENT)
                if offset >= RAMP_MERGE and _fits(cars, car, up_ahead, up_behind, FORCED_BRAKE):
                    target = 1
            else:
                to_exit = cars.exit[car] * SEGMENT + EXIT_LAST - place
                leaves = to_exit < EXIT_NOTICE * lane
                if leaves and lane > 1 and to_exit < EXIT_NOTICE * (lane - 1):
                    if _fits(cars, car, down_ahead, down_behind, FORCED_BRAKE):
                        target = down
                elif _blocked(place, lane, accidents):
                    if up >= 0 and _fits(cars, car, up_ahead, up_behind, FORCED_BRAKE):
                        target = up
                    elif down >= 0 and _fits(cars, car, down_ahead, down_behind, FORCED_BRAKE):
                        target = down
                elif (cars.trip[car] + second) % PATIENCE == 0 and second - cars.changed[car] >= PATIENCE:
                    best = _hoped_speed(cars, car, lane, cars.ahead[car]) + 3.0
                    if up >= 0 and not leaves and not _blocked(place, up, accidents):
                        hope = _hoped_speed(cars, car, up, up_ahead)
                        if hope > best and _fits(cars, car, up_ahead, up_behind, FREE_BRAKE):
                            best, target = hope, up
                    if down >= 0 and not _blocked(place, down, accidents):
                        hope = _hoped_speed(cars, car, down, down_ahead)
                        if hope > best and _fits(cars, car, down_ahead, down_behind, FREE_BRAKE):
                            target = down
            if target >= 0:
                unlink(cars, lanes, car)
                cars.changed[car] = second
                if target == up:
                    link(cars, lanes, car, up, up_ahead, up_behind)
                    up_ahead = car
                else:
                    link(cars, lanes, car, down, down_ahead, down_behind)
                    down_ahead = car
