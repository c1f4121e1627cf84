"""The cars box: what each report means for its car (rules 2, 3, 6 and 7), from the last report of every car.

A car reports in the same second of every half minute, so the relation `trips` is kept in thirty parts by that second:
a batch reads and writes the parts of its own seconds. Of the others only the numbers of the cars are looked at, for
cars that seem to be new.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import State, Train, Turn, caused
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.following import BEGINS, any_listed, follow, lookup_table, unlisted
from aurora.linear_road.network.numbers import Array, numbers

__all__ = ["OUTPUTS", "cars"]

INTERVAL = EDITION_2004.report_interval

OUTPUTS = {
    "entries": "VID bigint, Time int, XWay int, Dir tinyint, Seg tinyint, Lane tinyint, Begins boolean",
    "speeds": "Road bigint, Minute int, Cars bigint, Speed double",
    "stops": "XWay int, Dir tinyint, Lane tinyint, Pos int, VID bigint, From int, Until int",
    "ends": "VID bigint, Part int",
    "requests": "VID bigint, Time int, QID bigint, Part int",
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
    """Inputs: reports, requests (for balances). The relations: `trips/second` and `left`, see `follow`."""
    reports, requests = inputs["reports"], inputs["requests"]
    columns = {name: numbers(reports.rows, name) for name in reports.rows.schema.names}
    asked = numbers(requests.rows, "VID")
    time = columns["Time"]
    trips, count, parts = _loaded(turn.relations, time, np.concatenate([columns["VID"], asked]))
    table = lookup_table(len(trips["VID"]))
    unlisted(table, trips["VID"], count, np.empty(0, np.int64))
    # Segments are numbered through all expressways and both directions.
    road = (columns["XWay"].astype(np.int64) * 2 + columns["Dir"]) * EDITION_2004.segments + columns["Seg"]
    names = ("Time", "VID", "Spd", "Lane", "Seg", "XWay", "Dir", "Pos")
    time, vid, spd, lane, seg, xway, way, pos = (columns[name] for name in names)
    size = len(time)
    asked_after = np.searchsorted(reports.keys[0], requests.keys[0])
    asked_part = np.empty(len(asked), np.int32)
    left, left_count = _left(turn.relations, time, size + count)
    sums = (
        lookup_table(size),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty(size, np.float64),
    )
    does, stands, ended, cut, summed, count, left_count = follow(
        (time, vid, spd, road, lane, seg, xway, way, pos),
        (asked_after, asked, asked_part),
        tuple(trips.values()),
        count,
        table,
        left,
        left_count,
        lookup_table(len(left[0])),
        sums,
        INTERVAL,
        EDITION_2004.stopped_reports,
    )
    if size:
        _store(turn.relations, trips, count, parts)
        minute = np.full(left_count, time[-1] // 60)
        turn.relations.put(
            "left", _batch({**dict(zip(_LEFT, left, strict=False)), "Minute": minute}, left_count)
        )
    return {
        "entries": _entries(reports, does),
        "speeds": _speeds(reports, sums, summed),
        "stops": _stops(reports, stands, cut),
        "ends": _ends(reports, ended),
        "requests": caused(
            requests,
            pa.record_batch(
                [*(requests.rows[name] for name in ("VID", "Time", "QID")), pa.array(asked_part)],
                names=["VID", "Time", "QID", "Part"],
            ),
            np.arange(len(asked)),
        ),
    }


def _loaded(relations: State, time: Array, wanted: Array) -> tuple[dict[str, Array], int, list[int]]:
    """The rows of the parts that the batch needs, with room for as many new cars; their number, and the parts."""
    parts = [int(part) for part in np.unique(time % INTERVAL)]
    stored = {part: relations.get(f"trips/{part}") for part in parts}
    listed = _column(stored, "VID")
    # A car that is not there may have reported in another second: then its trip ended, and it is brought in too.
    strangers = unlisted(lookup_table(len(listed)), listed, len(listed), wanted)
    if len(strangers):
        table = lookup_table(len(strangers))
        unlisted(table, strangers, len(strangers), np.empty(0, np.int64))
        for part in range(INTERVAL):
            other = None if part in stored else relations.get(f"trips/{part}")
            if other is not None and any_listed(table, strangers, numbers(other, "VID")):
                stored[part] = other
                parts.append(part)
    count = len(_column(stored, "VID"))
    trips = {}
    for name, kind in _TRIP.items():
        trips[name] = np.empty(count + len(time), kind)
        trips[name][:count] = _column(stored, name)
    return trips, count, parts


def _column(stored: Mapping[int, pa.RecordBatch | None], name: str) -> Array:
    found = [numbers(rows, name) for rows in stored.values() if rows is not None]
    return np.concatenate(found) if found else np.empty(0, _TRIP[name])


def _store(relations: State, trips: dict[str, Array], count: int, parts: list[int]) -> None:
    part = trips["Time"][:count] % INTERVAL
    part[trips["Time"][:count] < 0] = INTERVAL
    order = np.argsort(part.astype(np.uint8), kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=INTERVAL + 1))
    for number in parts:
        mine = order[ends[number - 1] if number else 0 : ends[number]]
        relations.put(
            f"trips/{number}", _batch({name: column[mine] for name, column in trips.items()}, len(mine))
        )


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


def _ends(reports: Train, ended: Array) -> Train:
    rows = pa.record_batch({"VID": ended[:, 0], "Part": ended[:, 1]})
    return caused(reports, rows, ended[:, 2])
