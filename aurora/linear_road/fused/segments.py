"""The segments box: statistics, accidents, and with them what each car that enters a segment is told (rules 3-8).

Every bucket keeps the relations of the whole road, which are small, and quotes to the cars of its own: the sums that
the cars box makes of each bucket's reports, and the stopped cars, come to all of them. The input is ordered by Time,
so the statistics of a minute are complete when a report of the next one comes.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import State, Train, Turn, caused
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.numbers import Array, numbers

__all__ = ["OUTPUTS", "segments"]

OUTPUTS = {
    "quotes": (
        "VID bigint, Time int, XWay int, Dir tinyint, Seg tinyint, Lane tinyint, Begins boolean, "
        "Lav int, Toll bigint, Accident int"
    )
}
# Far more than there are seconds: makes one number of a place and a time.
_AGES = 1 << 33
_SEGMENTS, _LENGTH = EDITION_2004.segments, EDITION_2004.segment_length


def segments(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Inputs: entries, speeds, stops. The relations: `statistics/minute`, `stopped`, `quotes`."""
    entries, relations = inputs["entries"], turn.relations
    changed = _add_speeds(relations, inputs["speeds"].rows)
    _add_stops(relations, inputs["stops"].rows)
    minute = numbers(entries.rows, "Time") // 60 + 1
    road = _road(*(numbers(entries.rows, name) for name in ("XWay", "Dir", "Seg")))
    lav = np.full(len(entries), -1, np.int32)
    toll = np.zeros(len(entries), np.int64)
    accident = np.full(len(entries), -1, np.int32)
    for now in np.unique(minute).tolist():
        quotes = _quotes(relations, now)
        mine = np.flatnonzero(minute == now)
        at, known = _found(numbers(quotes, "Road"), road[mine])
        lav[mine[known]] = numbers(quotes, "Lav")[at]
        toll[mine[known]] = numbers(quotes, "Toll")[at]
        accident[mine[known]] = numbers(quotes, "Accident")[at]
    if changed:
        _forget(relations, changed)
    fields = {"Lav": lav, "Toll": toll, "Accident": accident}
    names = [*entries.rows.schema.names, *fields]
    columns = [*entries.rows.columns, *(pa.array(column) for column in fields.values())]
    rows = pa.record_batch(columns, names=names)
    return {"quotes": caused(entries, rows, np.arange(len(entries)))}


def _road(xway: Array, way: Array, segment: Array) -> Array:
    numbers: Array = (xway.astype(np.int64) * 2 + way) * _SEGMENTS + segment
    return numbers


def _found(listed: Array, wanted: Array) -> tuple[Array, Array]:
    """For those wanted that are in the ascending list: their place in it, and which they are."""
    if not len(listed):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
    known = np.flatnonzero(listed[at] == wanted)
    return at[known], known


def _add_speeds(relations: State, rows: pa.RecordBatch) -> list[int]:
    """Rule 3: cars and the sum of their mean speeds for each segment and minute. Gives the minutes that changed."""
    minutes = numbers(rows, "Minute")
    changed: list[int] = np.unique(minutes).tolist()
    for minute in changed:
        of_minute = rows.filter(pa.array(minutes == minute))
        known = relations.get(f"statistics/{minute}")
        parts = [of_minute.select(["Road", "Cars", "Speed"])] + ([known] if known is not None else [])
        road, cars, speed = (
            np.concatenate([numbers(part, name) for part in parts]) for name in ("Road", "Cars", "Speed")
        )
        roads, inverse = np.unique(road, return_inverse=True)
        sums = {
            "Road": roads,
            "Cars": np.bincount(inverse, cars).astype(np.int64),
            "Speed": np.bincount(inverse, speed),
        }
        relations.put(f"statistics/{minute}", pa.record_batch(sums))
    return changed


def _forget(relations: State, changed: list[int]) -> None:
    """Removes the statistics that no toll of this minute or a later one can need."""
    known = relations.get("statistics/minutes")
    stored = set(changed) | set([] if known is None else known["Minute"].to_pylist())
    oldest = max(changed) - EDITION_2004.lav_minutes
    for minute in stored:
        if minute < oldest:
            relations.put(f"statistics/{minute}", None)
    relations.put("statistics/minutes", pa.record_batch({"Minute": sorted(m for m in stored if m >= oldest)}))


