"""Linear Road, edition of 2004, as a network of boxes and arrows: the rules of the benchmark, one group for each."""

from collections.abc import Mapping
from typing import Any

from aurora import Network, Stream
from aurora.linear_road.edition import EDITION_2004 as EDITION
from aurora.linear_road.network import past
from aurora.linear_road.network.prepared import Prepared
from aurora.linear_road.network.traffic import read_traffic
from aurora.linear_road.records import Replication
from aurora.linear_road.stored_histories import TOLL_COLUMNS, TOLL_KEY

__all__ = ["OUTPUTS", "REQUESTS", "linear_road"]

# The outputs by the number of their type.
OUTPUTS = ("tolls", "alerts", "balances", "expenditures", "journeys")
# Those that answer what a driver asked for.
REQUESTS = OUTPUTS[2:]

TOLLS = ", ".join(f"{name} {kind}" for name, kind in TOLL_COLUMNS.items())
PLACE = ("XWay", "Lane", "Dir", "Pos")
SEGMENT = ("XWay", "Dir", "Seg")
# One row for each report of a car, with the report before it.
LAST_TWO: dict[str, Any] = {"order": {"on": "#", "group_by": ["VID"]}, "size": 2, "partial": True}
ON_TIME = f"count(*) = 2 AND Time - first(Time) = {EDITION.report_interval}"


def linear_road(
    prepared: Prepared | None = None,
    graphs: Mapping[str, Mapping[str, Any]] | None = None,
    copies: Replication | None = None,
) -> Network:
    """All queries of the benchmark; without prepared histories those of the past know of no traffic and no tolls.

    `graphs` are those of the quality of service of its outputs. The point of the charges never waits, and so the boxes
    that may wait begin behind it: what is handed over to them are charges, not the quotes, of which there are twenty
    times as many. `copies` are those of each tuple, for load.
    """
    network = Network("linear road")
    traffic = read_traffic(network, copies)
    kinds = traffic.filter("Type = 0", "Type = 2", "Type = 3", "Type = 4", name="kinds")
    fields = ("Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")
    reports = kinds.map(_same(*fields) | {"Minute": "CAST(Time DIV 60 AS int) + 1"}, name="reports")
    with network.group("cars"):
        moves = _follow_cars(reports)
    with network.group("segments"):
        statistics = _measure_segments(reports)
    with network.group("accidents"):
        crashes = _find_crashes(moves)
    with network.group("tolls"):
        quotes = _quote_tolls(moves, statistics, crashes)
    with network.group("accounts"):
        balances = _keep_accounts(network, quotes, kinds["2"])
    told = quotes.filter(f"Lane <> {EDITION.exit_lane}", name="told")
    warned = told.filter("Crash IS NOT NULL", name="warned")
    answers = {
        "tolls": told.map(_same("VID", "Time", "Toll") | {"Spd": "Lav"}, name="toll"),
        "alerts": warned.map(_same("Time", "VID") | {"Seg": "Crash"}, name="alert"),
        "balances": balances,
        **_look_back(network, kinds, prepared or Prepared()),
    }
    for name in OUTPUTS:
        network.output(name, answers[name], qos=(graphs or {}).get(name))
    return network


def _same(*fields: str) -> dict[str, str]:
    return {name: name for name in fields}


def _follow_cars(reports: Stream) -> Stream:
    """Rules 2 and 6: whether a report continues a trip, enters a segment, or comes from where the last one did."""
    stays = " AND ".join(f"{name} = first({name})" for name in PLACE)
    fields = ("Time", "Minute", *PLACE, "Seg")
    return reports.aggregate(
        _same(*fields)
        | {
            "Continues": ON_TIME,
            "Enters": f"NOT ({ON_TIME}) OR Seg <> first(Seg)",
            "Stays": f"{ON_TIME} AND {stays}",
            "Since": "first(Time)",
            "Leaves": f"count(*) = 2 AND Time - first(Time) < {EDITION.report_interval} AND NOT ({stays})",
        },
        **LAST_TWO,
        name="moves",
    )


