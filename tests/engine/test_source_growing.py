"""Files of a followed folder that are written at the very moment at which they are looked at."""

from pathlib import Path
from typing import Any

import pytest

from aurora import Schema
from aurora.engine.sources.files.line_files import LineFiles
from aurora.engine.sources.source import Cursor
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
