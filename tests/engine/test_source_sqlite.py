"""Tables of SQLite as sources: rows by rowid, for every cut; bad values; what cannot be read."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import AuroraError, Source, from_text
from aurora.algebra.tuples.schema import Schema
from aurora.engine.local import LocalRun
from aurora.engine.plan.plan import plan_network
from aurora.engine.sources.address import open_source, read_table
from aurora.engine.sources.files.sqlite import SqliteTable
from tests.engine.without_spark import BASE, run_here

SCHEMA = Schema.parse("Sid int, Time int, Pos int")


def write(path: Path, create: str, *rows: tuple[Any, ...], into: str = "t") -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(create)
        for row in rows:
            marks = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO {into} VALUES ({marks})", row)


def opened(path: Path, schema: Schema = SCHEMA, table: str = "t") -> Source:
    return open_source("r", f"sqlite:{path}?table={table}", schema, False, path.parent)[0]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=12),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_rows_come_by_rowid_for_every_cut(
    tmp_path_factory: Any, rowids: list[int], cut: list[int], pieces: int
) -> None:
    path = tmp_path_factory.mktemp("db") / "t.db"
    write(path, "CREATE TABLE t (id INTEGER PRIMARY KEY, Pos, Sid, Time)", *((i, 30, 1, 2) for i in rowids))
    schema = Schema.parse("id bigint, Pos int")
    network = from_text(
        "inputs: {r: {schema: 'id bigint, Pos int'}}\nboxes: {b: {filter: ['Pos = 30'], from: r}}\noutputs: {o: b}"
    )
    run = LocalRun(plan_network(network))
    run.read({"r": opened(path, schema)}, cut, pieces)
    assert [row["id"] for row in run.rows("o")] == sorted(rowids)
    assert run.ended


def test_values_of_every_type(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    schema = "b boolean, n tinyint, i bigint, f float, d double, s string, day date, at timestamp"
    create = "CREATE TABLE t (b, n, i, f, d, s, day, at)"
    row = (1, -128, 2**63 - 1, 1, 0.1, "é,\n", "2025-11-01", "2025-11-01T12:00:00+01:00")
    write(path, create, row, (0, 127, 5.0, 2.5, 3, "", "1969-12-31", "2025-11-01 12:00"), (None,) * 8)
    (one, two, none) = read_table("t", f"sqlite:{path}?table=t", Schema.parse(schema)).to_pylist()
    moments = [datetime(2025, 11, 1, hour, tzinfo=UTC) for hour in (11, 12)]
    assert list(one.values()) == [True, -128, 2**63 - 1, 1.0, 0.1, "é,\n", date(2025, 11, 1), moments[0]]
    assert list(two.values()) == [False, 127, 5, 2.5, 3.0, "", date(1969, 12, 31), moments[1]]
    assert list(none.values()) == [None] * 8


def test_bad_rows_are_rejected_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    schema = Schema.parse("i int NOT NULL, b boolean, s string, at timestamp")
    good = (1, 1, "x", "2025-11-01")
    bad = [(2**40, 1, "x", None), ("1", 1, "x", None), (1, 2, "x", None), (1, 1, 5, None)]
    bad += [(1, 1, "x", "soon"), (None, 1, "x", None), (1.5, 1, "x", None), (1, 1, b"x\xff", None)]
    rows = [good, *(row for each in bad for row in (each, good))]
    write(path, "CREATE TABLE t (i, b, s, at)", *rows)
    source = opened(path, schema)
    end = source.advance(source.begin(), 100)
    for pieces in (1, 3, 17):
        portions = [piece.read(schema) for piece in source.pieces(source.begin(), end, pieces)]
        assert [n for portion in portions for n in portion.numbers.tolist()] == list(range(0, 17, 2))
        found = [bad for portion in portions for bad in portion.rejects]
        assert [reject.line for reject in found] == list(range(2, 17, 2))
        assert [reject.reason for reject in found] == [
            "field i: '1099511627776' is not an int",
            "field i: '1' is not an int",
            "field b: '2' is not a boolean",
            "field s: '5' is not a string",
            "field at: 'soon' is not a timestamp",
            "field i is missing",
            "field i: '1.5' is not an int",
            "field s: 'b'x\\xff'' is not a string",
        ]
        assert found[0].file == "t.db" and "1099511627776" in found[0].text


def test_records_arrays_and_maps_are_json_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    schema = Schema.parse(
        "m map<string, double>, a array<date>, r struct<n: int NOT NULL, o: map<string, int>>"
    )
    rows = [
        ('{"a": 1.5,\n "b": null, "a\u2028b": 2}', '["2026-11-16"]', '{"n": 1, "o": {"x": 2}}'),
        (None, None, None),
        ("{}", "[null]", '{"n": 3}'),
    ]
    bad = [
        ("{", None, None),
        (1, None, None),
        ("", None, None),
        ('{"a": 1}, "a": {"b": 2}', None, None),
        ('{"a": "x"}', None, None),
        (None, "{}", None),
        (None, None, '{"o": {}}'),
        (None, b"[]", None),
    ]
    write(path, "CREATE TABLE t (m, a, r)", *rows, *bad)
    source = opened(path, schema)
    for pieces in (1, 2, 11):
        portions = [
            piece.read(schema)
            for piece in source.pieces(source.begin(), source.advance(source.begin(), 99), pieces)
        ]
        assert [row for portion in portions for row in portion.rows.to_pylist()] == [
            {
                "m": [("a", 1.5), ("b", None), ("a\u2028b", 2.0)],
                "a": [date(2026, 11, 16)],
                "r": {"n": 1, "o": [("x", 2)]},
            },
            {"m": None, "a": None, "r": None},
            {"m": [], "a": [None], "r": {"n": 3, "o": None}},
        ]
        assert [reject.reason for portion in portions for reject in portion.rejects] == [
            "field m: '{' is not a JSON text",
            "field m: '1' is not a JSON text",
            "field m: '' is not a JSON text",
            """field m: '{"a": 1}, "a": {"b": 2}' is not a JSON text""",
            "field m.[].value: found a string where a double is expected",
            "field a: found an object where an array is expected",
            "field r.n is missing",
            "field a: 'b'[]'' is not a JSON text",
        ]


def test_a_database_that_changes_under_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    write(path, "CREATE TABLE t (Sid, Time, Pos)", *((1, i, 30) for i in range(5)))
    source = opened(path)
    end = source.advance(source.begin(), 4)
    (piece,) = source.pieces(source.begin(), end, 1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM t WHERE Time = 1")
    with pytest.raises(AuroraError, match=r"t.db was changed while a batch was reading it"):
        piece.read(SCHEMA)
    with pytest.raises(AuroraError, match=r"t.db was changed while a batch was reading it"):
        source.pieces(source.begin(), end, 1)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    write(path, "CREATE TABLE t (Sid, Time)")
    write(path, "CREATE TABLE w (Sid PRIMARY KEY, Time, Pos) WITHOUT ROWID", into="w")
    write(path, "CREATE VIEW v AS SELECT Sid, Time, 1 AS Pos FROM t", into="v")
    (tmp_path / "no.db").write_text("this is not a database, it is text" * 100)
    write(tmp_path / "empty.db", "CREATE TABLE t (a)")
    for name, schema, table, reason in (
        ("t.db", "Sid int", "u", r"source r: \S+t.db has no table u; its tables are t, v, w"),
        ("t.db", "Sid int", "tt", r"has no table tt \(did you mean t\?\)"),
        ("t.db", "Sid int, Pos int", "t", "table t has no field Pos; its fields are Sid, Time"),
        ("t.db", "Sid decimal(5,2)", "t", r"field Sid is decimal\(5,2\), which SQLite does not have"),
        ("t.db", "Pos int", "w", "w is a view or a table without rowids"),
        ("t.db", "Pos int", "v", "v is a view or a table without rowids"),
        ("no.db", "Pos int", "t", r"cannot read \S+no.db: file is not a database; give an SQLite database"),
        ("t.db", "Sid int", "t&x=1", "there is no option x; the options of sqlite are table"),
    ):
        with pytest.raises(AuroraError, match=reason):
            opened(tmp_path / name, Schema.parse(schema), table)
    assert SqliteTable("a", "t", SCHEMA).identity() == "sqlite:a?table=t"


def test_a_run_reads_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path / "t.db",
        'CREATE TABLE "the ""rows""" (Pos, Sid, Time)',
        (34, 1, 7),
        (2, 1, 8),
        into='"the ""rows"""',
    )
    run_here(from_text(BASE), {"r": 'sqlite:t.db?table=the "rows"'}, {"far": "csv:far.csv"})
    assert (tmp_path / "far.csv").read_text() == "Sid,Time,Pos\n1,7,34\n"