def _measure_segments(reports: Stream) -> Stream:
    """Rules 3 and 4: the cars of each segment and minute, and the mean speed of the five minutes before one."""
    minute = {"on": "Minute", "clock": "stream"}
    by_car = reports.aggregate(
        {"Speed": "avg(Spd)"},
        order={**minute, "group_by": [*SEGMENT, "VID"]},
        size=1,
        align=True,
        name="speeds",
    )
    by_segment = by_car.aggregate(
        {"Speed": "avg(Speed)", "Cars": "count(*)"},
        order={**minute, "group_by": list(SEGMENT)},
        size=1,
        align=True,
        name="minutes",
    )
    recent = by_segment.aggregate(
        {"Mean": "avg(Speed)", "Cars": "max_by(Cars, Minute)", "Latest": "max(Minute)"},
        order={**minute, "group_by": list(SEGMENT)},
        size=EDITION.lav_minutes,
        advance=1,
        align=True,
        name="recent",
    )
    last = EDITION.lav_minutes - 1
    return recent.map(
        _same(*SEGMENT)
        | {
            "Minute": f"Minute + {EDITION.lav_minutes}",
            "Lav": "CAST(floor(Mean + 1e-9) AS int)",
            "Cars": f"if(Latest = Minute + {last}, Cars, 0)",
        },
        name="statistics",
    )


def _find_crashes(moves: Stream) -> Stream:
    """Rules 7 and 8: for each segment and minute the nearest crash ahead, where two cars stood in one place."""
    still = moves.filter("Stays", name="still")
    for number in range(EDITION.stopped_reports - 2):
        # A report that stays where one was that stayed itself.
        again = {"Again": f"{ON_TIME} AND Pos = first(Pos)"}
        chained = still.aggregate(_same("Time", *PLACE, "Seg") | again, **LAST_TWO, name=f"chain{number + 1}")
        still = chained.filter("Again", name=f"still{number + 1}")
    lanes = ", ".join(map(str, EDITION.travel_lanes))
    stands = _split_by_minute(still.filter(f"Lane IN ({lanes})", name="stopped"))
    left = moves.filter("Leaves", name="leaving").map(_same("VID", "Since", "Time"), name="left")
    by_time = {"on": "Time", "clock": "reports"}
    stood = stands.resample(
        left,
        {"Left": "min(Time)"},
        match="left.VID = right.VID AND left.Time = right.Since",
        between=["Time", "Until - 1"],
        outer="left",
        left_order=by_time,
        right_order=by_time,
        name="standing",
    ).map(
        _same("VID", *PLACE, "Seg", "Minute", "Begin") | {"End": "least(Until, coalesce(Left, Until))"},
        name="stood",
    )
    order = {"on": "Minute", "group_by": list(PLACE)}
    same_place = " AND ".join(f"left.{name} = right.{name}" for name in PLACE)
    together = "greatest(left.Begin, right.Begin) < least(left.End, right.End)"
    minutes = stood.join(
        stood,
        f"{same_place} AND left.VID < right.VID AND {together}",
        size=0,
        left_order=order,
        right_order=order,
        name="crashed",
    ).map(_same("XWay", "Dir", "Seg", "Minute"), name="minutes")
    behind = [
        minutes.map(
            _same("XWay", "Dir", "Minute")
            | {
                "Seg": f"CAST(if(Dir = 0, Seg - {ahead}, Seg + {ahead}) AS int)",
                "Crash": "CAST(Seg AS int)",
                "Ahead": str(ahead),
            },
            name=f"behind{ahead}",
        )
        for ahead in range(EDITION.accident_reach + 1)
    ]
    return (
        behind[0]
        .union(*behind[1:], name="upstream")
        .aggregate(
            {"Crash": "min_by(Crash, Ahead)"},
            order={"on": "Minute", "group_by": list(SEGMENT), "clock": "reports"},
            size=1,
            align=True,
            name="nearest",
        )
    )


def _split_by_minute(stopped: Stream) -> Stream:
    """Where a car stands from its report on, until the next one is due at the latest: in one minute, or in two."""
    interval = EDITION.report_interval
    fields = _same("VID", "Time", *PLACE, "Seg")
    first, next_minute = "CAST(Time DIV 60 AS int) + 1", "CAST(Time DIV 60 AS int) * 60 + 60"
    here = stopped.map(
        fields | {"Minute": first, "Begin": "Time", "Until": f"least(Time + {interval}, {next_minute})"},
        name="here",
    )
    longer = stopped.filter(f"Time + {interval} > {next_minute}", name="longer").map(
        fields | {"Minute": f"{first} + 1", "Begin": next_minute, "Until": f"Time + {interval}"},
        name="there",
    )
    return here.union(longer, name="stands")


