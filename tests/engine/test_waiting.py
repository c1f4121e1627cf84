"""How many rows wait behind a place in a source, and how wide they are; a source in trains of given lengths."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from aurora import Memory, Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.parquet import ParquetFiles
from aurora.engine.sources.files.sqlite import SqliteTable
from aurora.engine.sources.live.spool import SpooledLines, SpoolWriter
from aurora.engine.sources.paced import PacedSource
from aurora.engine.sources.source import Source, bytes_of_row, rows_waiting
from aurora.engine.sources.text.lines import Style
from aurora.engine.sources.train_lengths import Cut, CutSource

SCHEMA = Schema.parse("a int")


def lines(first: int, behind: int) -> str:
    return "".join(f"{number}\n" for number in range(first, behind))


def left(source: Source, rows: int) -> int | None:
    return rows_waiting(source, source.advance(source.begin(), rows))


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(lines(1000, 2000))
    source = LineFiles(str(path), "csv", SCHEMA, follow=True)
    assert left(source, 400) == 600 and left(source, 1000) == 0
    path.write_text(lines(1000, 3000))
    assert left(source, 400) == 1600
    path.unlink()
    assert left(source, 400) in (0, None)


def test_a_folder(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.csv").write_text(lines(1000, 1100))
    assert left(LineFiles(str(tmp_path), "csv", SCHEMA), 150) == 250
    assert left(LineFiles(str(tmp_path), "csv", SCHEMA), 1000) == 0


def test_files_that_have_come_since_the_last_batch_wait_too(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text(lines(1000, 1100))
    source = LineFiles(str(tmp_path), "csv", SCHEMA, follow=True, end="_end")
    reached = source.advance(source.begin(), 50)
    for number in range(1, 4):
        (tmp_path / f"{number}.csv").write_text(lines(1000, 1100))
    (tmp_path / "_end").touch()
    assert rows_waiting(source, reached) == 350
    assert rows_waiting(source, source.advance(reached, 10_000)) == 0


def test_nobody_knows_what_is_in_packed_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").touch()
    source = LineFiles(str(tmp_path), "csv", SCHEMA)
    assert rows_waiting(source, source.begin()) is None


def test_how_wide_the_next_rows_are(tmp_path: Path) -> None:
    path, wide = tmp_path / "a.csv", "x" * 999 + "\n"
    path.write_text("1\n" * 100 + wide * 50)
    source = LineFiles(str(path), "csv", Schema.parse("s string"))
    assert 300 < bytes_of_row(source, source.begin()) < 400
    assert bytes_of_row(source, source.advance(source.begin(), 100)) == 1000
    assert bytes_of_row(source, source.advance(source.begin(), 150)) > 300
    table = pa.table({"s": [str(number) * 400 for number in range(100)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=False)
    columns = ParquetFiles(str(tmp_path / "a.parquet"), Schema.parse("s string"))
    assert 700 < bytes_of_row(columns, columns.begin()) < 900
    assert bytes_of_row(columns, columns.advance(columns.begin(), 100)) == 0
    rows = Memory.of(SCHEMA, [{"a": 1}])
    assert bytes_of_row(rows, rows.begin()) == 0


def test_lines_from_a_socket(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool")
    assert writer.open()
    writer.append(lines(1000, 1500).encode())
    source = SpooledLines(str(tmp_path / "spool"), "tcp", Style("lines"), SCHEMA)
    assert left(source, 200) == 300 and left(source, 900) == 0


def test_parquet(tmp_path: Path) -> None:
    for number in range(3):
        pa.parquet.write_table(
            pa.table({"a": pa.array(range(100), pa.int32())}), tmp_path / f"{number}.parquet"
        )
    source = ParquetFiles(str(tmp_path), SCHEMA)
    assert left(source, 30) == 270, "the other files are taken to be like the first"
    assert left(source, 130) == 170 and left(source, 300) == 0


def test_rows_in_memory_and_at_a_pace() -> None:
    memory = Memory.of(SCHEMA, [{"a": number} for number in range(100)])
    assert left(memory, 30) == 70
    now = [1000]
    source = PacedSource(memory, 10.0, lambda: now[0])
    assert rows_waiting(source, source.begin()) == 0, "it has not begun"
    place = source.advance(source.begin(), 50)
    now[0] = 3000
    assert place["row"] == 1 and rows_waiting(source, place) == 20
    now[0] = 60_000
    assert rows_waiting(source, place) == 99, "there are no more"
    assert rows_waiting(PacedSource(memory, 10.0, wait=False), place) == 99


def test_a_source_need_not_know(tmp_path: Path) -> None:
    source = SqliteTable(str(tmp_path / "x.db"), "t", SCHEMA)
    assert rows_waiting(source, source.begin()) is None


def test_trains_of_given_lengths() -> None:
    memory = Memory.of(SCHEMA, [{"a": number} for number in range(100)])
    source = Cut(memory, (0.1, 0.3), 1000).wrap(memory)
    assert isinstance(source, CutSource) and source.lengths == (10, 30) and not source.live
    place, rows = source.begin(), []
    while not source.finished(place):
        before, place = place["row"], source.advance(place, 25)
        rows.append(place["row"] - before)
    assert rows == [10, 25, 10, 25, 10, 20], "no more than a batch may have"
    assert source.advance(place, 25)["row"] == 100 and rows_waiting(source, place) == 0
    pieces = source.pieces(source.begin(), place, 2)
    assert sum(len(piece.read(SCHEMA).numbers) for piece in pieces) == 100


@pytest.mark.parametrize(("most", "lengths"), [(1000, (10, 40)), (50, (5, 20))])
def test_of_a_long_sample_the_beginning_is_cut(most: int, lengths: tuple[int, ...]) -> None:
    memory = Memory.of(SCHEMA, [{"a": number} for number in range(100)])
    cut = Cut(memory, (0.1, 0.4), most).wrap(memory)
    assert isinstance(cut, CutSource) and cut.lengths == lengths
