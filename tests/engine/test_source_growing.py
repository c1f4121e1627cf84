"""Files of a followed folder that are written at the very moment at which they are looked at."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aurora import AuroraError, Schema
from aurora.engine.sources.files import text_files
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.files.merged import MergedFiles
from aurora.engine.sources.files.unpack import unpack
from aurora.engine.sources.source import Cursor
from aurora.engine.sources.text.lines import Style
from aurora.engine.sources.text.text import FileText
from tests.engine.test_sources import rows_of

SCHEMA = Schema.parse("a int, b int")


def followed(folder: Path, style: str = "csv") -> LineFiles:
    notes = str(folder.parent / "notes")
    return LineFiles(str(folder), style, SCHEMA, follow=True, notes=notes, end="_ended")


def rows_between(source: LineFiles, start: Cursor, end: Cursor) -> list[tuple[Any, Any]]:
    portions = [piece.read(SCHEMA) for piece in source.pieces(start, end, 2)]
    assert not [reject for portion in portions for reject in portion.rejects]
    return [(row["a"], row["b"]) for row in rows_of(portions)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


@pytest.mark.parametrize("begun", ["", "b,"])
def test_a_header_that_comes_while_a_file_is_looked_at_is_no_row(
    folder: Path, begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "1.csv"
    path.write_text(begun)
    source = followed(folder)
    size = FileText.size

    def grown(text: FileText) -> int:
        before = size(text)
        path.write_text("b,a\n1,2\n3,4\n")
        return before

    monkeypatch.setattr(FileText, "size", grown)
    start = source.begin()
    one = source.advance(start, 100)
    monkeypatch.undo()
    two = source.advance(one, 100)
    assert rows_between(source, start, one) + rows_between(source, one, two) == [(2, 1), (4, 3)]
    (folder / "2.csv").write_text("b,a\n7,8\n")
    again = followed(folder)
    assert rows_between(again, start, one) + rows_between(again, one, two) == [(2, 1), (4, 3)]
    assert rows_between(again, two, again.advance(two, 100)) == [(8, 7)]


@pytest.mark.parametrize("last", ["3,4\n", "3,4"])
@pytest.mark.parametrize("restart", [False, True])
def test_last_lines_that_come_just_before_the_next_file_are_read(
    folder: Path, last: str, restart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "1.csv").write_text("1,2\n")
    source = followed(folder)
    start = source.begin()
    one = source.advance(start, 100)
    look = source._files._list

    def written() -> list[str]:
        if not (folder / "2.csv").exists():
            with open(folder / "1.csv", "a") as file:
                file.write(last)
            (folder / "2.csv").write_text("5,6\n")
        return look()

    monkeypatch.setattr(source._files, "_list", written)
    two = source.advance(one, 100)
    assert rows_between(followed(folder) if restart else source, one, two) == [(3, 4), (5, 6)]
    assert len(two["dates"]) == 2, "a file that is looked at twice in a batch came once"


def test_a_byte_order_mark_of_json_lines_that_comes_later(folder: Path) -> None:
    path = folder / "1.jsonl"
    path.touch()
    source = followed(folder, "json")
    start = source.begin()
    for begun in (b"", b"\xef", b"\xef\xbb\xbf"):
        path.write_bytes(begun)
        assert source.advance(start, 100)["row"] == 0
    path.write_bytes(b'\xef\xbb\xbf{"a": 1, "b": 2}\n')
    assert rows_between(source, start, source.advance(start, 100)) == [(1, 2)]


def packed(kind: str, rows: str) -> bytes:
    if kind == "utf-16":
        return rows.encode("utf-16")
    return pa.compress(rows.encode(), {"gz": "gzip", "zst": "zstd"}[kind], asbytes=True) if rows else b""


def of_kind(folder: Path, kind: str) -> LineFiles:
    source = followed(folder)
    source.unpacked = str(folder.parent / "unpacked")
    source.encoding = "utf-16" if kind == "utf-16" else "utf-8"
    return source


def name_of(number: int, kind: str) -> str:
    return f"{number}.csv" if kind == "utf-16" else f"{number}.csv.{kind}"


@pytest.mark.parametrize("kind", ["gz", "zst", "utf-16"])
@pytest.mark.parametrize("restart", [False, True])
def test_an_empty_file_of_which_a_copy_is_to_be_made_is_waited_for(
    folder: Path, kind: str, restart: bool
) -> None:
    path = folder / name_of(1, kind)
    path.touch()
    source = of_kind(folder, kind)
    start = source.begin()
    assert source.advance(start, 100) == start and not source.finished(start)
    assert source.row_bytes(start) == 0
    path.write_bytes(packed(kind, "1,2\n3,4\n"))
    (folder / name_of(2, kind)).write_bytes(packed(kind, "5,6\n"))
    (folder / name_of(3, kind)).touch()
    source = of_kind(folder, kind) if restart else source
    one = source.advance(start, 100)
    assert rows_between(source, start, one) == [(1, 2), (3, 4), (5, 6)]
    source = of_kind(folder, kind) if restart else source
    (folder / name_of(3, kind)).write_bytes(packed(kind, "7,8\n"))
    two = source.advance(one, 100)
    assert rows_between(source, one, two) == [(7, 8)]


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_compressed_file_that_is_still_written_is_waited_for(
    folder: Path, kind: str, restart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / name_of(1, kind)
    whole = packed(kind, "1,2\n3,4\n" * 50)
    looks: list[str] = []
    monkeypatch.setattr(text_files, "unpack", lambda *given: looks.append(given[0]) or unpack(*given))
    source = of_kind(folder, kind)
    start = source.begin()
    for length in (1, 2, 9, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        os.utime(path, (length, length))
        for _ in range(2):
            assert source.advance(start, 1000) == start and not source.finished(start), length
            assert source.row_bytes(start) == 0
        assert looks == [str(path)], "it is unpacked once, and again when it has changed"
        looks.clear()
    source = of_kind(folder, kind) if restart else source
    path.write_bytes(whole)
    one = source.advance(start, 1000)
    assert rows_between(source, start, one) == [(1, 2), (3, 4)] * 50


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("later", ["2.csv", "_ended"])
def test_a_compressed_file_that_was_cut_off_is_a_fault_once_others_have_come(
    folder: Path, kind: str, later: str
) -> None:
    path = folder / name_of(1, kind)
    path.write_bytes(packed(kind, "1,2\n" * 50)[:-3])
    source = of_kind(folder, kind)
    start = source.begin()
    assert source.advance(start, 100) == start
    (folder / later).touch()
    for opened in (source, of_kind(folder, kind)):
        with pytest.raises(AuroraError, match=rf"1\.csv\.{kind} cannot be unpacked: (Compressed|Truncated)"):
            opened.advance(start, 100)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("later", ["2.csv", "_ended"])
def test_an_empty_compressed_file_that_will_not_grow_is_a_fault(folder: Path, kind: str, later: str) -> None:
    path = folder / name_of(1, kind)
    path.touch()
    (folder / later).touch()
    source = of_kind(folder, kind)
    start = source.begin()
    for _ in range(2):
        with pytest.raises(AuroraError, match=rf"1\.csv\.{kind} cannot be unpacked: it has no bytes"):
            source.advance(start, 100)
    path.write_bytes(packed(kind, "1,2\n"))
    assert rows_between(source, start, source.advance(start, 100)) == [(1, 2)]


@pytest.mark.parametrize("kind", ["gz", "zst", "utf-16"])
@pytest.mark.parametrize("later", ["2.csv", "_ended"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_file_that_grows_after_a_copy_was_made_is_a_fault(
    folder: Path, kind: str, later: str, restart: bool
) -> None:
    path = folder / name_of(1, kind)
    old = packed(kind, "1,2\n")
    path.write_bytes(old)
    source = of_kind(folder, kind)
    start = source.begin()
    one = source.advance(start, 100)
    assert rows_between(source, start, one) == [(1, 2)]
    path.write_bytes(old + packed(kind, "3,4\n"))
    (folder / later).touch()
    source = of_kind(folder, kind) if restart else source
    fault = rf"{path.name} was replaced, changed or removed: it had {len(old)} bytes when it was unpacked"
    with pytest.raises(AuroraError, match=fault):
        source.advance(one, 100)
    if later == "_ended":
        with pytest.raises(AuroraError, match=fault):
            source.finished(one)
    path.write_bytes(old)
    assert not rows_between(source, one, source.advance(one, 100)), "the old one is back"


def test_a_file_that_grows_while_its_copy_is_made_is_a_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "1.csv.gz"
    path.write_bytes(packed("gz", "1,2\n"))

    def grown(*given: Any) -> str:
        copy = unpack(*given)
        with open(path, "ab") as file:
            file.write(packed("gz", "3,4\n"))
        return copy

    monkeypatch.setattr(text_files, "unpack", grown)
    with pytest.raises(AuroraError, match="was replaced, changed or removed"):
        of_kind(folder, "gz").advance(of_kind(folder, "gz").begin(), 100)


@pytest.mark.parametrize("kind", ["csv", "gz"])
@pytest.mark.parametrize("restart", [False, True])
def test_the_last_file_may_go_when_all_its_rows_are_done(folder: Path, kind: str, restart: bool) -> None:
    def opened() -> LineFiles:
        return of_kind(folder, "utf-8" if kind == "csv" else kind)

    path = folder / ("1.csv" if kind == "csv" else "1.csv.gz")
    path.write_bytes(b"1,2\n" if kind == "csv" else packed("gz", "1,2\n"))
    source = opened()
    start = source.begin()
    one = source.advance(start, 100)
    assert rows_between(source, start, one) == [(1, 2)]
    path.unlink()
    source = opened() if restart else source
    source.check()
    assert source.advance(one, 100) == one and not source.finished(one)
    assert not source.waiting(one) and not source.row_bytes(one)
    (folder / "2.csv").write_text("3,4\n")
    (folder / "3.csv").write_text("5,6\n")
    two = source.advance(one, 100)
    source = opened() if restart else source
    assert rows_between(source, one, two) == [(3, 4), (5, 6)]
    source.forget(two)
    (folder / "3.csv").unlink()
    (folder / "_ended").touch()
    assert source.finished(two)


@pytest.mark.parametrize("rest", ["3,4\n", "3"])
def test_a_last_file_that_goes_before_all_its_rows_are_read_is_a_fault(folder: Path, rest: str) -> None:
    path = folder / "1.csv"
    path.write_text("1,2\n" + rest)
    source = followed(folder)
    start = source.begin()
    one = source.advance(start, 1)
    path.unlink()
    (folder / "2.csv").write_text("5,6\n")
    for begun in (source, followed(folder)):
        with pytest.raises(AuroraError, match=r"1\.csv was replaced, changed or removed"):
            begun.advance(one, 100)
        with pytest.raises(AuroraError, match=r"1\.csv was replaced, changed or removed"):
            begun.pieces(start, one, 2)


def test_an_empty_last_file_may_go(folder: Path) -> None:
    (folder / "1.csv").write_text("1,2\n")
    source = followed(folder)
    start = source.begin()
    (folder / "2.csv").touch()
    one = source.advance(start, 100)
    (folder / "2.csv").unlink()
    (folder / "3.csv").write_text("5,6\n")
    assert rows_between(source, start, one) + rows_between(source, one, source.advance(one, 100)) == [
        (1, 2),
        (5, 6),
    ]


@pytest.mark.parametrize("name", ["1.csv", "1.csv.gz"])
def test_a_file_that_goes_before_it_is_read_is_named(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(packed("gz", "1,2\n") if name.endswith("gz") else b"1,2\n")
    notes, unpacked = str(folder.parent / "notes"), str(folder.parent / "unpacked")
    merged = MergedFiles(str(folder), Style("csv"), SCHEMA, "a", notes, unpacked)
    merged.check("r")
    source = LineFiles(str(folder), "csv", SCHEMA, notes=notes, unpacked=unpacked)
    source.check()
    path.unlink()
    fault = rf"cannot read .*{name}: No such file"
    with pytest.raises(AuroraError, match=fault):
        merged.begin()
    with pytest.raises(AuroraError, match=fault):
        source.advance(source.begin(), 10)


@pytest.mark.parametrize(
    ("first", "written"),
    [("", "3,"), ("1,2\n", "3,"), ("1,2\n", "3,4"), ("1,2\n", ""), ("1,2\n", "a much longer line, " * 100)],
)
@pytest.mark.parametrize("later", [True, False])
def test_a_half_line_of_a_file_that_is_removed_is_a_reject(
    folder: Path, written: str, first: str, later: bool
) -> None:
    """Whoever repeats the batch finds the same, though the file is gone."""
    path = folder / "1.csv"
    path.write_text(first)
    source = followed(folder)
    start = source.begin()
    one = source.advance(start, 100)
    assert rows_between(source, start, one) == ([(1, 2)] if first else [])
    path.write_text(first + written)
    assert source.advance(one, 100) == one
    path.unlink()
    if later:
        (folder / "2.csv").write_text("5,6\n")
    two = source.advance(one, 100)
    if not written and not later:
        assert two == one
        return
    for opened in (source, followed(folder)):
        portions = [piece.read(SCHEMA) for piece in opened.pieces(one, two, 3)]
        rejects = [bad for portion in portions for bad in portion.rejects]
        told = [
            ("1.csv", 2 if first else 1, "the file was removed before this line was ended", written[:1000])
        ]
        assert [(bad.file, bad.line, bad.reason, bad.text) for bad in rejects] == (told if written else [])
        assert [(row["a"], row["b"]) for row in rows_of(portions)] == ([(5, 6)] if later else [])
        assert opened.advance(two, 100) == two and opened.waiting(two) == 0 and not opened.finished(two)
    assert two["row"] == one["row"] + bool(written) + later
    (folder / "3.csv").write_text("7,8\n")
    for opened in (source, followed(folder)):
        three = opened.advance(two, 100)
        assert rows_between(opened, two, three) == [(7, 8)]


def test_whole_lines_of_a_file_that_is_removed_are_a_fault_as_before(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text("1,2\n3,4\n5,")
    source = followed(folder)
    start = source.begin()
    one = source.advance(start, 1)
    path.unlink()
    with pytest.raises(AuroraError, match=r"1\.csv"):
        source.advance(one, 100)
