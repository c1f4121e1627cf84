"""The job of one direction of one expressway: simulate it, leave its reports in a file."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.accidents import plan_accidents
from aurora.linear_road.simulator.lanes import new_cars, new_lanes
from aurora.linear_road.simulator.road import REPORT_INTERVAL, ROAD, SEGMENTS
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.traffic import simulate_seconds
from aurora.linear_road.simulator.trips import draw_trips, new_progress, random_stream

__all__ = ["CELL", "CELLS", "Accident", "Direction", "part_name", "simulate_direction"]

# The cells of the plots: a tenth of a mile, half a minute.
CELL = 528
CELLS = int(ROAD) // CELL
# More cars than fit on one direction, its ramps full.
MOST_CARS = 70_000


class Accident(NamedTuple):
    expressway: int
    direction: int
    lane: int
    position: int
    happened: int
    # -1 where that is after the end of the simulation.
    detected: int
    cleared: int


class Direction(NamedTuple):
    """Figures by kept minute, and the trips that started; segments as on the map, from the west."""

    expressway: int
    direction: int
    reports: NDArray[np.int64]
    # By minute and lane.
    lane_reports: NDArray[np.int64]
    lane_speeds: NDArray[np.int64]
    top_speed: int
    number: NDArray[np.int32]
    started: NDArray[np.int32]
    ended: NDArray[np.int32]
    entrance: NDArray[np.int32]
    left_by: NDArray[np.int32]
    accidents: list[Accident]


def part_name(expressway: int, direction: int) -> str:
    return f"part-{expressway}-{direction}"


def _map_position(place: NDArray[np.int32], direction: int) -> NDArray[np.int32]:
    return place if direction == 0 else np.int32(ROAD - 1) - place


def simulate_direction(settings: Settings, expressway: int, direction: int, folder: Path) -> Direction:
    """Writes the reports, four integers each (second, trip, Pos, Spd * 8 + Lane), and the cells of the plots.

    The minutes done so far are the length of the file `progress-...`.
    """
    trips = draw_trips(settings.seed, expressway, direction, settings.seconds)
    progress = new_progress(trips)
    accidents = plan_accidents(settings.seed, expressway, direction, settings.seconds)
    slots = min(len(trips.due) + 1, MOST_CARS)
    cars, lanes = new_cars(slots), new_lanes(slots)
    salt = int(random_stream(settings.seed, expressway, direction, 0).integers(1 << 62))
    buffer = np.empty((slots * 3, 4), np.int32)
    kept = settings.kept_minutes
    lane_reports = np.zeros((len(kept), 5), np.int64)
    lane_speeds = np.zeros((len(kept), 5), np.int64)
    halves = 60 // REPORT_INTERVAL
    cells = np.zeros((2, len(kept) * halves, CELLS), np.int32)
    top_speed = 0
    name = part_name(expressway, direction)
    with open(folder / name, "wb") as part, open(folder / f"progress-{name}", "wb", buffering=0) as done:
        for minute in range(settings.minutes):
            seconds = range(minute * 60, minute * 60 + 60)
            count = simulate_seconds(cars, lanes, trips, progress, accidents, seconds, salt, buffer)
            done.write(b".")
            if minute < kept.start:
                continue
            at = minute - kept.start
            rows = buffer[:count]
            rows[:, 0] -= settings.first_kept
            rows[:, 2] = _map_position(rows[:, 2], direction)
            part.write(rows.tobytes())
            lane, speed = rows[:, 3] & 7, rows[:, 3] >> 3
            lane_reports[at] = np.bincount(lane, minlength=5)
            lane_speeds[at] = np.bincount(lane, weights=speed, minlength=5)
            top_speed = max(top_speed, int(speed.max(initial=0)))
            cell = (rows[:, 0] - at * 60) // REPORT_INTERVAL * CELLS + rows[:, 2] // CELL
            for layer, weights in enumerate((None, speed)):
                filled = np.bincount(cell, weights=weights, minlength=halves * CELLS)
                cells[layer, at * halves : (at + 1) * halves] = filled.reshape(halves, CELLS)
    np.save(folder / f"cells-{expressway}-{direction}.npy", cells)
    began = progress.started >= 0
    left_by = progress.left_by[began]
    happened = accidents.happened >= 0
    position = _map_position(accidents.place[happened].astype(np.int32), direction)
    times = [
        np.where(column[happened] < settings.seconds, column[happened], -1)
        for column in (accidents.happened, accidents.detected, accidents.cleared)
    ]
    entrance = trips.entrance[began]
    if direction:
        entrance = np.int32(SEGMENTS - 1) - entrance
        left_by = np.where(left_by < 0, left_by, np.int32(SEGMENTS - 1) - left_by)
    return Direction(
        expressway,
        direction,
        lane_reports.sum(axis=1),
        lane_reports,
        lane_speeds,
        top_speed,
        trips.number[began],
        progress.started[began],
        progress.ended[began],
        entrance,
        left_by,
        [
            Accident(expressway, direction, int(lane), int(where), *(int(time) for time in when))
            for lane, where, *when in zip(accidents.lane[happened], position, *times, strict=True)
        ],
    )
