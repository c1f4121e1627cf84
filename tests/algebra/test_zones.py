"""Time zones: against Python's own one moment at a time, and against Spark."""

import datetime as dt
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.zones import find_zone
from aurora.errors import AuroraError
from tests.algebra.spark_harness import differences, for_spark

SCHEMA = Schema.parse("t timestamp, z string, x string")
# Changes at other hours, by half an hour, by a whole day, at midnight, in summer backwards, and none at all.
ZONES = [
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Europe/Dublin",
    "Asia/Kolkata", "Africa/Casablanca", "America/Juneau", "UTC", "PST", "+05:30", "-3", "GMT+2", "Etc/GMT+1",
]  # fmt: skip
UNKNOWN = [
    "",
    "utc",
    "europe/berlin",
    "Nowhere/Land",
    "+25:00",
    "+18:01",
    "../UTC",
    "zone.tab",
    " UTC",
    "Z+1",
    "posixrules",
]
HOUR = 3_600_000_000
DAY = 24 * HOUR
EPOCH = dt.datetime(1970, 1, 1)


def micros(text: str) -> int:
    return (dt.datetime.fromisoformat(text) - EPOCH) // dt.timedelta(microseconds=1)


# Changes of the clocks, in UTC.
CHANGES = [
    micros(text)
    for text in (
        "2026-03-29 01:00", "2026-10-25 01:00", "2026-03-08 07:00", "2026-11-01 06:00", "2011-12-30 10:00",
        "2018-11-04 03:00", "2018-02-18 02:00", "2026-04-04 15:00", "2026-10-03 15:30", "1893-03-31 23:06:32",
        "1867-10-19 00:31:37", "2400-03-26 01:00", "2026-12-31 23:00", "2027-01-01 00:00",
    )
]  # fmt: skip
moments = st.one_of(
    st.tuples(st.sampled_from(CHANGES), st.integers(-30 * HOUR, 30 * HOUR)).map(sum),
    st.tuples(st.sampled_from(CHANGES), st.sampled_from([-HOUR, -1, 0, 1, HOUR - 1, HOUR, DAY])).map(sum),
    st.integers(micros("0002-01-01"), micros("9998-01-01")),
)
names = st.sampled_from([name for name in ZONES if "/" in name])


@given(names, st.lists(moments, max_size=8))
def test_each_moment_alone(name: str, given_moments: list[int]) -> None:
    zone, rules = find_zone(name), ZoneInfo(name)
    assert zone is not None
    wanted = []
    for moment in given_moments:
        shown = (EPOCH + dt.timedelta(microseconds=moment)).replace(tzinfo=dt.UTC).astimezone(rules)
        wanted.append((shown.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1))
    found = zone.to_local(np.array(given_moments, np.int64))
    assert found.tolist() == wanted
    back = zone.to_utc(found)
    for moment, shown, utc in zip(given_moments, found.tolist(), back.tolist(), strict=True):
        # The first of the moments at which the clocks show that.
        assert utc <= moment and zone.to_local(np.array([utc])).tolist() == [shown]
        naive = (EPOCH + dt.timedelta(microseconds=shown)).replace(tzinfo=rules, fold=0)
        assert utc == (naive - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def test_a_time_that_is_left_out() -> None:
    zone = find_zone("Europe/Berlin")
    assert zone is not None
    assert zone.to_utc(np.array([micros("2026-03-29 02:30")])).tolist() == [micros("2026-03-29 01:30")]


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_name_that_is_none(name: str) -> None:
    assert find_zone(name) is None
    for text in (f"from_utc_timestamp(t, '{name}')", f"convert_timezone('UTC', '{name}', t)"):
        with pytest.raises(AuroraError, match="no time zone"):
            Expression.parse(text, SCHEMA)
    rows = pa.record_batch({"t": pa.array([0, 0], pa.int64()), "z": [name, "UTC"], "x": ["", ""]})
    rows = rows.set_column(0, "t", rows.column("t").cast(SCHEMA["t"]))
    for op in ("from_utc_timestamp", "to_utc_timestamp"):
        found = Expression.parse(f"unix_micros({op}(t, z))", SCHEMA).evaluate(rows)
        assert found.to_pylist() == [None, 0]


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(
        AuroraError, match=r"'Europe/Belin' \(did you mean Europe/Berlin\?\): write a name such as"
    ):
        Expression.parse("to_utc_timestamp(t, 'Europe/Belin')", SCHEMA)


TEXTS = [
    f"2026-{day} {time}{gap}{zone}"
    for day in ("11-16", "03-29", "10-25")
    for time in ("02:30:00", "06:00:00.25", "06:00")
    for gap, zone in [
        *(("", zone) for zone in ("Europe/Berlin", "Z", "UTC+2", "+2", "+02:30", "Z+2", "CET")),
        *(
            (" ", zone)
            for zone in ("Europe/Berlin", "PST", "Nowhere/Land", "europe/berlin", "-03:30:15", "GMT-1", "")
        ),
        ("  ", "America/New_York "),
    ]
]


def test_zones_agree_with_spark(compiling_spark: SparkSession) -> None:
    random = Random(11)
    times = [*CHANGES, *(change + random.randrange(-30, 30) * HOUR // 2 for change in CHANGES * 4), None]
    times += [random.randrange(micros("1500-01-01"), micros("3000-01-01")) for _ in range(40)]
    rows = max(len(times), len(TEXTS)) * 2
    table = pa.table(
        {
            "t": pa.array([times[row % len(times)] for row in range(rows)], pa.int64()).cast(SCHEMA["t"]),
            "z": [[*ZONES, None][row % (len(ZONES) + 1)] for row in range(rows)],
            "x": [[*TEXTS, None][row % (len(TEXTS) + 1)] for row in range(rows)],
        }
    )
    frame = compiling_spark.createDataFrame(table).coalesce(1)
    texts = [f"{op}(t, '{zone}')" for op in ("from_utc_timestamp", "to_utc_timestamp") for zone in ZONES]
    texts += ["from_utc_timestamp(t, z)", "to_utc_timestamp(t, z)", "from_utc_timestamp(x, 'Europe/Berlin')"]
    texts += [
        "from_utc_timestamp(TIMESTAMP '2026-03-29 01:30:00', z)",
        "to_utc_timestamp(DATE '2026-03-29', z)",
    ]
    texts += ["CAST(x AS timestamp)", "CAST(x AS date)", "TIMESTAMP '2026-11-16 06:00:00 Europe/Berlin'"]
    texts += ["from_utc_timestamp(t, CAST(NULL AS string))", "from_utc_timestamp(t, NULL)"]
    assert differences(texts, texts, frame, table, SCHEMA) == []
    assert differences(texts, for_spark(texts, SCHEMA), frame, table, SCHEMA) == []
    # Spark's gives a type that this language does not have: what the clocks show.
    converted = ["convert_timezone('Europe/Berlin', z, t)", "convert_timezone(z, 'Pacific/Apia', t)"]
    converted += ["convert_timezone('America/New_York', t)", "convert_timezone(z, t)"]
    ours = [*converted, "convert_timezone('UTC', '+1', DATE '2026-01-01')"]
    theirs = [f"CAST({text} AS timestamp)" for text in ours]
    assert differences(ours, theirs, frame, table, SCHEMA) == []
    assert differences(ours, for_spark(ours, SCHEMA), frame, table, SCHEMA) == []
