"""Headers, times, reasons and hints: what is read, and what is said where it cannot be."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora import AuroraError, Schema
from aurora.engine.sources.address import open_source
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.source import Portion, notices
from aurora.engine.sources.text import hexadecimal, parse
from aurora.engine.sources.text.hexadecimal import hexadecimal_columns
from aurora.engine.sources.text.parse import parse_csv, parse_json
from aurora.engine.sources.text.reasons import Unreadable
from tests.engine.test_sources import drained, rows_of
from tests.thoroughness import examples

PEOPLE = Schema.parse("Name string, City string")
TIMED = Schema.parse("n int, at timestamp, d date")


def read(path: Path, schema: Schema, rows: int = 100) -> list[Portion]:
    return drained(LineFiles(str(path), "csv", schema), schema, rows)


def rejects_of(portions: list[Portion]) -> list[tuple[int, str]]:
    return [(bad.line, bad.reason) for portion in portions for bad in portion.rejects]


@pytest.mark.parametrize("header", ["name,city", "NAME,CITY", "Name,City", " Name , city", '"name","city"'])
def test_a_header_may_be_in_another_case(tmp_path: Path, header: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(f"{header}\nAnn,Bonn\n")
    assert rows_of(read(path, PEOPLE)) == [{"Name": "Ann", "City": "Bonn"}]


def test_case_tells_fields_apart_where_only_case_does(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    schema = Schema.parse("a int, A int")
    path.write_text("A,a\n1,2\n")
    assert rows_of(read(path, schema)) == [{"a": 2, "A": 1}]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("name,town", "in.csv: line 1 looks like a header but lacks field City; found name, town; rename"),
        ("City", "looks like a header but lacks field Name; found City"),
        ("Name,City,Name", "the header names field Name twice"),
    ],
)
def test_a_header_that_lacks_a_field_is_a_fault_before_anything_starts(
    tmp_path: Path, header: str, message: str
) -> None:
    (tmp_path / "in.csv").write_text(f"{header}\nAnn,Bonn\n")
    with pytest.raises(AuroraError, match=message):
        open_source("r", f"csv:{tmp_path}/in.csv", PEOPLE, False, tmp_path)


def test_an_address_may_say_whether_there_is_a_header(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name,town\nAnn,Bonn\n")
    source, _ = open_source("r", f"csv:{tmp_path}/in.csv?header=false", PEOPLE, False, tmp_path)
    assert rows_of(drained(source, PEOPLE, 9))[0] == {"Name": "name", "City": "town"}
    (tmp_path / "in.csv").write_text("1,2\nAnn,Bonn\n")
    with pytest.raises(AuroraError, match="lacks field Name, City; found 1, 2"):
        open_source("r", f"csv:{tmp_path}/in.csv?header=true", PEOPLE, False, tmp_path)


def test_data_with_the_name_of_a_field_is_data(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("City,1\nx,y\n")
    assert rows_of(read(path, PEOPLE))[0] == {"Name": "City", "City": "1"}


def test_a_header_of_other_names_is_told_where_it_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("soldier,when\n1,x\n")
    assert rejects_of(read(path, Schema.parse("Sid int, Time int"), 1)) == [
        (1, "field Sid: 'soldier' is not an int; if line 1 is a header, it must name all fields: Sid, Time"),
        (2, "field Time: 'x' is not an int"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["name;city", None])
def test_the_line_of_excel_is_no_data(tmp_path: Path, end: str, header: str | None) -> None:
    path = tmp_path / "in.csv"
    lines = ["sep=;", *([header] if header else []), "Ann;Bonn", "Bob"]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(line + end for line in lines).encode())
    for rows in (1, 100):
        found = drained(LineFiles(str(path), "csv", PEOPLE, delimiter=";"), PEOPLE, rows)
        assert rows_of(found) == [{"Name": "Ann", "City": "Bonn"}]
        assert rejects_of(found) == [(len(lines), "expected 2 fields, found 1")]


def test_the_line_of_excel_must_agree_with_the_address(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("sep=;\nname;city\nAnn;Bonn\n")
    with pytest.raises(
        AuroraError, match=r"in.csv, line 1: 'sep=;' names another delimiter; add \?delimiter=;"
    ):
        open_source("r", f"csv:{tmp_path}/in.csv", PEOPLE, False, tmp_path)


@pytest.mark.parametrize("blanks", [" {}", "{} ", "\t{}\t", '" {} "'])
def test_blanks_around_a_value_do_not_count(blanks: str) -> None:
    values = {
        "int": "1", "double": "1.5", "boolean": "true", "date": "2026-11-16", "decimal(9,2)": "1.5",
        "timestamp": "2026-11-16 06:00:00",
    }  # fmt: skip
    schema = Schema.parse(", ".join(f"f{at} {kind}" for at, kind in enumerate(values)))
    parser = parse_csv(schema)
    plain = parser((",".join(values.values()) + "\n").encode()).to_pylist()
    line = ",".join(blanks.format(value) for value in values.values()) + "\n"
    assert parse_csv(schema)(line.encode()).to_pylist() == plain
    assert parse_csv(Schema.parse("s string, n int"))((blanks.format("x") + ",1\n").encode()).to_pylist()[0][
        "s"
    ] == (blanks.replace('"', "").format("x"))
    assert parse_csv(Schema.parse("b boolean")).explain(b" tRue \n") == "field b: 'tRue' is not a boolean"


FORMS = {
    "2025-11-01": datetime(2025, 11, 1),
    "2025-11-01 12:30": datetime(2025, 11, 1, 12, 30),
    "2025-11-01T12:30:05": datetime(2025, 11, 1, 12, 30, 5),
    "2025-11-01 12:30:05.25": datetime(2025, 11, 1, 12, 30, 5, 250_000),
    "2025-11-01T12:30:05.123456Z": datetime(2025, 11, 1, 12, 30, 5, 123_456),
    "2025-11-01T12:00:00Z": datetime(2025, 11, 1, 12),
    "2025-11-01T12:00:00+01:00": datetime(2025, 11, 1, 11),
    "2025-11-01 12:00:00-0230": datetime(2025, 11, 1, 14, 30),
    "2025-11-01T12:00+01": datetime(2025, 11, 1, 11),
}


@pytest.mark.parametrize(("text", "moment"), FORMS.items())
def test_times_with_and_without_a_zone(text: str, moment: datetime) -> None:
    expected = {"n": 1, "at": moment.replace(tzinfo=UTC), "d": None}
    assert parse_csv(TIMED)(f"1,{text},\n".encode()).to_pylist() == [expected]
    assert parse_json(TIMED)(f'{{"n": 1, "at": "{text}"}}\n'.encode()).to_pylist() == [expected]


NUMBER = st.sampled_from(["1", "01", "11", "60", "2025", "-01"])
TIME = st.one_of(
    st.sampled_from(list(FORMS)),
    st.from_regex(r"\A20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-9:.]{2,12}(Z|[+-][0-9:]{1,6})?)?\Z"),
    st.lists(NUMBER | st.sampled_from(list("-:T Z+.")), max_size=9).map("".join),
)


@given(st.lists(TIME, min_size=1, max_size=6))
@settings(deadline=None, max_examples=examples(60, 300))
def test_csv_and_json_read_the_same_times(texts: list[str]) -> None:
    def values(parse: Any, lines: list[str]) -> list[Any]:
        found = []
        for line in lines:
            try:
                found += parse((line + "\n").encode()).to_pylist()
            except (pa.ArrowInvalid, ValueError):
                found.append(None)
        return found

    schema = Schema.parse("n int, at timestamp")
    kept = [text for text in texts if text]
    csv = values(parse_csv(schema), [f"1,{text}" for text in kept])
    assert csv == values(parse_json(schema), [f'{{"n": 1, "at": "{text}"}}' for text in kept])
    if None not in csv and kept:
        assert values(parse_csv(schema), ["\n".join(f"1,{text}" for text in kept)]) == csv


def test_dates_are_text_in_csv_and_in_json() -> None:
    day = {"n": 1, "at": None, "d": datetime(2025, 11, 1).date()}
    assert parse_csv(TIMED)(b"1,,2025-11-01\n").to_pylist() == [day]
    assert parse_json(TIMED)(b'{"n": 1, "d": "2025-11-01"}\n').to_pylist() == [day]
    assert parse_json(TIMED).explain(b'{"n": 1, "d": "2025-13-01"}') == "field d: '2025-13-01' is not a date"


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x,2025-11-01T12:00:00Z,", "field n: 'x' is not an int"),
        ("1,noon,", "field at: 'noon' is not a timestamp"),
        ("1,2025-11-01T12:00:00Q,2025-01-01", "field at: '2025-11-01T12:00:00Q' is not a timestamp"),
        ("1,2025-11-01T12:00:00Z,soon", "field d: 'soon' is not a date"),
        ("99999999999,,", "field n: '99999999999' is not an int"),
        ("1,", "expected 3 fields, found 2"),
    ],
)
def test_reasons_name_the_field(tmp_path: Path, rows: int, line: str, reason: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(f"7,2025-11-01,\n{line}\n8,2025-11-01T00:00:00Z,\n")
    portions = read(path, TIMED, rows)
    assert [row["n"] for row in rows_of(portions)] == [7, 8]
    assert rejects_of(portions) == [(2, reason)]


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint"])
@pytest.mark.parametrize("cell", ["0x10", "0X1b", "-0x1", " 0x10\t", '"0x10"', "0x0000000000000010"])
@pytest.mark.parametrize("rows", [1, 100])
def test_hexadecimal_is_no_integer(tmp_path: Path, kind: str, cell: str, rows: int) -> None:
    schema = Schema.parse(f"n {kind}, s string, at timestamp")
    path = tmp_path / "in.csv"
    path.write_text(f"7,0x7,2025-11-01T00:00:00Z\n{cell},x,\n10,0xff,\n,,\n")
    portions = read(path, schema, rows)
    assert [(row["n"], row["s"]) for row in rows_of(portions)] == [(7, "0x7"), (10, "0xff"), (None, None)]
    value = cell.strip('"')
    assert rejects_of(portions) == [
        (2, f"field n: '{value}' is not {'an int' if kind == 'int' else f'a {kind}'}")
    ]


NUMBERS = [
    ("int", "12 -7 007", "+7 1.0 1e2 0x10"),
    ("float", "12 -1.5 +.5 1e3 nan inf -Infinity 1e39", "0x10 0x1p3 1d 1_0"),
    ("double", "12 -1.5 +.5 1e3 nan inf -Infinity 1e400", "0x10 0x1p3 1d 1_0"),
    ("decimal(6,2)", "12 -1.5 +.5 1e3", "nan inf 0x10 1.234"),
    ("boolean", "true True TRUE 1 false False FALSE 0", "yes t T 2 -1 tRUE"),
]


@pytest.mark.parametrize(("kind", "good", "bad"), NUMBERS)
def test_numbers_are_read_as_the_docs_say(kind: str, good: str, bad: str) -> None:
    parse = parse_csv(Schema.parse(f"v {kind}"))
    assert [cell for cell in good.split() if parse.explain(f"{cell}\n".encode())] == []
    assert [cell for cell in bad.split() if not parse.explain(f"{cell}\n".encode())] == []
    assert parse.explain(b" 1\t\n") == ""


@pytest.mark.parametrize("length", [(1 << 18) - 2, (1 << 18) - 1, 1 << 18])
def test_hexadecimal_far_behind_other_text(length: int) -> None:
    parse = parse_csv(Schema.parse("s string, n int"))
    with pytest.raises(Unreadable, match="field n: '0x10' is not an int"):
        parse(b"a" * (length - 1) + b",0x10\n")


@pytest.mark.parametrize("length", [1, 1 << 18])
def test_hexadecimal_in_other_columns_costs_no_second_parse(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(parse, "check_hexadecimal", lambda *_: pytest.fail("parsed again"))
    filler = "y" * length
    lines = [f"0x1f,7,{filler}", f" 0X2,8,a 10x {filler}", f"x,9,50x{filler}0x"]
    rows = parse_csv(Schema.parse("s string, n int, o string"))("\n".join(lines).encode())
    assert rows.column("n").to_pylist() == [7, 8, 9]


CELLS = st.sampled_from(["0x1", " 0X2", "\t0x", "1", "", "a0x1", "10x", "x", "0", "a 0x1", "b\r0x1"])


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=5), st.booleans(), st.integers(1, 20))
def test_columns_with_hexadecimal_are_found(rows: list[list[str]], ended: bool, piece: int) -> None:
    data = "\n".join(";".join(row) for row in rows).encode() + b"\n" * ended
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hexadecimal, "PIECE", piece)
        found = hexadecimal_columns(data, ";")
    assert found is not None
    wanted = {at for row in rows for at, cell in enumerate(row) if cell.lower().strip(" \t").startswith("0x")}
    # Behind a blank inside a cell it is looked at once more, no further.
    assert wanted <= found <= {at for row in rows for at, cell in enumerate(row) if "0x" in cell.lower()}


def test_quotes_hide_the_columns_of_hexadecimal() -> None:
    assert hexadecimal_columns(b'"a,b",0x1\n', ",") is None
    assert hexadecimal_columns(b'"a,b",10x1\n', ",") == set()


def test_a_column_of_hexadecimal_is_declared_as_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("0x10\n0x11\n")
    with pytest.raises(AuroraError, match="field n: '0x10' is not an int; declare n as string"):
        open_source("r", f"csv:{tmp_path}/in.csv?header=no", Schema.parse("n int"), False, tmp_path)


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"Ann,B\xf6nn\nBob,Ulm\n")
    assert rejects_of(read(path, PEOPLE)) == [(1, "field City: not UTF-8 text")]


def test_a_field_that_no_line_of_json_has_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"name": "x", "City": "y"}\n' * 3)
    source = LineFiles(str(path), "json", PEOPLE)
    first = source.advance(source.begin(), 1)
    told = notices({"people": first})
    assert told == [
        "input people: field Name: not in the first 3 lines of in.jsonl, which has name, City (did you mean name?)"
    ]
    assert notices({"people": source.advance(first, 1)}) == []
    path.write_text('{"Name": "x"}\n{"City": "y"}\n')
    whole = LineFiles(str(path), "json", PEOPLE)
    assert notices({"people": whole.advance(whole.begin(), 1)}) == []


def test_no_reason_is_arrows_own() -> None:
    schema = Schema.parse("a int, b boolean, c double, d date, e timestamp, f string")
    good = ["1", "true", "1.5", "2025-01-01", "2025-01-01", "x"]
    for at, name in enumerate(schema.names[:-1]):
        cells = [*good[:at], "?", *good[at + 1 :]]
        reason = parse_csv(schema).explain((",".join(cells) + "\n").encode())
        assert re.fullmatch(rf"field {name}: '\?' is not an? \w+", reason)
