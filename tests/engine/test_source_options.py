"""Options of addresses: nulls, encodings, packed files; the same rows for every cut. And what is told at once."""

import bz2
import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.sinks.address import open_sink
from aurora.engine.sources.address import open_source, read_table
from aurora.engine.sources.address_text import read_address
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.source import notices
from tests.engine.test_sources import drained, rows_of

SCHEMA = Schema.parse("a int, b string")
CUTS = [1, 2, 100]


def read(address: str, notes: Path, rows: int, schema: Schema = SCHEMA) -> tuple[list[dict], list[str]]:  # type: ignore[type-arg]
    notes.mkdir(exist_ok=True)
    source, _ = open_source("r", address, schema, False, notes)
    portions = drained(source, schema, rows)
    rejects = [f"{bad.line}: {bad.reason}: {bad.text}" for portion in portions for bad in portion.rejects]
    return rows_of(portions), rejects


@pytest.mark.parametrize("rows", CUTS)
def test_texts_that_stand_for_null(tmp_path: Path, rows: int) -> None:
    (tmp_path / "t.csv").write_text('1,NA\nNA,x\n-,"NA"\n,\n"-",y\nna,z\n')
    found, rejects = read(f"csv:{tmp_path}/t.csv?null=NA,-", tmp_path / "notes", rows)
    assert [(row["a"], row["b"]) for row in found] == [(1, None), (None, "x"), (None, "NA"), (None, None)]
    assert rejects == ["5: field a: '-' is not an int: \"-\",y", "6: field a: 'na' is not an int: na,z"]


@pytest.mark.parametrize("rows", CUTS)
@pytest.mark.parametrize("encoding", ["latin1", "cp1252", "utf-16", "utf-16-le", "utf-8"])
def test_encodings(tmp_path: Path, rows: int, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes('a;ü\r\n1;"Zoë\n; ""ö"""\r\n2;é\rß\r\nä;ö\r\n3;\xa0'.encode(encoding))
    schema = Schema.parse("a int, `ü` string")
    address = f"csv:{tmp_path}/t.csv?delimiter=;&encoding={encoding}&header=yes"
    found, rejects = read(address, tmp_path / "notes", rows, schema)
    assert [(row["a"], row["ü"]) for row in found] == [(1, 'Zoë\n; "ö"'), (2, "é\rß"), (3, "\xa0")]
    assert rejects == ["5: field a: 'ä' is not an int: ä;ö"]


@given(
    st.text(st.characters(max_codepoint=255, blacklist_characters="\0"), max_size=30), st.sampled_from(CUTS)
)
def test_any_text_of_latin1_comes_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, rows: int
) -> None:
    folder = tmp_path_factory.mktemp("latin1")
    quoted = text.replace('"', '""')
    (folder / "t.csv").write_bytes(f'1,"{quoted}"\n2,x\n'.encode("latin1"))
    found, rejects = read(f"csv:{folder}/t.csv?encoding=latin1&header=no", folder / "notes", rows)
    assert [row["b"] for row in found] == [text, "x"]
    assert rejects == []


def test_bytes_that_the_encoding_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"1,x\n2,\x81\n")
    found, rejects = read(f"csv:{tmp_path}/t.csv?encoding=cp1252", tmp_path / "notes", 10)
    assert [row["b"] for row in found] == ["x"]
    assert rejects == ["2: not cp1252 text: 2,�"]
    (tmp_path / "u.csv").write_bytes(b"1,x\n2,y")
    with pytest.raises(AuroraError, match=r"u.csv is not utf-16 text; check \?encoding="):
        read_table("t", f"csv:{tmp_path}/u.csv?encoding=utf-16", SCHEMA)


