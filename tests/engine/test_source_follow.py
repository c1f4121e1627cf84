"""A followed file that is replaced or cut is begun anew, is told, and stays exact across restarts."""

import os
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.parquet import ParquetFiles
from aurora.engine.sources.source import Cursor, Source, notices
from tests.engine.test_source_parquet import write_parquet
from tests.engine.test_sources import rows_of

SCHEMA = Schema.parse("a int")


def followed(path: Path) -> LineFiles:
    return LineFiles(str(path), "csv", SCHEMA, follow=True)


def rows_between(source: Source, start: Cursor, end: Cursor) -> list[Any]:
    return [row["a"] for row in rows_of([piece.read(SCHEMA) for piece in source.pieces(start, end, 2)])]


def replace(path: Path, text: str) -> None:
    """Another file of the same name, as a rotation of logs makes it; the old one stays so that its inode does."""
    path.rename(path.with_suffix(f".old{len(os.listdir(path.parent))}"))
    path.write_text(text)


@pytest.mark.parametrize("new", ["7\n", "7\n8\n9\n10\n11\n", "1\n2\n3\n4\n"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_file_that_is_replaced_is_read_from_its_beginning(tmp_path: Path, new: str, restart: bool) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1\n2\n3\n")
    source = followed(path)
    before = source.advance(source.begin(), 10)
    replace(path, new)
    source = followed(path) if restart else source
    after = source.advance(before, 10)
    assert rows_between(source, before, after) == [int(line) for line in new.split()]
    assert after["row"] == 3 + len(new.split())
    assert notices({"r": after}) == [
        "input r: in.csv was replaced or became shorter: it is read again from the beginning; "
        "lines added to the old file after line 3 were not read"
    ]
    # It goes on as with any file, and is told once.
    with open(path, "a") as file:
        file.write("99\n")
    later = source.advance(after, 10)
    assert rows_between(source, after, later) == [99]
    assert notices({"r": later}) == []


@pytest.mark.parametrize("new", ["7\n", "70\n80\n90\n", ""])
def test_a_file_that_is_cut_and_written_anew_in_place(tmp_path: Path, new: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a\n1\n2\n3\n")
    source = followed(path)
    before = source.advance(source.begin(), 10)
    path.write_text("a\n" + new)
    after = source.advance(before, 10)
    assert rows_between(source, before, after) == [int(line) for line in new.split()]


def test_a_file_that_is_away_for_a_while_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1\n")
    source = followed(path)
    before = source.advance(source.begin(), 10)
    path.rename(tmp_path / "gone")
    assert source.advance(before, 10) == before
    path.write_text("5\n")
    after = source.advance(before, 10)
    assert rows_between(source, before, after) == [5]


def test_a_batch_of_a_file_that_has_gone_cannot_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1\n2\n3\n")
    source = followed(path)
    end = source.advance(source.begin(), 10)
    replace(path, "4\n5\n6\n7\n")
    with pytest.raises(AuroraError, match=r"in.csv was replaced, changed or removed.*--fresh"):
        followed(path).pieces(source.begin(), end, 2)
    path.unlink()
    with pytest.raises(AuroraError, match="removed"):
        followed(path).pieces(source.begin(), end, 2)


def test_a_file_that_is_not_followed_must_stay_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1\n2\n3\n4\n")
    source = LineFiles(str(path), "csv", SCHEMA)
    cursor = source.advance(source.begin(), 2)
    path.write_text("1\n9\n3\n4\n5\n")
    with pytest.raises(AuroraError, match="was replaced, changed or removed"):
        LineFiles(str(path), "csv", SCHEMA).advance(cursor, 10)


def test_a_parquet_file_must_stay_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    write_parquet(path, [1, 2, 3, 4])
    source = ParquetFiles(str(path), SCHEMA)
    cursor = source.advance(source.begin(), 2)
    write_parquet(path, [5, 6, 7, 8, 9, 10])
    with pytest.raises(AuroraError, match="was replaced, changed or removed"):
        ParquetFiles(str(path), SCHEMA).advance(cursor, 10)


def test_a_batch_of_a_folder_takes_files_that_have_come_since_it_was_listed(tmp_path: Path) -> None:
    """A train that may be longer is not cut where the files end that were known: it would cost a trip of its own."""
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text("a\n1\n2\n3\n")
    source = followed(tmp_path)
    before = source.advance(source.begin(), 2)
    for number in range(2, 4):
        (tmp_path / f"{number}.csv").write_text(f"a\n{number}\n{number}\n{number}\n")
    after = source.advance(before, 8)
    assert rows_between(source, before, after) == [3, 1, 2, 3, 2, 2, 2, 3]
    last = source.advance(after, 8)
    assert rows_between(source, after, last) == [3, 3]
