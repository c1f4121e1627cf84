"""The tables of a relational Linear Road, in words that DuckDB and PostgreSQL both understand.

The reports of the even and of the odd half minutes have a table each. So the report 30 seconds earlier is always in the
other one, a minute is the two together, and old rows leave by TRUNCATE.
"""

__all__ = ["TABLES", "VIEWS"]

_REPORTS = """(
    time integer, vid bigint, spd smallint, xway integer, lane smallint, dir smallint, seg smallint, pos integer,
    starts boolean,             -- the first report of a trip
    enters boolean,             -- the first report from a segment
    still integer,              -- so many reports in a row from this place
    lav integer,
    accident smallint,
    toll bigint,                -- quoted for the segment that the car is in
    charged bigint,             -- for the segment that it has left
    cars smallint,              -- what the report adds to the cars of its segment and minute,
    speed double precision      -- and to the sum of their mean speeds
)"""

TABLES = {
    # What arrived last. A line that breaks a constraint is no tuple: its file is looked at again, line by line.
    "arrived": """(
        type smallint not null, time integer not null, vid bigint not null, spd bigint not null,
        xway integer not null, lane bigint not null, dir bigint not null, seg bigint not null, pos bigint not null,
        qid bigint not null, sinit bigint not null, send bigint not null, dow bigint not null,
        tod bigint not null, day bigint not null,
        check (time >= 0 and vid between 0 and 4611686018427387904 and case type
            when 0 then spd between 0 and 100 and xway >= 0 and lane between 0 and 4 and dir between 0 and 1
                and seg between 0 and 99 and pos between 0 and 527999
            when 2 then qid between 0 and 4611686018427387904
            when 3 then qid between 0 and 4611686018427387904 and xway >= 0 and day between 1 and 69
            when 4 then qid between 0 and 4611686018427387904 and xway >= 0 and sinit between 0 and 99
                and send between 0 and 99 and dow between 1 and 7 and tod between 1 and 1440
            else false end))""",
    "reports_0": _REPORTS,
    "reports_1": _REPORTS,
    # What the batches of this minute add to its statistics.
    "counts": "(xway integer, dir smallint, seg smallint, cars integer, speed double precision)",
    # The first reports of trips.
    "starts_0": "(vid bigint, time integer)",
    "starts_1": "(vid bigint, time integer)",
    # Each stop of a car: from its report at `time` to `until`, which is no part of it.
    "stopped": "(vid bigint, time integer, until integer, xway integer, lane smallint, dir smallint, pos integer)",
    # What was charged in this minute, and in all minutes before.
    "charges": "(vid bigint, time integer, toll bigint)",
    "accounts": "(vid bigint primary key, balance bigint)",
    "statistics": "(minute integer, xway integer, dir smallint, seg smallint, cnt integer, speed double precision)",
    # What holds in this minute.
    "quotes": "(xway integer, dir smallint, seg smallint, lav integer, toll bigint, accident smallint)",
    "toll_history": "(vid bigint, day smallint, xway integer, tolls integer)",
    "segment_means": (
        "(xway integer, dir smallint, dow smallint, seg smallint, min smallint, "
        "seconds double precision, toll double precision)"
    ),
    # Requests for travel times that wait for their turn.
    "asked": (
        "(qid bigint, time integer, xway integer, dir smallint, dow smallint, sinit smallint, send smallint, "
        "departs integer)"
    ),
}

VIEWS = {
    "reports": "select * from reports_0 union all select * from reports_1",
    "starts": "select * from starts_0 union all select * from starts_1",
}