def test_a_spool_with_options(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool")
    writer.open()
    writer.append("1;é\nNA;x\n".encode("latin1"))
    writer.end()
    from aurora.engine.sources.text.lines import Style

    style = Style("csv", ";", False, "iso8859-1", ("NA",))
    for rows in CUTS:
        source = SpooledLines(str(tmp_path / "spool"), "standard input", style, SCHEMA)
        found = rows_of(drained(source, SCHEMA, rows))
        assert [(row["a"], row["b"]) for row in found] == [(1, "é"), (None, "x")]


@pytest.mark.parametrize("rows", CUTS)
def test_packed_files(tmp_path: Path, rows: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    zstd = [pa.compress(part, codec="zstd", asbytes=True) for part in (b"a,b\n1,x\n2,", b"y\n")]
    (folder / "1.csv.zst").write_bytes(b"".join(zstd))
    (folder / "2.csv.bz2").write_bytes(bz2.compress(b"3,z\n"))
    (folder / "3.csv.gz").write_bytes(gzip.compress("4,é".encode("latin1")))
    found, rejects = read(f"csv:{folder}?encoding=latin1", tmp_path / "notes", rows)
    assert [(row["a"], row["b"]) for row in found] == [(1, "x"), (2, "y"), (3, "z"), (4, "é")]
    assert rejects == []


def test_a_packed_file_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "t.csv.zst").write_bytes(pa.compress(b"1,x\n" * 1000, codec="zstd", asbytes=True)[:-8])
    with pytest.raises(AuroraError, match=r"t.csv.zst cannot be unpacked: Truncated"):
        read_table("t", f"csv:{tmp_path}/t.csv.zst", SCHEMA)


TIMED = Schema.parse("a int, t timestamp")
UNREADABLE = [
    (b"a;t\n1;2020-01-01\n", r"line 1: expected 2 fields, found 1; add \?delimiter=;$"),
    (b"1\t2020-01-01\n", r"the first line cannot be read; line 1: .*; add \?delimiter=tab$"),
    (b"1\n2\n", "name every column in the schema or in a header; the schema has a, t$"),
    (b"NA,\nNA,\n", r"none of the first 2 lines can be read; line 1: .*; add \?null=NA if it stands for"),
    (b"1,1700000000\n", r"declare t as bigint, and make a time of it in a map: timestamp_seconds\(t\)"),
    (b"1,1700000000000\n", r"timestamp_millis\(t\)"),
    (b"1,16.11.2026\n", r"declare t as string, and make a time of it in a map: to_timestamp\(t, "),
    (b"1.5,\n", "declare a as double$"),
    (b"5000000000,\n", "declare a as bigint$"),
    (b"one,\n", "declare a as string$"),
    (b'{"a": 1, "t": null}\n', "the lines look like JSON: write json: in place of csv:"),
    (b"1,11/16/2026 06:00 AM\n", r"to_timestamp\(t, 'M/d/yyyy h:mm a'\)$"),
    (b"PK\x03\x04zip\n", "it is a ZIP archive, or a spreadsheet: unpack it with unzip"),
    (gzip.compress(b"1,\n", mtime=0), "the file is compressed: give it a name that ends in .gz"),
    ("1,\n".encode("utf-16"), r"add \?encoding=utf-16"),
    (b"\xe4,\n", "declare a as string|encoding=latin1"),
]


@pytest.mark.parametrize(("data", "told"), UNREADABLE)
def test_a_file_of_which_no_line_can_be_read_is_a_fault(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(AuroraError, match=told):
        open_source("r", f"csv:{tmp_path}/t.csv", TIMED, False, tmp_path)


def test_a_file_with_one_good_line_is_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"x,\n" * 500 + b"1,\n")
    assert len(read(f"csv:{tmp_path}/t.csv", tmp_path / "notes", 10, TIMED)[0]) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            b'[{"a": 1},\n{"a": 2}]\n',
            "the file is one list: convert it to an object per line, as with jq -c '.[]'",
        ),
        (b"a,b\n", "json: reads one object per line; for other text write csv:"),
        (b'{"a": 1.5}\n', "declare a as double"),
        (
            b'{"a": 1, "bb": "x"}\n',
            r"field b: not in the first line of t.json, which has a, bb \(did you mean bb\?\)",
        ),
    ],
)
def test_what_is_told_of_json(tmp_path: Path, data: bytes, told: str) -> None:
    import re

    (tmp_path / "t.json").write_bytes(data)
    source, _ = open_source("r", f"json:{tmp_path}/t.json", SCHEMA, False, tmp_path)
    [notice] = notices({"r": source.advance(source.begin(), 10)})
    assert re.search(told if "\\" in told else re.escape(told), notice)


