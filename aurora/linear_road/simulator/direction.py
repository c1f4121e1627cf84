"""The job of one direction of one expressway: simulate it, leave its reports in a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.accidents import Accidents, plan_accidents
from aurora.linear_road.simulator.lanes import new_cars, new_lanes
from aurora.linear_road.simulator.road import REPORT_INTERVAL, ROAD, SEGMENTS
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.traffic import simulate_seconds
from aurora.linear_road.simulator.trips import Progress, Trips, draw_trips, new_progress, random_stream

__all__ = [
    "CELL",
    "CELLS",
    "Accident",
    "Direction",
    "cells_name",
    "part_name",
    "simulate_direction",
    "trips_name",
]

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
    """Figures by kept minute."""

    expressway: int
    direction: int
    reports: NDArray[np.int64]
    # By minute and lane.
    lane_reports: NDArray[np.int64]
    lane_speeds: NDArray[np.int64]
    top_speed: int
    # With a report in these minutes.
    trips: int
    accidents: list[Accident]


def part_name(expressway: int, direction: int) -> str:
    return f"part-{expressway}-{direction}"


def trips_name(expressway: int, direction: int) -> str:
    return f"trips-{expressway}-{direction}.npy"


def cells_name(expressway: int, direction: int) -> str:
    return f"cells-{expressway}-{direction}.npy"


def _map_position(place: NDArray[np.int32], direction: int) -> NDArray[np.int32]:
    return place if direction == 0 else np.int32(ROAD - 1) - place


def simulate_direction(settings: Settings, expressway: int, direction: int, folder: Path) -> Direction:
    """Writes the reports, four integers each (second, trip, Pos, Spd * 8 + Lane), the trips, the plots' cells.

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
    np.save(folder / cells_name(expressway, direction), cells)
    _save_trips(folder / trips_name(expressway, direction), trips, progress, direction)
    seen = (progress.started >= 0) & ((progress.ended < 0) | (progress.ended >= settings.first_kept))
    return Direction(
        expressway,
        direction,
        lane_reports.sum(axis=1),
        lane_reports,
        lane_speeds,
        top_speed,
        int(seen.sum()),
        list(_happened(accidents, settings, expressway, direction)),
    )


def _save_trips(path: Path, trips: Trips, progress: Progress, direction: int) -> None:
    """Of those that started: number, start, end or -1, entrance and exit on the map."""
    entrance, left_by = trips.entrance, progress.left_by
    if direction:
        entrance, left_by = SEGMENTS - 1 - entrance, SEGMENTS - 1 - left_by
    table = np.stack([trips.number, progress.started, progress.ended, entrance, left_by]).astype(np.int32)
    np.save(path, table[:, progress.started >= 0])


def _happened(
    accidents: Accidents, settings: Settings, expressway: int, direction: int
) -> Iterator[Accident]:
    for at in np.flatnonzero(accidents.happened >= 0):
        times = [int(column[at]) for column in (accidents.happened, accidents.detected, accidents.cleared)]
        position = int(_map_position(accidents.place[at : at + 1].astype(np.int32), direction)[0])
        yield Accident(
            expressway,
            direction,
            int(accidents.lane[at]),
            position,
            *(time if time < settings.seconds else -1 for time in times),
        )
