"""A drafted network reads every row of its file and counts it."""

import csv
import datetime as dt
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, from_text
from aurora.engine.draft.look import first_rows
from aurora.engine.draft.propose import Draft, propose
from aurora.engine.draft.sample import Sample, guess_address, look_at
from aurora.engine.sources.text.time_patterns import PATTERNS, find_pattern

START = dt.datetime(2026, 11, 16, 7, 0, tzinfo=dt.UTC)


def drafted(path: Path) -> tuple[Sample, Draft]:
    sample = look_at(str(path))
    return sample, propose(sample)


def counted(sample: Sample, draft: Draft) -> list[dict[str, Any]]:
    found = first_rows(from_text(draft.text), draft.output, {draft.name: sample.address}, 10**6).rows
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


TIMES: dict[str, Any] = {
    "iso": lambda moment: moment.isoformat(),
    "zone": lambda moment: moment.astimezone(dt.timezone(dt.timedelta(hours=1))).isoformat(),
    "plain": lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S"),
    "german": lambda moment: moment.strftime("%d.%m.%Y %H:%M:%S"),
    "american": lambda moment: moment.strftime("%m/%d/%Y %H:%M"),
    "seconds": lambda moment: str(int(moment.timestamp())),
    "millis": lambda moment: str(int(moment.timestamp() * 1000)),
    "day": lambda moment: moment.strftime("%Y-%m-%d"),
    "none": lambda moment: "x",
}
COLUMNS: dict[str, Any] = {
    "whole": st.integers(-(10**6), 10**6).map(str),
    "fraction": st.floats(-1e6, 1e6).map(str),
    "truth": st.sampled_from(["true", "False"]),
    "word": st.sampled_from(["a", "b c", 'say "so"', "é", "x;y,z|w"]),
    "code": st.sampled_from(["007", "0815"]),
    "maybe": st.sampled_from(["1", "2.5", "NA", ""]),
    "empty": st.just(""),
}


