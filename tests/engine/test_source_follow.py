"""A followed file that is replaced or cut is begun anew, is told, and stays exact across restarts."""

import os
from pathlib import Path
from typing import Any

import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.files.file_dates import DATES, find_date
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


def test_a_file_that_goes_while_it_is_looked_for_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1\n")
    source = followed(path)
    before = source.advance(source.begin(), 10)
    path.unlink()
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    assert source._advance(dict(before), 10) == before
    with pytest.raises(AuroraError, match=r"in\.csv was replaced, changed or removed"):
        source.pieces(source.begin(), before, 2)


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


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("header", ["", "a\n"])
def test_the_last_file_of_a_followed_folder_is_read_while_it_is_written(
    tmp_path: Path, header: str, restart: bool
) -> None:
    """A half line waits for its end, for a later file, or for the one that says that no other will come."""
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    notes = str(tmp_path / ".notes")
    made: list[LineFiles] = []

    def source() -> LineFiles:
        if restart or not made:
            made.append(LineFiles(str(tmp_path), "csv", SCHEMA, follow=True, notes=notes, end="_ended"))
        return made[-1]

    def add(path: Path, text: str) -> None:
        with open(path, "a") as file:
            file.write(text)

    def step() -> list[int]:
        nonlocal cursor
        before, cursor = cursor, source().advance(cursor, 10)
        return rows_between(source(), before, cursor)

    add(one, header[:1])
    cursor = source().begin()
    assert step() == []
    add(one, header[1:] + "1\n2\n3")
    assert step() == [1, 2] and step() == []
    add(one, "4\n5\n6")
    assert step() == [34, 5] and not source().finished(cursor)
    add(two, header)
    assert step() == [6]
    add(one, "7\n")
    add(two, "8\n9")
    assert step() == [8], "what is added to a file behind which there is another is not read"
    (tmp_path / "_ended").touch()
    assert not source().finished(cursor)
    assert step() == [9] and source().finished(cursor)


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


def followed_folder(kind: str, folder: Path, now: int) -> LineFiles | ParquetFiles:
    if kind == "parquet":
        return ParquetFiles(str(folder), SCHEMA, follow=True, clock=lambda: now)
    return LineFiles(str(folder), "csv", SCHEMA, follow=True, clock=lambda: now)


def arrivals(source: Source, start: Cursor, end: Cursor) -> list[int]:
    portions = [piece.read(SCHEMA) for piece in source.pieces(start, end, 2)]
    return [int(time) for part in portions if part.arrived is not None for time in part.arrived]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_of_a_followed_folder_arrived_when_their_file_came(tmp_path: Path, kind: str) -> None:
    for number in range(3):
        write_parquet(tmp_path / f"{number}.parquet", [1, 2, 3, 4])
        if kind == "csv":
            (tmp_path / f"{number}.parquet").rename(tmp_path / f"{number}.csv")
            (tmp_path / f"{number}.csv").write_text("1\n2\n3\n4\n")
    # The user may set this time of a file, but it does not say since when it is there.
    os.utime(tmp_path / f"1.{kind}", (0, 0))
    came = [os.stat(path).st_ctime_ns // 1_000_000 for path in sorted(tmp_path.iterdir())]
    began, now = came[0] - 5000, max(came) + 5000
    begin = followed_folder(kind, tmp_path, began).begin()
    source = followed_folder(kind, tmp_path, now)
    first = source.advance(begin, 6)
    second = source.advance(first, 100)
    later = [max(came[:2]), max(came)]
    assert arrivals(source, begin, first) == [came[0]] * 4 + [later[0]] * 2
    assert arrivals(source, first, second) == [later[0]] * 2 + [later[1]] * 4
    # A batch that is run again, after a file was touched and by another process, has the same times.
    os.utime(tmp_path / f"2.{kind}")
    again = followed_folder(kind, tmp_path, now + 5000)
    assert arrivals(again, first, second) == [later[0]] * 2 + [later[1]] * 4


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_lay_in_a_followed_folder_before_arrived_when_the_run_began(tmp_path: Path, kind: str) -> None:
    write_parquet(tmp_path / "0.parquet", [1, 2])
    if kind == "csv":
        (tmp_path / "0.parquet").rename(tmp_path / "0.csv")
        (tmp_path / "0.csv").write_text("1\n2\n")
    began = os.stat(tmp_path / f"0.{kind}").st_ctime_ns // 1_000_000 + 60_000
    begin = followed_folder(kind, tmp_path, began).begin()
    source = followed_folder(kind, tmp_path, began + 60_000)
    assert arrivals(source, begin, source.advance(begin, 10)) == [began] * 2


def test_arrival_times_rise_whatever_a_files_own_time_is(tmp_path: Path) -> None:
    path = tmp_path / "0.csv"
    path.touch()
    came = os.stat(path).st_ctime_ns // 1_000_000
    assert find_date(str(path), came - 10, came + 10) == came
    assert find_date(str(path), came + 5, came + 10) == came + 5, "the file ahead of it came later"
    assert find_date(str(path), 0, came - 10) == came - 10, "a clock of another machine may be ahead"
    path.unlink()
    assert find_date(str(path), came - 5, came + 10) == came - 5, "what was unpacked may be gone"


def test_a_cursor_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("1\n2\n3\n")
    source = followed(tmp_path)
    before = {name: value for name, value in source.begin().items() if name != DATES}
    after = source.advance(before, 10)
    assert rows_between(source, before, after) == [1, 2, 3] and not arrivals(source, before, after)
