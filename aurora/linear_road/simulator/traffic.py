"""One direction of an expressway, second by second: arrivals, lanes, car following, exits, reports."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.compiled import cached_kernel, kernel
from aurora.linear_road.simulator.accidents import Accidents, blocked_places, update_accidents
from aurora.linear_road.simulator.lanes import (
    COLLIDES,
    DRIVES,
    STANDS,
    Cars,
    Lanes,
    change_lanes,
    link,
    safe_speed,
    unlink,
)
from aurora.linear_road.simulator.road import (
    ACCIDENT_SPEED,
    CRAWL,
    DAWDLE,
    EXIT_FIRST,
    EXIT_LAST,
    GIVE_UP,
    LEAST_ENTRY_SPEED,
    MPH,
    PICK_UP,
    RAMP_END,
    RAMP_SPEED,
    RAMP_START,
    REPORT_INTERVAL,
    SEGMENT,
    SEGMENTS,
    SLOW_START,
    SPACE,
)
from aurora.linear_road.simulator.trips import Progress, Trips

__all__ = ["simulate_seconds"]


@kernel
def _chance(salt: int, trip: int, second: int) -> float:
    """A number in [0, 1) that depends on its arguments alone (splitmix64), not on the order of the calls."""
    mixed = (
        np.uint64(salt)
        + np.uint64(trip) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(second) * np.uint64(0xD1B54A32D192ED03)
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def _arrive(cars: Cars, lanes: Lanes, trips: Trips, progress: Progress, second: int, salt: int) -> None:
    """Puts the next car of each entrance on its ramp, where there is room for it."""
    waiting = progress.waiting
    ahead = -1
    for ramp in range(SEGMENTS - 1, -1, -1):
        last = lanes.ramp_last[ramp]
        if last >= 0:
            ahead = last
        if waiting[ramp] == trips.first[ramp + 1] or lanes.counts[1] == 0:
            continue
        trip = trips.queue[waiting[ramp]]
        if trips.due[trip] > second:
            continue
        place = ramp * SEGMENT + RAMP_START + 200.0 * _chance(salt, trip, -1)
        speed = trips.entry_speed[trip]
        if last >= 0:
            gap = cars.place[last] - place - SPACE
            if gap < 0.0 or safe_speed(gap, cars.speed[last]) < speed:
                place = ramp * SEGMENT + RAMP_START
                gap = cars.place[last] - place - SPACE
                if gap < 0.0 or safe_speed(gap, cars.speed[last]) < LEAST_ENTRY_SPEED:
                    continue
                speed = min(speed, safe_speed(gap, cars.speed[last]))
        lanes.counts[1] -= 1
        car = lanes.free[lanes.counts[1]]
        cars.place[car], cars.speed[car], cars.wish[car] = place, speed, trips.wish[trip]
        cars.own_lane[car], cars.exit[car], cars.trip[car] = trips.own_lane[trip], trips.exit[trip], trip
        cars.phase[car] = second % REPORT_INTERVAL
        cars.changed[car], cars.fate[car] = -1, DRIVES
        behind = cars.behind[ahead] if ahead >= 0 else lanes.first[0]
        link(cars, lanes, car, 0, ahead, behind)
        lanes.ramp_last[ramp] = car
        ahead = car
        waiting[ramp] += 1
        progress.started[trip] = second


@kernel
def _leave(cars: Cars, lanes: Lanes) -> None:
    """Moves the cars beside their exit onto it; who has missed it takes the next one."""
    for lane in range(1, 4):
        following = lanes.first[lane]
        while following >= 0:
            car = following
            following = cars.behind[car]
            beyond = cars.place[car] - cars.exit[car] * SEGMENT
            if beyond < EXIT_FIRST or cars.fate[car] != DRIVES:
                continue
            # The last segment of the road leads nowhere else: all its lanes end on the exit.
            if cars.exit[car] == SEGMENTS - 1 or (lane == 1 and beyond <= EXIT_LAST):
                unlink(cars, lanes, car)
                cars.lane[car] = 4
                lanes.exiting[lanes.counts[0]] = car
                lanes.counts[0] += 1
            elif beyond > EXIT_LAST:
                cars.exit[car] += 1


@kernel
def _follow(cars: Cars, lanes: Lanes, blocked: NDArray[np.float64], second: int, salt: int) -> None:
    """The new speeds and places of the lanes 0..3, all from the places of the second before."""
    for lane in range(4):
        car = lanes.first[lane]
        ahead_place, ahead_speed, ahead_new = 1e9, 0.0, 0.0
        while car >= 0:
            place, speed = cars.place[car], cars.speed[car]
            if cars.fate[car] == STANDS:
                new = 0.0
            elif cars.fate[car] == COLLIDES:
                new = min(min(speed + PICK_UP, cars.wish[car]), ahead_place - place)
            else:
                gap = ahead_place - place - SPACE
                wish = cars.wish[car]
                for at in range(len(blocked)):
                    if -300.0 < blocked[at, 0] - place < 500.0:
                        wish = min(wish, ACCIDENT_SPEED)
                new = min(speed + PICK_UP, wish)
                if gap < 1000.0:
                    new = min(new, min(safe_speed(gap, ahead_speed), max(gap + ahead_new, 0.0)))
                if lane == 0:
                    to_end = SEGMENT * (place // SEGMENT) + RAMP_END - place
                    new = min(min(new, RAMP_SPEED), min(safe_speed(to_end, 0.0), to_end))
                chance = _chance(salt, cars.trip[car], second)
                if lane > 0 and speed < CRAWL and chance < GIVE_UP:
                    here = int(place // SEGMENT)
                    late = place - here * SEGMENT > EXIT_FIRST
                    cars.exit[car] = min(cars.exit[car], here + 1 if late else here)
                if speed == 0.0 and chance < SLOW_START:
                    new = 0.0
                # A driver never loses more than half of a crawl, so that a jam still moves.
                new = max(new - min(DAWDLE * chance, 0.5 * new), 0.0)
            ahead_place, ahead_speed, ahead_new = place, speed, new
            cars.speed[car] = new
            cars.place[car] = place + new
            car = cars.behind[car]


@kernel
def _slow_down(cars: Cars, lanes: Lanes) -> None:
    """The cars on exits: down to walking the rest of the segment, so that they report from it."""
    for at in range(lanes.counts[0]):
        car = lanes.exiting[at]
        rest = SEGMENT * (cars.exit[car] + 1) - 5.0 - cars.place[car]
        speed = max(cars.speed[car] - 5.0, min(cars.speed[car], 20.0 * MPH))
        cars.speed[car] = max(min(speed, rest / 3.0), 0.0)
        cars.place[car] += cars.speed[car]


@kernel
def _report(cars: Cars, trips: Trips, car: int, second: int, reports: NDArray[np.int32], count: int) -> int:
    if cars.phase[car] != second % REPORT_INTERVAL:
        return count
    reports[count, 0] = second
    reports[count, 1] = trips.number[cars.trip[car]]
    reports[count, 2] = int(cars.place[car])
    reports[count, 3] = int(cars.speed[car] / MPH + 0.5) * 8 + cars.lane[car]
    return count + 1


@kernel
def _report_all(
    cars: Cars,
    lanes: Lanes,
    trips: Trips,
    progress: Progress,
    second: int,
    reports: NDArray[np.int32],
    count: int,
) -> int:
    """The reports of this second, lane by lane; a trip is over with its first report from the exit."""
    for lane in range(4):
        car = lanes.first[lane]
        while car >= 0:
            count = _report(cars, trips, car, second, reports, count)
            car = cars.behind[car]
    at = 0
    while at < lanes.counts[0]:
        car = lanes.exiting[at]
        before = count
        count = _report(cars, trips, car, second, reports, count)
        if count == before:
            at += 1
            continue
        progress.ended[cars.trip[car]] = second
        progress.left_by[cars.trip[car]] = cars.exit[car]
        lanes.counts[0] -= 1
        lanes.exiting[at] = lanes.exiting[lanes.counts[0]]
        lanes.free[lanes.counts[1]] = car
        lanes.counts[1] += 1
    return count


def _compile(stamp: int) -> Callable[..., int]:
    @cached_kernel
    def simulate_seconds(
        cars: Cars,
        lanes: Lanes,
        trips: Trips,
        progress: Progress,
        accidents: Accidents,
        first: int,
        last: int,
        salt: int,
        reports: NDArray[np.int32],
    ) -> int:
        count = 0 * stamp
        for second in range(first, last):
            update_accidents(cars, lanes, accidents, second)
            blocked = blocked_places(accidents, second)
            change_lanes(cars, lanes, second, blocked)
            _leave(cars, lanes)
            _follow(cars, lanes, blocked, second, salt)
            _slow_down(cars, lanes)
            _arrive(cars, lanes, trips, progress, second, salt)
            count = _report_all(cars, lanes, trips, progress, second, reports, count)
        return count

    return simulate_seconds


# Numba's cache knows the file of the function alone: the sources of all that is compiled into it become part
# of its key, or a change to one of them would go unnoticed.
_SOURCES = ("road.py", "lanes.py", "accidents.py", "traffic.py", "trips.py")
_simulate = _compile(zlib.crc32(b"".join(Path(__file__).with_name(name).read_bytes() for name in _SOURCES)))


def simulate_seconds(
    cars: Cars,
    lanes: Lanes,
    trips: Trips,
    progress: Progress,
    accidents: Accidents,
    seconds: range,
    salt: int,
    reports: NDArray[np.int32],
) -> int:
    """Returns the number of reports in these seconds, rows of (second, trip, place, speed * 8 + lane)."""
    return _simulate(cars, lanes, trips, progress, accidents, seconds.start, seconds.stop, salt, reports)