def test_a_header_that_nearly_matches(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,bb\n1,x\n")
    with pytest.raises(
        AuroraError, match=r"lacks field b; found a, bb \(did you mean bb\?\); rename the column"
    ):
        open_source("r", f"csv:{tmp_path}/t.csv", SCHEMA, False, tmp_path)


MONEY = Schema.parse("a double, m decimal(9,2), n int, s string")
LINES = '1,5;10,25;3;x,y\n-0,25;7;4;\n1.5;1;5;z\n2;1,255;6;z\n"1,75";1;7,5;z\nNaN;;8;1,5\n'


@pytest.mark.parametrize("rows", CUTS)
@pytest.mark.parametrize("kind", ["file", "spool"])
def test_a_comma_in_the_place_of_the_point(tmp_path: Path, rows: int, kind: str) -> None:
    (tmp_path / "t.csv").write_text(LINES)
    address = f"csv:{tmp_path}/t.csv?decimal=,&delimiter=;&header=no"
    if kind == "file":
        found, rejects = read(address, tmp_path / "notes", rows, MONEY)
    else:
        writer = SpoolWriter(tmp_path / "spool")
        writer.open()
        writer.append(LINES.encode())
        writer.end()
        source = SpooledLines(str(tmp_path / "spool"), "tcp", read_address("r", address).style, MONEY)
        portions = drained(source, MONEY, rows)
        found = rows_of(portions)
        rejects = [f"{bad.line}: {bad.reason}: {bad.text}" for each in portions for bad in each.rejects]
    assert [(str(row["a"]), str(row["m"]), row["n"], row["s"]) for row in found] == [
        ("1.5", "10.25", 3, "x,y"), ("-0.25", "7.00", 4, None), ("nan", "None", 8, "1,5"),
    ]  # fmt: skip
    assert [reject.partition(": ")[0] for reject in rejects] == ["3", "4", "5"]
    assert "field a: '1.5' is not a double" in rejects[0]


@pytest.mark.parametrize("rows", CUTS)
def test_a_comma_in_the_place_of_the_point_in_loose_text(tmp_path: Path, rows: int) -> None:
    (tmp_path / "t.csv").write_text("1,5;1,5;1;x\nx;2,25;2;x\n")
    address = f"csv:{tmp_path}/t.csv?decimal=,&delimiter=;&header=no&unreadable=null"
    found, rejects = read(address, tmp_path / "notes", rows, MONEY)
    assert [(row["a"], str(row["m"])) for row in found] == [(1.5, "1.50"), (None, "2.25")] and rejects == []


def test_the_comma_is_told_and_checked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;m;n;s\n1,5;1,25;3;x\n2,5;1;4;y\n")
    with pytest.raises(AuroraError, match=r"add \?decimal=,$"):
        read_table("r", f"csv:{tmp_path}/t.csv?delimiter=;", MONEY)
    with pytest.raises(AuroraError, match=r"source r: decimal is \. or , found ';'"):
        open_source("r", f"csv:{tmp_path}/t.csv?decimal=;", MONEY, False, tmp_path)


def test_what_a_sink_writes_with_a_comma_is_read_with_one(tmp_path: Path) -> None:
    schema = Schema.parse("a double, m decimal(9,2), t timestamp, s string")
    rows = pa.RecordBatch.from_pylist(
        [
            {"a": -1.5, "m": Decimal("12.50"), "t": dt.datetime(2026, 7, 1, 4, tzinfo=dt.UTC), "s": "1;2,3"},
            {"a": 1e300, "m": None, "t": None, "s": ""},
        ],
        schema.arrow(),
    )
    for options in (
        "decimal=,&delimiter=;&times=iso&zone=Europe/Berlin",
        "decimal=,",
        "delimiter=|&times=iso",
    ):
        sink = open_sink("o", f"csv:{tmp_path}/o.csv?{options}", schema)
        sink.deliver(0, rows, np.zeros(2, np.int64), sink.open(None))
        sink.finish()
        asked = "&".join(option for option in options.split("&") if option[0] == "d")
        found, rejects = read(f"csv:{tmp_path}/o.csv?{asked}", tmp_path / "notes", 100, schema)
        assert (found, rejects) == (rows.to_pylist(), [])
        (tmp_path / "o.csv").unlink()