def _add_stops(relations: State, rows: pa.RecordBatch) -> None:
    """Rule 7: stopped cars by place, each stop with its end; one that was cut short replaces the longer one."""
    if not rows.num_rows:
        return
    known = relations.get("stopped")
    stops = pa.Table.from_batches([rows.select(_STOP)] + ([known] if known is not None else []))
    shortest = stops.group_by(_STOP[:-1]).aggregate([("Until", "min")]).select([*_STOP[:-1], "Until_min"])
    ordered = shortest.rename_columns(_STOP).sort_by([(name, "ascending") for name in _STOP]).combine_chunks()
    relations.put("stopped", ordered.to_batches()[0])


_STOP = ["XWay", "Dir", "Lane", "Pos", "VID", "From", "Until"]


def _accidents(relations: State, minute: int) -> Array:
    """The segments in which two cars or more stood at one place in the same second of this minute (Acc_in_Seg)."""
    stopped = relations.get("stopped")
    if stopped is None:
        return np.empty(0, np.int64)
    start, end = 60 * (minute - 1), 60 * minute
    if (numbers(stopped, "Until") <= start).any():
        stopped = stopped.filter(pa.array(numbers(stopped, "Until") > start))
        relations.put("stopped", stopped)
    xway, way, lane, pos = (numbers(stopped, name).astype(np.int64) for name in _STOP[:4])
    begins = np.maximum(numbers(stopped, "From"), start)
    until = np.minimum(numbers(stopped, "Until"), end)
    place = ((xway * 2 + way) * 8 + lane) * (_SEGMENTS * _LENGTH) + pos
    here = np.flatnonzero(begins < until)
    here = here[np.lexsort((begins[here], place[here]))]
    if len(here) < 2:
        return np.empty(0, np.int64)
    # Stops of one car never overlap, so a stop that begins before an earlier one there has ended is of another car.
    _, spot = np.unique(place[here], return_inverse=True)
    latest = np.maximum.accumulate(spot * _AGES + until[here])
    together = here[1:][latest[:-1] > spot[1:] * _AGES + begins[here][1:]]
    return np.unique(_road(xway[together], way[together], pos[together] // _LENGTH))


def _quotes(relations: State, minute: int) -> pa.RecordBatch:
    """Rules 4, 5 and 8 for every segment of which there is something to say in this minute, made once a minute."""
    known = relations.get("quotes")
    if known is not None and known["Minute"][0].as_py() == minute:
        return known
    stored = [relations.get(f"statistics/{minute - back}") for back in range(1, EDITION_2004.lav_minutes + 1)]
    recent = [rows for rows in stored if rows is not None]
    accidents = _accidents(relations, minute - 1)
    upstream, crash = _upstream(accidents)
    past = np.concatenate([numbers(rows, "Road") for rows in recent] or [np.empty(0, np.int64)])
    roads = np.unique(np.concatenate([past, upstream]))
    speeds, minutes = np.zeros(len(roads)), np.zeros(len(roads))
    for rows in recent:
        at = np.searchsorted(roads, numbers(rows, "Road"))
        speeds[at] += numbers(rows, "Speed") / numbers(rows, "Cars")
        minutes[at] += 1
    mean = np.divide(speeds, minutes, out=np.full(len(roads), -1.0), where=minutes > 0)
    lav = np.floor(mean + 1e-9).astype(np.int32)
    cars = np.zeros(len(roads), np.int64)
    if stored[0] is not None:
        cars[np.searchsorted(roads, numbers(stored[0], "Road"))] = numbers(stored[0], "Cars")
    accident = np.full(len(roads), -1, np.int32)
    accident[np.searchsorted(roads, upstream)] = crash
    tolled = EDITION_2004.tolled(lav, cars) & (accident < 0)
    quotes = pa.record_batch(
        {
            "Road": roads,
            "Lav": lav,
            "Toll": np.where(tolled, EDITION_2004.toll(cars), 0),
            "Accident": accident,
            "Minute": np.full(len(roads), minute, np.int32),
        }
    )
    if len(roads):
        relations.put("quotes", quotes)
    return quotes


def _upstream(accidents: Array) -> tuple[Array, Array]:
    """The segments that hear of accidents, and for each the segment of the nearest one."""
    told: dict[int, int] = {}
    for ahead in range(EDITION_2004.accident_reach, -1, -1):
        segment = accidents % _SEGMENTS
        # Eastbound cars come from lower segments, westbound ones from higher.
        behind = np.where(accidents // _SEGMENTS % 2 == 0, segment - ahead, segment + ahead)
        on_road = (behind >= 0) & (behind < _SEGMENTS)
        told.update(
            zip((accidents - segment + behind)[on_road].tolist(), segment[on_road].tolist(), strict=True)
        )
    hearers = np.array(sorted(told), np.int64)
    return hearers, np.array([told[road] for road in hearers.tolist()], np.int32)
