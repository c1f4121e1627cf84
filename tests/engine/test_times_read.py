"""Times in text and files, as all readers take them."""

import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora.algebra.tuples.schema import Schema
from aurora.engine.draft.sample import read_first
from aurora.engine.sources.text.parse import parse_csv, parse_json
from aurora.engine.sources.text.reasons import Unreadable
from aurora.engine.sources.text.times import read_times

SCHEMA = Schema.parse("t timestamp, s string")
NESTED = Schema.parse("s struct<a: timestamp, b: string>, l array<timestamp>, m map<string, timestamp>")
# What is written, and the microseconds of its second.
TIMES = [
    ("2026-11-16T06:00:00.1234567Z", 123456),
    ("2026-11-16 06:00:00.123456789", 123456),
    ("2026-11-16T07:00:00.999999999+01:00", 999999),
    ("1969-12-31T23:59:59.999999999Z", 999999),
    ("2026-11-16T06:00:00.5Z", 500000),
    ("2026-11-16T06:00:00Z", 0),
]


def micros(column: pa.Array) -> list[int]:
    return [value % 1_000_000 for value in column.cast(pa.int64()).to_pylist()]


@pytest.mark.parametrize("kind", ["csv", "json", "sqlite"])
@pytest.mark.parametrize("rows", [TIMES, TIMES[:1], TIMES[4:] + TIMES[:4]], ids=["all", "first", "later"])
def test_decimals_behind_microseconds_are_cut(tmp_path: Path, kind: str, rows: list[tuple[str, int]]) -> None:
    path = tmp_path / "times"
    if kind == "csv":
        path.write_text("t,s\n" + "".join(f"{text},{text}\n" for text, _ in rows))
    elif kind == "json":
        path.write_text("".join(json.dumps({"t": text, "s": text}) + "\n" for text, _ in rows))
    else:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE x (t TEXT, s TEXT)")
            database.executemany("INSERT INTO x VALUES (?, ?)", [(text, text) for text, _ in rows])
        database.close()
    found, rejects = read_first(f"{kind}:{path}" + ("?table=x" if kind == "sqlite" else ""), SCHEMA, 100)
    assert rejects == ()
    assert micros(found.column("t")) == [part for _, part in rows]
    assert found.column("s").to_pylist() == [text for text, _ in rows]


def test_decimals_in_nested_json() -> None:
    text = "2026-11-16T06:00:00.123456789Z"
    record = {"s": {"a": text, "b": text}, "l": [text, None], "m": {"k": text}}
    (row,) = parse_json(NESTED)(json.dumps(record).encode()).to_pylist()
    assert row["s"]["a"].microsecond == 123456 and row["s"]["b"] == text
    assert row["l"][0].microsecond == 123456 and row["l"][1] is None
    assert row["m"][0][1].microsecond == 123456


def test_nanoseconds_in_parquet_are_cut(tmp_path: Path) -> None:
    moments = pa.array([1_794_808_800_123_456_789, -1, None], pa.timestamp("ns"))
    inside = pa.StructArray.from_arrays([moments], ["a"])
    pyarrow.parquet.write_table(pa.table({"t": moments, "s": inside}), tmp_path / "t.parquet")
    schema = Schema.parse("t timestamp, s struct<a: timestamp>")
    found, rejects = read_first(f"parquet:{tmp_path}/t.parquet", schema, 100)
    assert rejects == ()
    wanted = [1_794_808_800_123_456, -1, None]
    assert found.column("t").cast(pa.int64()).to_pylist() == wanted
    assert found.column("s").field("a").cast(pa.int64()).to_pylist() == wanted


@pytest.mark.parametrize(
    "bad", ["2026-11-16T06:00:00.123456789X", "2026-13-16T06:00:00.1234567", "06:00.1234567"]
)
def test_the_first_text_that_is_no_time_is_named(bad: str) -> None:
    good = TIMES[0][0]
    for texts in ([bad], [good, bad, "other"], [good] * 9 + [bad]):
        with pytest.raises(Unreadable, match=f"field t: '{bad}' is not a timestamp"):
            read_times(pa.array(texts), "t")


def test_the_reason_names_the_bad_value() -> None:
    parser = parse_json(NESTED)
    line = json.dumps({"l": ["2026-11-16T06:00:00.123456789Z", "noon"]}).encode()
    with pytest.raises(ValueError):
        parser(line)
    assert parser.explain(line) == "field l.[]: 'noon' is not a timestamp"
    assert parse_csv(SCHEMA).explain(b"noon,2026-11-16T06:00:00.123456789Z\n") == (
        "field t: 'noon' is not a timestamp"
    )
