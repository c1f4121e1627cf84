"""The kernels of the cars box: each car's reports in the order of time.

Compiled: a loop over the reports here is not a loop of Python.
"""

from typing import Any

import numpy as np

from aurora.linear_road.compiled import cached_kernel, kernel

__all__ = ["BEGINS", "ENTERS", "follow", "lookup_table"]

Array = np.ndarray[Any, Any]

# What a report does: nothing of note, entering a segment on a trip, beginning a trip.
ENTERS, BEGINS = 1, 2


@kernel
def spread(number: Any) -> Any:
    """A hash; neighbouring numbers land far apart."""
    mixed = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


def lookup_table(entries: int) -> Array:
    """An empty table with room for so many entries."""
    return np.full(1 << max(int(2 * entries).bit_length(), 4), -1, np.int32)


@kernel
def pair_place(table: Any, cars: Any, roads: Any, car: Any, road: Any) -> Any:
    mask = table.size - 1
    at = np.int64(spread(car * 1_000_003 + road) & np.uint64(mask))
    while table[at] >= 0 and (cars[table[at]] != car or roads[table[at]] != road):
        at = (at + 1) & mask
    return at


@cached_kernel
def follow(
    reports: Any,
    rows: Any,
    known: Any,
    left: Any,
    left_count: Any,
    left_table: Any,
    sums: Any,
    interval: Any,
    standing: Any,
) -> Any:
    """Works through the reports of one bucket.

    `reports`: Time, the number of the car, Spd, Road, Lane, Seg, XWay, Way, Pos. `rows`: the last report of each car
    (VID, Time, Road, Lane, Seg, XWay, Way, Pos, Spd, Still, and the road and speed of the report before, if that was
    in the same minute), where it is `known`. `left`: what cars reported in the running minute on trips that are over
    (VID, Road, number, speeds). `sums`: the tables of the segments' sums. Gives what each report does, whether it
    stands, stops that were cut short, and the counts.
    """
    time, cars, spd, road, lane, seg, xway, way, pos = reports
    (
        car_vid,
        car_time,
        car_road,
        car_lane,
        car_seg,
        car_xway,
        car_way,
        car_pos,
        car_spd,
        car_still,
        past_road,
        past_spd,
    ) = rows
    left_vid, left_road, left_number, left_speed, left_place = left
    for entry in range(left_count):
        left_place[entry] = pair_place(left_table, left_vid, left_road, left_vid[entry], left_road[entry])
        left_table[left_place[entry]] = entry
    sum_table, sum_road, sum_minute, sum_cars, sum_speed = sums
    size = time.size
    does = np.zeros(size, np.uint8)
    stands = np.zeros(size, np.bool_)
    cut = np.empty((size, 6), np.int64)
    cuts = summed = 0
    minute = time[0] // 60 if size else 0
    for i in range(size):
        now = time[i]
        if now // 60 != minute:
            minute = now // 60
            for entry in range(left_count):
                left_table[left_place[entry]] = -1
            left_count = 0
        row = cars[i]
        car = car_vid[row]
        continues = known[row] and now - car_time[row] == interval
        # The speeds of this car in this minute and segment, before this report.
        number = 0
        speeds = 0
        still = 1
        if continues:
            same_minute = car_time[row] // 60 == minute
            if same_minute and car_road[row] == road[i]:
                number, speeds = 1, car_spd[row]
            if (
                car_pos[row] == pos[i]
                and car_lane[row] == lane[i]
                and car_xway[row] == xway[i]
                and car_way[row] == way[i]
            ):
                still = min(car_still[row] + 1, standing)
            if car_seg[row] != seg[i]:
                does[i] = ENTERS
            past_road[row] = car_road[row] if same_minute else -1
            past_spd[row] = car_spd[row]
        else:
            does[i] = BEGINS
            if known[row]:
                elsewhere = (
                    car_pos[row] != pos[i]
                    or car_lane[row] != lane[i]
                    or car_xway[row] != xway[i]
                    or car_way[row] != way[i]
                )
                if car_still[row] >= standing and elsewhere and now < car_time[row] + interval:
                    cut[cuts, 0], cut[cuts, 1], cut[cuts, 2] = i, car_xway[row], car_way[row]
                    cut[cuts, 3], cut[cuts, 4], cut[cuts, 5] = car_lane[row], car_pos[row], car_time[row]
                    cuts += 1
                if car_time[row] // 60 == minute:
                    left_count = leave(left, left_count, left_table, rows, row)
            known[row] = True
            past_road[row] = -1
        if left_count:
            entry = left_table[pair_place(left_table, left_vid, left_road, car, road[i])]
            if entry >= 0:
                number += left_number[entry]
                speeds += left_speed[entry]
        segment = sum_place(sum_table, sum_road, sum_minute, road[i], minute + 1)
        if sum_table[segment] < 0:
            sum_table[segment] = summed
            sum_road[summed], sum_minute[summed], sum_cars[summed], sum_speed[summed] = (
                road[i],
                minute + 1,
                0,
                0.0,
            )
            summed += 1
        segment = sum_table[segment]
        if number == 0:
            sum_cars[segment] += 1
            sum_speed[segment] += spd[i]
        else:
            sum_speed[segment] += (speeds + spd[i]) / (number + 1) - speeds / number
        car_time[row], car_road[row], car_lane[row], car_seg[row] = now, road[i], lane[i], seg[i]
        car_xway[row], car_way[row], car_pos[row], car_spd[row], car_still[row] = (
            xway[i],
            way[i],
            pos[i],
            spd[i],
            still,
        )
        stands[i] = still >= standing
    return does, stands, cut[:cuts], summed, left_count


@kernel
def sum_place(table: Any, roads: Any, minutes: Any, road: Any, minute: Any) -> Any:
    mask = table.size - 1
    at = np.int64(spread(road * 4096 + minute) & np.uint64(mask))
    while table[at] >= 0 and (roads[table[at]] != road or minutes[table[at]] != minute):
        at = (at + 1) & mask
    return at


@kernel
def leave(left: Any, count: Any, table: Any, rows: Any, row: Any) -> Any:
    """Notes what the car of a row has reported in the running minute; gives the number of notes."""
    cars, roads, numbers, speeds, places = left
    for past in range(2):
        road = rows[10][row] if past else rows[2][row]
        if road < 0:
            continue
        speed = rows[11][row] if past else rows[8][row]
        at = pair_place(table, cars, roads, rows[0][row], road)
        if table[at] < 0:
            table[at] = count
            cars[count], roads[count], numbers[count], speeds[count] = rows[0][row], road, 0, 0
            places[count] = at
            count += 1
        numbers[table[at]] += 1
        speeds[table[at]] += speed
    return count
