"""The accounts box: tolls charged when a car reaches the next segment, and balances (rules 9 and 10).

The relation `accounts` is kept in thirty parts like the trips of the cars box, and holds the cars on a trip. When a
trip ends its balance goes to `archive`: first to the part `recent`, from time to time on to blocks of neighbouring
VIDs. A car that begins a trip takes its balance along from there.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import State, Train, Turn, caused
from aurora.linear_road.edition import EDITION_2004
from aurora.linear_road.network.charging import ARCHIVED, charge
from aurora.linear_road.network.following import lookup_table
from aurora.linear_road.network.numbers import Array, numbers

__all__ = ["OUTPUTS", "accounts"]

OUTPUTS = {"balances": "Time int, ResultTime int, QID bigint, Bal bigint"}
INTERVAL = EDITION_2004.report_interval
_ACCOUNT = {"VID": np.int64, "Balance": np.int64, "Pending": np.int64}
_BLOCK = 13
_RECENT = 1 << 14


def accounts(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Inputs: ends of trips, quotes, requests; of one arrival they are taken in this order."""
    ends, quotes, requests = inputs["ends"], inputs["quotes"], inputs["requests"]
    vid, time, lane, toll = (numbers(quotes.rows, name) for name in ("VID", "Time", "Lane", "Toll"))
    begins = numbers(quotes.rows, "Begins")
    asked, asked_part = numbers(requests.rows, "VID"), numbers(requests.rows, "Part")
    parts = np.unique(np.concatenate([time % INTERVAL, asked_part, numbers(ends.rows, "Part")]))
    open_parts = [int(part) for part in parts if part >= 0]
    rows, count = _loaded(
        turn.relations, open_parts, np.concatenate([vid[begins], asked[asked_part < 0]]), len(vid)
    )
    balances = np.empty(len(asked), np.int64)
    count = charge(
        (quotes.keys[0], vid, time, lane, toll, begins),
        (requests.keys[0], asked, balances),
        (ends.keys[0], numbers(ends.rows, "VID")),
        tuple(rows.values()),
        count,
        lookup_table(len(rows["VID"])),
        INTERVAL,
        EDITION_2004.exit_lane,
    )
    _store(turn.relations, {name: column[:count] for name, column in rows.items()}, open_parts)
    when = requests.rows["Time"]
    answers = pa.record_batch(
        [when, when, requests.rows["QID"], pa.array(balances)], names=["Time", "ResultTime", "QID", "Bal"]
    )
    return {"balances": caused(requests, answers, np.arange(len(asked)))}


def _loaded(relations: State, parts: list[int], wanted: Array, room: int) -> tuple[dict[str, Array], int]:
    """The accounts of these parts, and of the archive those that are wanted, with room for new ones."""
    found = [(part, relations.get(f"accounts/{part}")) for part in parts]
    pieces = [(ARCHIVED, rows) for rows in _archived(relations, wanted)]
    pieces += [(part, rows) for part, rows in found if rows is not None]
    count = sum(rows.num_rows for _, rows in pieces)
    table: dict[str, Array] = {}
    for name, kind in _ACCOUNT.items():
        table[name] = np.empty(count + room, kind)
        if pieces:
            table[name][:count] = np.concatenate([numbers(rows, name) for _, rows in pieces])
    table["Part"] = np.empty(count + room, np.int64)
    table["Part"][:count] = np.repeat([part for part, _ in pieces], [rows.num_rows for _, rows in pieces])
    return table, count


def _archived(relations: State, wanted: Array) -> list[pa.RecordBatch]:
    """What the archive has of the wanted cars: blocks first, then what is newer."""
    wanted = np.unique(wanted)
    found = []
    names = [f"archive/{block}" for block in np.unique(wanted >> _BLOCK)] if len(wanted) else []
    for name in [*names, "archive/recent"]:
        rows = relations.get(name)
        if rows is not None:
            mine = np.isin(numbers(rows, "VID"), wanted)
            if mine.any():
                found.append(rows.filter(pa.array(mine)))
    return found


def _store(relations: State, rows: dict[str, Array], parts: list[int]) -> None:
    worth = (rows["Balance"] != 0) | (rows["Pending"] != 0)
    for part in parts:
        mine = worth & (rows["Part"] == part)
        relations.put(
            f"accounts/{part}", pa.record_batch({name: pa.array(rows[name][mine]) for name in _ACCOUNT})
        )
    over = (rows["Part"] == ARCHIVED) & (rows["Balance"] != 0)
    if over.any():
        _archive(relations, rows["VID"][over], rows["Balance"][over])


def _archive(relations: State, vid: Array, balance: Array) -> None:
    """Adds balances to the part `recent`; when that is long, it goes to the blocks."""
    known = relations.get("archive/recent")
    vids, balances = _newest([known] if known is not None else [], vid, balance)
    if len(vids) > _RECENT:
        block = vids >> _BLOCK
        for number in np.unique(block).tolist():
            mine = block == number
            stored = relations.get(f"archive/{number}")
            merged = _newest([stored] if stored is not None else [], vids[mine], balances[mine])
            relations.put(f"archive/{number}", _settled(*merged))
        vids, balances = vids[:0], balances[:0]
    relations.put("archive/recent", _settled(vids, balances))


def _newest(known: list[pa.RecordBatch], vid: Array, balance: Array) -> tuple[Array, Array]:
    """One balance for each car: a new one replaces what is known."""
    vids = np.concatenate([vid, *(numbers(rows, "VID") for rows in known)])
    balances = np.concatenate([balance, *(numbers(rows, "Balance") for rows in known)])
    each, first = np.unique(vids, return_index=True)
    return each, balances[first]


def _settled(vid: Array, balance: Array) -> pa.RecordBatch:
    return pa.record_batch({"VID": vid, "Balance": balance, "Pending": np.zeros(len(vid), np.int64)})