@st.composite
def files(draw: Any) -> tuple[bytes, int, str]:
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4, unique=True))
    time = draw(st.sampled_from(list(TIMES)))
    rows = draw(st.integers(2, 12))
    seconds = draw(st.lists(st.integers(0, 500), min_size=rows, max_size=rows))
    text = io.StringIO()
    writer = csv.writer(
        text, delimiter=draw(st.sampled_from(",;\t|")), lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    header = draw(st.booleans()) or "word" in kinds or time == "none"
    if header:
        writer.writerow(["time", *kinds])
    for second in seconds:
        moment = START + dt.timedelta(seconds=60 * second if time == "american" else second)
        writer.writerow([TIMES[time](moment), *(draw(COLUMNS[kind]) for kind in kinds)])
    encoding = draw(st.sampled_from(["utf-8", "cp1252", "utf-16"]))
    return text.getvalue().encode(encoding), rows, time


@given(files())
def test_every_row_of_a_csv_file_is_counted(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[bytes, int, str]
) -> None:
    data, rows, _ = file
    path = tmp_path_factory.mktemp("draft") / "in.csv"
    path.write_bytes(data)
    sample, draft = drafted(path)
    assert sample.rows.num_rows == rows and sample.rejects == ()
    assert sum(row["n"] for row in counted(sample, draft)) == rows, draft.text


@pytest.mark.parametrize("time", ["iso", "zone", "plain", "german", "seconds", "millis"])
def test_what_a_time_is(tmp_path: Path, time: str) -> None:
    path = tmp_path / "readings.csv"
    moments = [START, START + dt.timedelta(seconds=90), START + dt.timedelta(seconds=30)]
    rows = [f"{'ab'[i % 2]},{TIMES[time](moment)},{i}.5" for i, moment in enumerate(moments)]
    path.write_text("\n".join(["room,ts,heat", *rows]))
    sample, draft = drafted(path)
    network = from_text(draft.text).checked()
    field = network.boxes["per_minute"].operator.order.on  # type: ignore[attr-defined]
    assert [(row["room"], row[field].minute, row["avg_heat"]) for row in counted(sample, draft)] == [
        ("a", 0, 1.5),
        ("b", 1, 1.5),
    ]
    assert "slack: 1m" in draft.text


@pytest.mark.parametrize("name", ["at", "time"])
def test_a_number_that_is_the_time_is_no_group(tmp_path: Path, name: str) -> None:
    path = tmp_path / "heat.csv"
    seconds = [1_700_000_000 + row // 3 for row in range(30)]
    path.write_text(f"{name},heat\n" + "".join(f"{second},{second % 7}.5\n" for second in seconds))
    sample, draft = drafted(path)
    assert f"timestamp_seconds({name})" in draft.text and "group_by" not in draft.text
    assert sum(row["n"] for row in counted(sample, draft)) == 30


@pytest.mark.parametrize(
    ("late", "slack"), [(3550, "1h"), (3600, "1h"), (3700, "62m"), (59, "59s"), (86_399, "1d")]
)
def test_slack_is_in_the_largest_unit_that_fits(tmp_path: Path, late: int, slack: str) -> None:
    path = tmp_path / "heat.csv"
    path.write_text(f"at,heat\n{1_700_000_000},1.5\n{1_700_000_000 - late},2.5\n")
    assert f"slack: {slack}," in drafted(path)[1].text


def test_a_draft_from_one_row_says_so(tmp_path: Path) -> None:
    path = tmp_path / "heat.csv"
    path.write_text("at,heat\n1700000000,1.5\n")
    assert "drafted from its only row." in drafted(path)[1].text


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        {
            "user": "ann",
            "at": "2026-11-16T07:00:00Z",
            "tags": ["a"],
            "geo": {"x": 1, "none": None},
            "mixed": 1,
        },
        {
            "user": "bob",
            "at": "2026-11-16T07:01:00Z",
            "tags": [],
            "geo": {"x": 2.5},
            "mixed": "x",
            "null": None,
        },
    ]
    path = tmp_path / "clicks.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, [*lines, *lines])).encode()))
    sample, draft = drafted(path)
    assert str(sample.schema) == "user string, at timestamp, tags array<string>, geo struct<x: double>"
    assert sample.left_out == ("mixed", "null")
    assert "# Left out, because they are null or of several types: mixed, null." in draft.text
    assert [row["n"] for row in counted(sample, draft)] == [2, 2]


def test_objects_whose_names_are_values(tmp_path: Path) -> None:
    """Many names, each in few objects, make a map; few names, or values of several types, make a record."""
    lines = [
        {
            "at": f"2026-11-16T07:0{i}:00Z",
            "seen": {f"sensor {i}": i, f"sensor {i + 1}": 0.5},
            "rows": {f"row {i}": {"n": i}, f"row {i + 1}": None},
            "few": {f"f{i % 4}": i},
            "all": {f"a{j}": j for j in range(12)},
            "mixed": {f"m{i}": "x" if i % 2 else 1, f"n{i}": 0},
        }
        for i in range(10)
    ]
    path = tmp_path / "seen.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    sample, draft = drafted(path)
    assert sample.schema["seen"] == pa.map_(pa.string(), pa.float64())
    assert sample.schema["rows"] == pa.map_(pa.string(), pa.struct([("n", pa.int64())]))
    assert all(pa.types.is_struct(sample.schema[name]) for name in ("few", "all", "mixed"))
    assert sample.rejects == () and sample.rows.column("seen")[1].as_py() == [
        ("sensor 1", 1),
        ("sensor 2", 0.5),
    ]
    assert sum(row["n"] for row in counted(sample, draft)) == 10


def test_parquet(tmp_path: Path) -> None:
    moments = pa.array([START, START], pa.timestamp("ms", "UTC"))
    pyarrow.parquet.write_table(pa.table({"when": moments, "k": ["a", "a"]}), tmp_path / "t.parquet")
    sample, draft = drafted(tmp_path / "t.parquet")
    assert [row["n"] for row in counted(sample, draft)] == [2]


def test_kinds_of_files(tmp_path: Path) -> None:
    for name, data, kind in [
        ("a.csv", b"", "csv"),
        ("a.CSV", b"", "csv"),
        ("a.ndjson", b"", "json"),
        ("log", b'{"a": 1}', "json"),
        ("notes", b"a,b", "csv"),
        ("a.json.gz", gzip.compress(b""), "json"),
        ("data", b"PAR1", "parquet"),
    ]:
        (tmp_path / name).write_bytes(data)
        assert guess_address(str(tmp_path / name)) == f"{kind}:{tmp_path / name}"
    assert guess_address("csv:x?header=no") == "csv:x?header=no"


ROWS = 60


def written(path: Path, header: str, row: Any, before: str = "") -> tuple[Sample, Draft]:
    """Draft from a file of CSV whose rows a function makes of their numbers."""
    path.write_text(before + header + "\n" + "".join(row(i) + "\n" for i in range(ROWS)))
    return drafted(path)


def minutes_of(sample: Sample, draft: Draft) -> list[int]:
    field = from_text(draft.text).checked().boxes["per_minute"].operator.order.on  # type: ignore[attr-defined]
    return sorted({row[field].minute for row in counted(sample, draft)})


@pytest.mark.parametrize(
    ("date", "clock"),
    [
        ("2026-11-16", "06:{:02}:00"),
        ("2026-11-16", "06:{:02}:00.1234567"),
        ("16.11.2026", "06:{:02}"),
        ("11/16/2026", "6:{:02}:05 AM"),
    ],
)
def test_a_date_and_a_time_of_day_make_one_time(tmp_path: Path, date: str, clock: str) -> None:
    names = "Date,Time,lap,sensor,value"
    sample, draft = written(
        tmp_path / "two.csv", names, lambda i: f"{date},{clock.format(i)},00:0{i % 3},s{i % 7},{i}.5"
    )
    assert minutes_of(sample, draft) == list(range(60)), draft.text
    assert "group_by: [sensor]" in draft.text


def test_what_only_looks_like_a_time_of_day_is_none(tmp_path: Path) -> None:
    _, draft = written(tmp_path / "laps.csv", "Date,driver,lap", lambda i: f"2026-11-16,d{i % 5},01:{i:02}")
    assert "per_day" in draft.text and "group_by: [driver]" in draft.text


@pytest.mark.parametrize(
    ("header", "row", "group"),
    [
        ("sensor,unit,value", lambda i: f"s{i % 7},{'CF'[i % 7 % 2]},{i}.5", "sensor"),
        ("unit,place,value", lambda i: f"{'CF'[i % 2]},p{i % 7},{i}.5", "place"),
        ("symbol,price,currency", lambda i: f"{'ABCDEFG'[i % 7]},{i % 3},EUR", "symbol"),
        ("country,city,value", lambda i: f"c{i % 6 // 3},t{i % 6},{i}.5", "city"),
        ("price,device_id", lambda i: f"{i % 2},{i % 9}", "device_id"),
        ("ok,user", lambda i: f"{'true' if i % 2 else 'false'},u{i % 25}", "user"),
    ],
)
def test_the_group_is_what_looks_like_a_key(tmp_path: Path, header: str, row: Any, group: str) -> None:
    sample, draft = written(tmp_path / "r.csv", f"at,{header}", lambda i: f"2026-11-16 06:{i:02}:00,{row(i)}")
    assert f"group_by: [{group}]" in draft.text
    assert sum(row["n"] for row in counted(sample, draft)) == ROWS


def test_a_number_in_a_few_rows_and_a_price_are_no_groups(tmp_path: Path) -> None:
    _, draft = written(
        tmp_path / "r.csv", "at,price,people", lambda i: f"2026-11-16 06:{i:02}:00,{i % 2},{i % 3}"
    )
    assert "group_by" not in draft.text


def test_an_odd_value_among_numbers_is_told(tmp_path: Path) -> None:
    sample, draft = written(
        tmp_path / "r.csv", "at,heat", lambda i: f"2026-11-16 06:{i:02}:00,{'ERR' if i == 57 else f'{i}.5'}"
    )
    assert sample.schema["heat"] == pa.string()
    assert (
        "# heat is text, because 1 value of 60 is no double, as 'ERR'. Declare it double and such rows are rejects; "
        "with ?unreadable=null they are kept, without the value.\n" in draft.text
    )


def test_money_is_exact(tmp_path: Path) -> None:
    rows = {"price": "2.50", "fee": "1", "heat": "1.25", "amount_eur": "0.125", "total": "1.23456"}
    sample, draft = written(
        tmp_path / "sales.csv", ",".join(["at", *rows]), lambda i: ",".join([str(START), *rows.values()])
    )
    assert str(sample.schema).endswith(
        "price decimal(18,2), fee bigint, heat double, amount_eur decimal(18,3), total double"
    )
    assert "# price is taken for money and is exact; a value with more decimals is a reject" in draft.text
    assert {row["avg_price"] for row in counted(sample, draft)} == {Decimal("2.5")}
    (tmp_path / "sales.jsonl").write_text('{"price": 2.5, "heat": 1.5}\n{"price": 3, "heat": 2}\n')
    sample, draft = drafted(tmp_path / "sales.jsonl")
    assert str(sample.schema) == "price decimal(18,2), heat double" and sample.rejects == ()


@pytest.mark.parametrize(
    ("lines", "schema", "options"),
    [
        (["day;preis;rate", "2026-11-16;1,50;-2,25", "2026-11-17;12,00;3"],
         "day date, preis double, rate double", "?delimiter=;&decimal=,"),
        (["1,5;2", "2,25;3", "7;4"], "c1 double, c2 bigint", "?delimiter=;&header=no&decimal=,"),
        (["a;b", "1,5;NA", "2,5;0,5"], "a double, b double", "?delimiter=;&decimal=,&null=NA"),
        # What could be thousands proves nothing, but is read as its neighbours are.
        (["a;b", "1,500;x", "12,250;y"], "a string, b string", "?delimiter=;"),
        (["a;b", "1,500;0,5", "12,250;1"], "a double, b double", "?delimiter=;&decimal=,"),
        # A point in the numbers of another column.
        (["a;b", "1,5;2.5", "2,5;3.5"], "a string, b double", "?delimiter=;"),
        (["a;b", "x,1;2,3,4", "y;5"], "a string, b string", "?delimiter=;"),
        (["a|b", "1,5|x,y", "2,5|z"], "a double, b string", "?delimiter=|&decimal=,"),
        (["a,b", '"1,5",2', '"2,5",3'], "a string, b bigint", ""),
    ],
)  # fmt: skip
def test_a_comma_before_the_fraction_of_numbers(
    tmp_path: Path, lines: list[str], schema: str, options: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("\n".join(lines) + "\n")
    sample = look_at(str(path))
    assert (str(sample.schema), sample.address) == (schema, f"csv:{path}{options}")
    assert sample.rejects == () and sample.rows.num_rows == len(lines) - (0 if "header=no" in options else 1)


def test_numbers_with_a_comma_are_read_money_is_exact_and_odd_values_are_told(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("price;heat\n" + "".join(f"{i},50;{i},5\n" for i in range(30)) + "7,25;ERR\n")
    sample = look_at(str(path))
    assert str(sample.schema) == "price decimal(18,2), heat string"
    assert sample.rows["price"][-1].as_py() == Decimal("7.25")
    assert any("1 value of 31 is no double, as 'ERR'" in note for note in sample.notes)


def test_the_line_of_excel_tells_the_delimiter(tmp_path: Path) -> None:
    sample, draft = written(
        tmp_path / "x.csv", "at;door;n", lambda i: f"2026-11-16 06:{i:02}:00;d,{i % 3};{i}", "sep=;\n"
    )
    assert sample.address.endswith("?delimiter=;") and sample.rejects == ()
    assert sum(row["n"] for row in counted(sample, draft)) == ROWS


def test_given_options_stay_in_the_address_of_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("at,n\n2026-11-16 06:00:00,1\n2026-11-16 06:01:00,2\n")
    given = f"csv:{path}?header=yes&unreadable=null&max_unpacked=5GB"
    assert look_at(given).address == f"csv:{path}?unreadable=null&max_unpacked=5GB"


def test_what_cannot_be_drafted(tmp_path: Path) -> None:
    for name, data, told in [
        ("a.csv", b"", "a.csv has no rows"),
        ("b.csv", b"a,A\n1,2\n", "the header names a twice; rename one of the two"),
        ("a.json", b'[\n{"a": 1}]', "is one list: convert it to an object per line"),
        ("b.json", b"1\n", "has no JSON objects, one per line"),
        ("a.parquet", b"nope", "cannot be read as Parquet"),
        ("a.csv.gz", b"nope", "cannot be read"),
        ("c.csv", b"at,door\n", "c.csv has a header and no rows, so nothing tells the types of at, door"),
        ("a.zip", b"PK\x03\x04..", "a.zip: it is a ZIP archive, or a spreadsheet: unpack it"),
        ("d.csv", gzip.compress(b"a,b\n1,2\n"), "d.csv is compressed: give it a name that ends in .gz"),
    ]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(AuroraError, match=told):
            look_at(str(tmp_path / name))
    with pytest.raises(AuroraError, match="there is no file"):
        look_at(str(tmp_path / "nothing.csv"))
    for far in ("https://x.org/a.csv", "csv:https://x.org/a.csv"):
        with pytest.raises(
            AuroraError, match=r"not a local path.*fetch the file first, as with curl -O https://x.org/a"
        ):
            look_at(far)


def test_a_parquet_file_of_which_nothing_can_be_read_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": range(1000)}), path, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[40:400] = b"x" * 360
    path.write_bytes(data)
    for purpose in ("draft from", "show"):
        with pytest.raises(
            AuroraError, match=r"t.parquet: no row can be read; line 1: rows 1 to 1000 cannot be"
        ):
            look_at(str(path), purpose=purpose)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_of_times_are_found(pattern: str) -> None:
    from aurora.algebra.expressions import Expression
    from aurora.algebra.tuples.schema import Schema

    schema = Schema.parse("t timestamp")
    moments = pa.record_batch({"t": pa.array([START, START + dt.timedelta(days=13, hours=8)], schema["t"])})
    texts = Expression.parse(f"date_format(t, '{pattern}')", schema).evaluate(moments).to_pylist()
    found = find_pattern(texts)
    assert found is not None
    read = Schema.parse("x string")
    column = pa.record_batch({"x": texts})
    one, other = (
        Expression.parse(f"to_timestamp(x, '{own}')", read).evaluate(column) for own in (found, pattern)
    )
    assert one == other


@pytest.mark.parametrize(
    ("day", "told"), [("01/11/2026", True), ("01/13/2026", False), ("13/01/2026", False)]
)
def test_days_that_could_be_months_are_told(tmp_path: Path, day: str, told: bool) -> None:
    (tmp_path / "sales.csv").write_text(f"when,sum\n{day} 07:00,1\n{day} 08:00,2\n")
    text = drafted(tmp_path / "sales.csv")[1].text
    note = "# when is read with the month first; where the day comes first, write 'dd/MM/yyyy HH:mm'.\n"
    assert (note in text) == told


def test_any_stream_is_shown(tmp_path: Path) -> None:
    text = """
inputs:
  r: {schema: "a int, b int"}
  names: {schema: "a int, name string", static: true}
boxes:
  big: {filter: ["b > 1"], from: r}
  named: {join: "left.a = right.a", left: big, right: names}
outputs:
  shown: {from: named}
"""
    (tmp_path / "r.csv").write_text("a,b\n1,1\n2,2\n1,3\n")
    (tmp_path / "n.csv").write_text("a,name\n1,ann\n")
    sources = {"r": f"csv:{tmp_path}/r.csv", "names": f"csv:{tmp_path}/n.csv"}
    for stream, sample, wanted in [
        ("r", 2, [(1, 1), (2, 2)]),
        ("big", 9, [(2, 2), (1, 3)]),
        ("big.rest", 9, [(1, 1)]),
        ("named", 9, [(1, 3)]),
        ("shown", 9, [(1, 3)]),
        ("shown", 1, []),
    ]:
        found = first_rows(from_text(text), stream, sources, sample).rows
        assert [(row["a"], row["b"]) for row in found.to_pylist()] == wanted
    with pytest.raises(AuroraError, match=r"there is no stream bog \(did you mean big\?\)"):
        first_rows(from_text(text), "bog", sources, 1)
    with pytest.raises(AuroraError, match="input names has no source; add --source names=csv:PATH"):
        first_rows(from_text(text), "named", {"r": sources["r"]}, 1)
