"""Sources: what they read, what they refuse, and that cuts and restarts change nothing."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from aurora import AuroraError, Network, Schema, Settings, run
from aurora.engine.sources.address import check_source, open_source, read_table
from aurora.engine.sources.files.file_list import FileList
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.parquet import ParquetFiles
from aurora.engine.sources.source import Portion, Source, can_shed
from tests.thoroughness import examples

SCHEMA = Schema.parse("a int, b string, c timestamp")


def drained(source: Source, schema: Schema, rows: int, pieces: int = 3) -> list[Portion]:
    """All portions of a source, taken `rows` at a time."""
    portions = []
    cursor = source.begin()
    while True:
        reached = source.advance(cursor, rows)
        if reached == cursor:
            return portions
        # A cursor goes through Spark's offset log as JSON.
        start, end = json.loads(json.dumps(cursor)), json.loads(json.dumps(reached))
        portions += [piece.read(schema) for piece in source.pieces(start, end, pieces)]
        cursor = reached


def rows_of(portions: list[Portion]) -> list[dict[str, Any]]:
    return [row for portion in portions for row in portion.rows.to_pylist()]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_csv_with_quotes_nulls_and_bad_lines(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        '1,"two\nlines",2020-01-01 00:00:00.5\n\n2,,\nx,y,\n3,"",2020-13-01 00:00:00\n'
        '4,"a,""b""",2020-01-01\n5,z\n6,end,'
    )
    portions = drained(LineFiles(str(path), "csv", SCHEMA), SCHEMA, rows)
    found = rows_of(portions)
    assert [(row["a"], row["b"]) for row in found] == [(1, "two\nlines"), (2, None), (4, 'a,"b"'), (6, "end")]
    rejects = [reject for portion in portions for reject in portion.rejects]
    assert [(bad.line, bad.reason) for bad in rejects] == [
        (5, "field a: 'x' is not an int"),
        (6, "field c: '2020-13-01 00:00:00' is not a timestamp"),
        (8, "expected 3 fields, found 2"),
    ]
    numbers = [number for portion in portions for number in portion.numbers.tolist()]
    assert numbers == [0, 2, 5, 7]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**31), 2**31 - 1),
            st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=5),
        ),
        max_size=20,
    ),
    st.integers(1, 8),
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=examples(20, 60))
def test_any_cut_of_a_csv_file_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]], cut: int, pieces: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.csv"
    path.write_text("".join(f"{a},{quoted(b)}\n" for a, b in rows), encoding="utf-8", newline="")
    schema = Schema.parse("a int, b string")
    portions = drained(LineFiles(str(path), "csv", schema), schema, cut, pieces)
    assert [(row["a"], row["b"]) for row in rows_of(portions)] == rows


def test_a_header_names_columns_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("b,extra,a\nx,9,1\n")
    schema = Schema.parse("a int, b string")
    assert rows_of(drained(LineFiles(str(path), "csv", schema), schema, 10)) == [{"a": 1, "b": "x"}]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"a": 1, "b": "x", "more": [1]}\n{"b": null}\n{"a": "no"}\n{broken\n\n{"a": 5}\n')
    schema = Schema.parse("a int, b string")
    portions = drained(LineFiles(str(path), "json", schema), schema, 2)
    assert rows_of(portions) == [{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": 5, "b": None}]
    assert [bad.line for portion in portions for bad in portion.rejects] == [3, 4]


def test_parquet_files_of_a_folder(tmp_path: Path) -> None:
    schema = Schema.parse("a int, b string")
    for number in range(3):
        values = list(range(number * 10, number * 10 + 10))
        table = pa.table({"b": [str(v) for v in values], "a": pa.array(values, pa.int64())})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=4)
    found = rows_of(drained(ParquetFiles(str(tmp_path), schema), schema, 7))
    assert found == [{"a": v, "b": str(v)} for v in range(30)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_batch_behind_the_end_has_no_pieces(tmp_path: Path, kind: str) -> None:
    """Another input may go on for longer; the files that the last batch passed are none of the next one's."""
    for number in range(3):
        if kind == "csv":
            (tmp_path / f"{number}.csv").write_text("1\n2\n")
        else:
            pyarrow.parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / f"{number}.parquet")
    schema = Schema.parse("a int")
    files = LineFiles(str(tmp_path), "csv", schema) if kind == "csv" else ParquetFiles(str(tmp_path), schema)
    end = files.advance(files.begin(), 100)
    assert end["row"] == 6 and files.finished(end)
    again = files.advance(end, 100)
    assert files.pieces(end, again, 2) == []


def test_a_followed_folder_goes_on_in_the_order_in_which_files_came(tmp_path: Path) -> None:
    schema = Schema.parse("a int")
    folder, notes = tmp_path / "in", tmp_path / "notes"
    folder.mkdir()
    (folder / "m.csv").write_text("1\n2\n")
    source = LineFiles(str(folder), "csv", schema, follow=True, notes=str(notes))
    cursor = source.advance(source.begin(), 10)
    (folder / "b.csv").write_text("3\n")
    (folder / ".half.csv").write_text("9\n")
    # A restart must see the same order, not the order of names.
    again = LineFiles(str(folder), "csv", schema, follow=True, notes=str(notes))
    later = again.advance(cursor, 10)
    assert rows_of([piece.read(schema) for piece in again.pieces(cursor, later, 2)]) == [{"a": 3}]
    assert not again.finished(later)


def test_a_growing_file_waits_for_the_end_of_its_line(tmp_path: Path) -> None:
    schema = Schema.parse("a int")
    path = tmp_path / "in.csv"
    path.write_text("1\n2")
    source = LineFiles(str(path), "csv", schema, follow=True)
    cursor = source.advance(source.begin(), 10)
    assert cursor["row"] == 1
    path.write_text("1\n23\n")
    later = source.advance(cursor, 10)
    assert rows_of([piece.read(schema) for piece in source.pieces(cursor, later, 1)]) == [{"a": 23}]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("csv:/no/such/file", "there is no /no/such/file"),
        ("xml:file", "is not an address"),
        ("kafak:h:1/t", r"is not an address \(did you mean kafka\?\)"),
        ("postgresql:h:1/d/t", r"is not an address \(did you mean postgres\?\)"),
        ("tcp:localhost", "needs a host and a port"),
    ],
)
def test_bad_addresses(address: str, message: str) -> None:
    with pytest.raises(AuroraError, match=message):
        check_source("reports", address)


