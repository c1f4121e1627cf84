"""JSON lines: records inside records, times as asked for, nulls left out; and that they read back."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema, json_lines
from aurora.engine.sources.text.parse import parse_json

SCHEMA = Schema.parse(
    "t timestamp, bid struct<a: bigint, t: timestamp, in: struct<s: string, d: double>>, p struct<s: string>, n int"
)
TIME = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda moment: moment.replace(tzinfo=UTC))
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
INNER = st.fixed_dictionaries(
    {"s": st.none() | TEXT, "d": st.none() | st.floats(allow_nan=False, allow_infinity=False)}
)
BID = st.fixed_dictionaries(
    {"a": st.none() | st.integers(-(2**63), 2**63 - 1), "t": st.none() | TIME, "in": st.none() | INNER}
)
ROW = st.fixed_dictionaries(
    {
        "t": st.none() | TIME,
        "bid": st.none() | BID,
        "p": st.none() | st.fixed_dictionaries({"s": st.none() | TEXT}),
        "n": st.none() | st.integers(-5, 5),
    }
)


@given(st.lists(ROW, min_size=1, max_size=12), st.booleans())
def test_lines_read_back(rows: list[dict[str, Any]], nulls: bool) -> None:
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA.arrow())
    text = json_lines(batch, nulls=nulls)
    assert text.count(b"\n") == len(rows)
    assert parse_json(SCHEMA)(text).to_pylist() == batch.to_pylist()
    for line, row in zip(text.decode().split("\n"), rows, strict=False):
        assert list(json.loads(line)) == [name for name in SCHEMA.names if nulls or row[name] is not None]


@pytest.mark.parametrize(
    ("digits", "text"),
    [
        (None, "2004-08-31 12:30:00.25"),
        (0, "2004-08-31 12:30:00"),
        (3, "2004-08-31 12:30:00.250"),
        (6, "2004-08-31 12:30:00.250000"),
    ],
)
@pytest.mark.parametrize("year", ["2004", "+10004"])
def test_times_have_as_many_digits_as_asked_for(digits: int | None, text: str, year: str) -> None:
    moment = pa.array(["2004-08-31 12:30:00.250000"]).cast(pa.timestamp("us")).cast(pa.int64())
    later = moment[0].as_py() + (0 if year == "2004" else 20 * 146_097 * 86_400_000_000)
    rows = pa.record_batch({"t": pa.array([later, None]).cast(pa.timestamp("us", tz="UTC"))})
    lines = json_lines(rows, digits).decode().splitlines()
    assert lines == [f'{{"t": "{text.replace("2004", year)}"}}', '{"t": null}']
