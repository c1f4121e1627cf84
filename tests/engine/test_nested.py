"""Nested JSON: what is read, exactly, and what is refused."""

import datetime as dt
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Schema
from aurora.engine.sources.files.line_files import LineFiles
from tests.engine.test_sources import drained, rows_of

BID = Schema.parse("bid struct<auction: bigint, at: timestamp, name: string, in: struct<x: int>>")

BAD = [
    (b"null", "not a JSON object"),
    (b"5", "not a JSON object"),
    (b'["bid"]', "not a JSON object"),
    (b'"bid"', "not a JSON object"),
    (b'{"bid": {"auction": 1', "not a JSON object"),
    (b'{"bid": {"auction": 1}', "not valid JSON at character 23"),
    (b'{"bid": {"auction": "1"}}', "field bid.auction: found a string where a bigint is expected"),
    (b'{"bid": {"auction": 1.5}}', "field bid.auction: '1.5' is not a bigint"),
    (
        b'{"bid": {"auction": 9223372036854775808}}',
        "field bid.auction: '9223372036854775808' is not a bigint",
    ),
    (b'{"bid": {"in": {"x": true}}}', "field bid.in.x: found a boolean where an int is expected"),
    (b'{"bid": [1]}', "field bid: found an array where a struct is expected"),
    (b'{"bid": {"at": "2015-02-30 00:00:00"}}', "field bid.at: '2015-02-30 00:00:00' is not a timestamp"),
    (b'{"bid": {"at": 17}}', "field bid.at: found a number where a timestamp is expected"),
    (b'{"bid": {"name": "\xff"}}', "not UTF-8 text"),
    (b'{"other": "\xff"}', "not UTF-8 text"),
    (b"{} {}", "more than one object on a line"),
    (b'{"bid": {}} null {}', "more than one object on a line"),
    (b'{"bid": {}, "bid": {}}', "field bid is there twice"),
]


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_what_is_refused(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.jsonl"
    good = b'{"bid": {"auction": 1}}'
    lines = [good, b"", *(line for bad, _ in BAD for line in (bad, b' {"bid": null} ', good))]
    path.write_bytes(b"\n".join(lines))
    portions = drained(LineFiles(str(path), "json", BID), BID, rows)
    rejects = [bad for portion in portions for bad in portion.rejects]
    assert [(bad.line, bad.reason) for bad in rejects] == [
        (3 + 3 * i, reason) for i, (_, reason) in enumerate(BAD)
    ]
    assert [bad.text for bad in rejects] == [bad.decode("utf-8", "replace") for bad, _ in BAD]
    found = [row["bid"] and row["bid"]["auction"] for row in rows_of(portions)]
    assert found == [1] + [None, 1] * len(BAD)


def test_what_is_missing(tmp_path: Path) -> None:
    schema = Schema.parse("n int NOT NULL, bid struct<auction: bigint NOT NULL, in: struct<x: int NOT NULL>>")
    path = tmp_path / "in.jsonl"
    lines = [
        '{"n": 1, "bid": {"auction": 1}}',
        '{"n": 2, "bid": {"in": {"x": 1}}}',
        '{"n": 3, "bid": {"auction": null}}',
        '{"n": 4, "bid": {"auction": 1, "in": {}}}',
        '{"bid": {"auction": 1, "in": {"x": 3}}}',
        '{"n": 6}',
        '{"n": 7, "bid": {"auction": 1, "in": {"x": 3}}}',
    ]
    path.write_text("\n".join(lines))
    portions = drained(LineFiles(str(path), "json", schema), schema, 100, 1)
    assert [row["n"] for row in rows_of(portions)] == [1, 6, 7]
    assert [(bad.line, bad.reason) for bad in portions[0].rejects] == [
        (2, "field bid.auction is missing"),
        (3, "field bid.auction is missing"),
        (4, "field bid.in.x is missing"),
        (5, "field n is missing"),
    ]
    assert portions[0].rows.schema == schema.arrow()


def test_half_objects_on_two_lines_are_not_one(tmp_path: Path) -> None:
    """Arrow would read both pairs of lines as two objects."""
    for text in ('{"bid":\n{"auction": 1}} {}\n', '{"bid": null\n}{"bid": null}\n'):
        path = tmp_path / "in.jsonl"
        path.write_text(text)
        portions = drained(LineFiles(str(path), "json", BID), BID, 10)
        assert rows_of(portions) == [] and len(portions[0].rejects + portions[-1].rejects) >= 2


TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))


@given(
    st.lists(st.tuples(TIMES, st.text(max_size=5), st.integers(-(2**63), 2**63 - 1)), max_size=20),
    st.integers(1, 9),
)
def test_times_and_texts_are_exact(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[dt.datetime, str, int]], cut: int
) -> None:
    path = tmp_path_factory.mktemp("nested") / "in.jsonl"
    rows = [
        (at.replace(microsecond=at.microsecond // 1000 * 1000), text, number) for at, text, number in rows
    ]
    with open(path, "w") as file:
        for at, text, number in rows:
            stamp = at.strftime("%Y-%m-%d %H:%M:%S.") + f"{at.microsecond // 1000:03d}"
            bid = {"auction": number, "at": stamp, "name": text, "extra": text, "in": {"x": None, "y": [{}]}}
            file.write(json.dumps({"bid": bid, "else": [bid]}) + "\n")
    found = rows_of(drained(LineFiles(str(path), "json", BID), BID, cut))
    assert [row["bid"] for row in found] == [
        {"auction": number, "at": at.replace(tzinfo=dt.UTC), "name": text, "in": {"x": None}}
        for at, text, number in rows
    ]