def test_a_bad_row_of_a_table_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1\nx\n")
    with pytest.raises(AuroraError, match=r"table zones: t.csv, line 2"):
        read_table("zones", f"csv:{tmp_path}/t.csv", Schema.parse("a int"))


def test_lines_from_a_socket(spark: SparkSession, tmp_path: Path) -> None:
    """The sender closes: the input ends, and everything comes out, bad lines in the rejects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def send() -> None:
            connection, _ = server.accept()
            with connection:
                for i in range(50):
                    connection.sendall(b"%d,%d\n" % (i % 2, i))
                connection.sendall(b"oops\n7,")
                connection.sendall(b"100")

        sender = threading.Thread(target=send)
        sender.start()
        network = Network("socket")
        stream = network.input("lines", "g int, v int")
        order = {"on": "v", "group_by": ["g"]}
        network.output("sums", stream.aggregate({"n": "count(*)"}, order=order, size=1000, name="count"))
        done = run(
            network,
            {"lines": f"tcp:127.0.0.1:{port}"},
            {"sums": f"json:{tmp_path}/out.jsonl"},
            Settings(partitions=2),
        )
        sender.join()
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [{"g": 0, "v": 0, "n": 25}, {"g": 1, "v": 1, "n": 25}, {"g": 7, "v": 100, "n": 1}]
    assert done.totals.rejected == 1
    assert "oops" in (tmp_path / "rejects.csv").read_text()


def test_a_folder_that_ends_and_from_which_files_go(tmp_path: Path) -> None:
    """It is followed until a file says that no other will come; files that have been read need not stay."""
    schema = Schema.parse("a int")
    folder = tmp_path / "in"
    folder.mkdir()
    address = f"csv:{folder}?end=_done"
    check_source("in", address)
    source, _ = open_source("in", address, schema, False, tmp_path)
    assert source.live and not source.finished(source.begin())
    (folder / "1.csv").write_text("1\n2\n")
    (folder / "2.csv").write_text("3\n")
    first = source.advance(source.begin(), 10)
    assert first["row"] == 3 and not source.finished(first)
    assert rows_of([piece.read(schema) for piece in source.pieces(source.begin(), first, 2)]) == [
        {"a": 1}, {"a": 2}, {"a": 3}
    ]  # fmt: skip
    (folder / "1.csv").unlink()
    (folder / "3.csv").write_text("4\n")
    (folder / "_done").touch()
    assert not source.finished(first)
    # A restart finds the order that was noted, though the first file is gone.
    again, _ = open_source("in", address, schema, False, tmp_path)
    last = again.advance(first, 10)
    assert rows_of([piece.read(schema) for piece in again.pieces(first, last, 1)]) == [{"a": 4}]
    assert again.finished(last) and again.advance(last, 10) == last


def test_the_marker_is_no_file_of_the_folder_and_rows_may_be_shed_if_the_address_says_so(
    tmp_path: Path,
) -> None:
    schema = Schema.parse("a int")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("1\n")
    (tmp_path / "in" / "end.csv").write_text("")
    address = f"csv:{tmp_path}/in/*.csv?end=end.csv"
    plain, _ = open_source("in", address, schema, False, tmp_path)
    cursor = plain.advance(plain.begin(), 10)
    assert plain.finished(cursor) and not can_shed(plain)
    by_clock, _ = open_source("in", f"{address}&shed=yes", schema, False, tmp_path)
    assert can_shed(by_clock)


def test_the_order_of_files_that_an_earlier_version_noted(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv").write_text("1\n")
    noted = [str(tmp_path / "b.csv"), str(tmp_path / "a.csv")]
    notes.write_text(json.dumps(noted))
    files = FileList(f"{tmp_path}/*.csv", True, str(notes))
    assert files.known() == noted[:0] + noted + [str(tmp_path / "c.csv")]
    # What a kill has cut off was never relied upon.
    notes.write_text(notes.read_text() + '["/not/whole')
    assert FileList(f"{tmp_path}/*.csv", True, str(notes)).known() == files.known()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("/a.csv?end=_done", "end is for the files of a folder or pattern, such as DIR/part-"),
        ("/a.csv?shed=yes", "shed is for the files of a folder"),
        ("?shed=maybe", "shed is yes or no, found 'maybe'"),
        ("/*/a-*.csv?end=_done", r"end names a file of one folder; write the folder without \*, found "),
        ("?end=x/y", "end is the name of a file in the folder, as _SUCCESS, found 'x/y'"),
    ],
)
def test_options_of_folders_that_cannot_be(tmp_path: Path, options: str, message: str) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    with pytest.raises(AuroraError, match=f"source in: {message}"):
        check_source("in", f"csv:{tmp_path}{options}")
    if not options.startswith("/"):
        return
    with pytest.raises(AuroraError):
        read_table("in", f"csv:{tmp_path}{options}", Schema.parse("a int"))
