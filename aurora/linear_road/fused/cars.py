"""The cars box: what each report means for its car (rules 2, 3, 6 and 7), from the last report of every car."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from aurora import Groups, State, Train, Turn, caused
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.fused.following import BEGINS, follow, lookup_table
from aurora.linear_road.network.numbers import Array, numbers

__all__ = ["OUTPUTS", "cars"]

INTERVAL = EDITION_2004.report_interval
# Longer than a minute, whose reports may still count.
LONG_AGO = 120

OUTPUTS = {
    "entries": "VID bigint, Time int, XWay int, Dir tinyint, Seg tinyint, Lane tinyint, Begins boolean",
    "speeds": "Road bigint, Minute int, Cars bigint, Speed double",
    "stops": "XWay int, Dir tinyint, Lane tinyint, Pos int, VID bigint, From int, Until int",
}
_TRIP = {
    "VID": np.int64,
    "Time": np.int32,
    "Road": np.int64,
    "Lane": np.int8,
    "Seg": np.int8,
    "XWay": np.int32,
    "Dir": np.int8,
    "Pos": np.int32,
    "Spd": np.int8,
    "Still": np.int8,
    "PastRoad": np.int64,
    "PastSpd": np.int8,
}
_LEFT = {"VID": np.int64, "Road": np.int64, "Number": np.int64, "Speed": np.int64}


def cars(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Input: reports. The relations: `trips`, a group for each car, and `left`, see `follow`."""
    reports = inputs["reports"]
    columns = {name: numbers(reports.rows, name) for name in reports.rows.schema.names}
    sweep = {"trip": partial(_reported_lately, columns["Time"])}
    groups = turn.relations.groups("trips", ["VID"], reports.rows, sweep=sweep)
    trips, known = _load(groups)
    # Segments are numbered through all expressways and both directions.
    road = (columns["XWay"].astype(np.int64) * 2 + columns["Dir"]) * EDITION_2004.segments + columns["Seg"]
    time, spd, lane, seg, xway, way, pos = (
        columns[name] for name in ("Time", "Spd", "Lane", "Seg", "XWay", "Dir", "Pos")
    )
    size = len(time)
    left, left_count = _left(turn.relations, time, size)
    sums = (
        lookup_table(size),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty(size, np.float64),
    )
    does, stands, cut, summed, left_count = follow(
        (time, groups.numbers[0], spd, road, lane, seg, xway, way, pos),
        tuple(trips.values()),
        known,
        left,
        left_count,
        lookup_table(len(left[0])),
        sums,
        INTERVAL,
        EDITION_2004.stopped_reports,
    )
    if size:
        groups.put("trip", np.arange(len(groups)), pa.record_batch(trips))
        minute = np.full(left_count, time[-1] // 60)
        turn.relations.put(
            "left", _batch({**dict(zip(_LEFT, left, strict=False)), "Minute": minute}, left_count)
        )
    return {
        "entries": _entries(reports, does),
        "speeds": _speeds(reports, sums, summed),
        "stops": _stops(reports, stands, cut),
    }


def _load(groups: Groups) -> tuple[dict[str, Array], Array]:
    """The last report of each car, and which cars have one."""
    trips: dict[str, Array] = {name: np.zeros(len(groups), kind) for name, kind in _TRIP.items()}
    known = np.zeros(len(groups), bool)
    found = groups.rows("trip")
    if found is not None:
        car, rows = found
        known[car] = True
        for name, column in trips.items():
            column[car] = numbers(rows, name)
    trips["VID"][:] = groups.keys[0].to_numpy()
    return trips, known


def _reported_lately(time: Array, rows: pa.RecordBatch) -> Array:
    """Which cars may still continue their trips, or have reported in the running minute."""
    lately: Array = numbers(rows, "Time") >= (time[0] if len(time) else 0) - LONG_AGO
    return lately


def _left(relations: State, time: Array, room: int) -> tuple[tuple[Array, ...], int]:
    """What cars reported in the running minute on trips that are over; of an earlier minute nothing matters."""
    known = relations.get("left")
    if known is not None and len(time) and known["Minute"][0].as_py() != time[0] // 60:
        known = None
    count = 0 if known is None else known.num_rows
    columns = []
    for name, kind in _LEFT.items():
        column = np.empty(count + 2 * room, kind)
        if known is not None:
            column[:count] = numbers(known, name)
        columns.append(column)
    return (*columns, np.empty(count + 2 * room, np.int64)), count


def _batch(columns: Mapping[str, Array], count: int) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(column[:count]) for name, column in columns.items()})


def _entries(reports: Train, does: Array) -> Train:
    entering = np.flatnonzero(does)
    rows = reports.rows.take(pa.array(entering))
    names = ["VID", "Time", "XWay", "Dir", "Seg", "Lane"]
    fields = [*(rows[name] for name in names), pa.array(does[entering] == BEGINS)]
    return caused(reports, pa.record_batch(fields, names=[*names, "Begins"]), entering)


def _speeds(reports: Train, sums: tuple[Array, ...], count: int) -> Train:
    """The sums of this batch and bucket; a segment's are the sums over all of them."""
    rows = pa.record_batch([pa.array(c[:count]) for c in sums[1:]], names=["Road", "Minute", "Cars", "Speed"])
    return caused(reports, rows, np.full(count, len(reports) - 1))


def _stops(reports: Train, stands: Array, cut: Array) -> Train:
    """Stopped cars, for as long as a report holds; a stop that was cut short comes again with its end."""
    lane = numbers(reports.rows, "Lane")
    low, high = min(EDITION_2004.travel_lanes), max(EDITION_2004.travel_lanes)
    standing = np.flatnonzero(stands & (lane >= low) & (lane <= high))
    cut = cut[(cut[:, 3] >= low) & (cut[:, 3] <= high)]
    rows = reports.rows.take(pa.array(np.concatenate([standing, cut[:, 0]])))
    old = len(standing)
    fields: dict[str, Array] = {}
    for name, column in (("XWay", 1), ("Dir", 2), ("Lane", 3), ("Pos", 4)):
        fields[name] = np.concatenate([numbers(rows, name)[:old], cut[:, column]])
    fields["VID"] = numbers(rows, "VID")
    now = numbers(rows, "Time")
    fields["From"] = np.concatenate([now[:old], cut[:, 5]])
    fields["Until"] = np.concatenate([now[:old] + INTERVAL, now[old:]])
    return caused(reports, pa.record_batch(fields), np.concatenate([standing, cut[:, 0]]))