def _quote_tolls(moves: Stream, statistics: Stream, crashes: Stream) -> Stream:
    """Rule 5: what a car that enters a segment is told, by the statistics and crashes of the minute before."""
    entries = moves.filter("Enters", name="entries")
    same_segment = " AND ".join(f"left.{name} = right.{name}" for name in SEGMENT)
    as_of = {"asof": True, "outer": "left", "broadcast": True}
    seen = entries.join(statistics, f"{same_segment} AND right.Minute >= left.Minute", **as_of, name="seen")
    warned = seen.join(crashes, f"{same_segment} AND right.Minute >= left.Minute - 1", **as_of, name="ahead")
    cars = EDITION.toll_cars
    # In the exit lane no toll is quoted, so none is charged.
    asked = f"Lav < {EDITION.toll_speed} AND Cars > {cars} AND Crash IS NULL AND Lane <> {EDITION.exit_lane}"
    return warned.map(
        _same("VID", "Time", "Lane", "Continues", "Crash")
        | {
            "Lav": "coalesce(Lav, -1)",
            "Toll": f"if({asked}, 2 * (Cars - {cars}) * (Cars - {cars}), 0)",
        },
        name="quotes",
    )


def _keep_accounts(network: Network, quotes: Stream, requests: Stream) -> Stream:
    """Rules 9 and 10: a toll is charged when the trip goes on in another segment; a request reads the sum so far.

    The point is for queries that are attached to a run with a home; without a home it is no work.
    """
    charges = quotes.aggregate(
        _same("Time") | {"Charge": "if(count(*) = 2 AND Continues, first(Toll), 0)"},
        **LAST_TWO,
        name="charges",
    )
    charged = charges.filter("Charge > 0", name="charged")
    payments = charged.map(_same("VID", "Time", "Charge"), name="payments")
    network.point("charges", payments, keep="1h", on="Time", key=["VID"])
    accounts = charged.aggregate(
        {"Sum": "sum(Charge)"}, order={"on": "#", "group_by": ["VID"]}, size="all", name="sums"
    )
    read = requests.map(_same("Time", "VID", "QID"), name="requests").join(
        accounts, "left.VID = right.VID", asof=True, outer="left", name="read"
    )
    return read.map(_same("Time", "QID") | {"ResultTime": "Time", "Bal": "coalesce(Sum, 0)"}, name="balances")


def _look_back(network: Network, kinds: Stream, prepared: Prepared) -> dict[str, Stream]:
    """Rules 11 and 12: the queries of the past, answered where they are read."""
    with network.group("past"):
        journeys = network.user(
            past.journeys,
            with_=prepared.arguments(),
            inputs={"requests": kinds["4"]},
            outputs=past.JOURNEYS,
            stateless=True,
            name="journeys",
        )
        return {"expenditures": _look_up_tolls(network, kinds["3"], prepared), "journeys": journeys}


def _look_up_tolls(network: Network, requests: Stream, prepared: Prepared) -> Stream:
    """Rule 11: what a car paid on a day and expressway is an entry of the toll history, 0 where there is none."""
    if prepared.toll_history is None:
        return requests.map(_same("Time", "QID") | {"Bal": "CAST(0 AS bigint)"}, name="expenditure")
    tolls = network.stored("toll_history", prepared.toll_history, key=TOLL_KEY, schema=TOLLS)
    # The copies of a car and of an expressway share the history of their original.
    originals = (
        {"VID": f"VID % {prepared.vid_step}", "XWay": f"XWay % {prepared.xways}"} if prepared.xways else {}
    )
    asked = requests.map(_same("Time", "QID", *TOLL_KEY) | originals, name="asked")
    same_entry = " AND ".join(f"left.{name} = right.{name}" for name in TOLL_KEY)
    return asked.join(tolls, same_entry, outer="left", name="paid").map(
        _same("Time", "QID") | {"Bal": "CAST(coalesce(Tolls, 0) AS bigint)"}, name="expenditure"
    )
